#include "jit/operators/strided_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "jit/kernels/target.h"
#include "jit/kernels/transposition.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

// Rows of a transposition that are done in one go.
constexpr int64_t kRowsOfStrip = 32;

// One block as loops over `outer_` around the numbers that are copied in one go: `numbers_` that lie one after the
// other where they go to and equally far apart where they come from; or rows of as many, which lie beside each other
// there.
class Copy {
 public:
  explicit Copy(const CopiedBlock& block) : from_(block.from), to_(block.to) {
    // In the order of memory that is written.
    for (const CopiedDimension& each : block.dimensions) {
      if (each.size != 1) outer_.push_back(each);
    }
    std::ranges::stable_sort(outer_, [](const CopiedDimension& a, const CopiedDimension& b) {
      return std::pair(a.to_stride, a.from_stride) > std::pair(b.to_stride, b.from_stride);
    });
    Merge();
    if (!outer_.empty() && outer_.back().to_stride == 1) {
      numbers_ = outer_.back().size;
      stride_ = outer_.back().from_stride;
      outer_.pop_back();
      const auto beside = std::ranges::find(outer_, int64_t{1}, &CopiedDimension::from_stride);
      if (stride_ != 1 && beside != outer_.end()) {
        rows_ = *beside;
        outer_.erase(beside);
      }
    }
    pieces_ =
        rows_.size > 1 ? kernels::DivideUp(rows_.size, kRowsOfStrip) : kernels::DivideUp(numbers_, kMostCopiedNumbers);
    units_ = pieces_;
    for (const CopiedDimension& each : outer_) units_ *= each.size;
  }

  int64_t units() const { return units_; }
  double nanoseconds() const {  // of a unit
    const double numbers = static_cast<double>(rows_.size * numbers_) / static_cast<double>(pieces_);
    return kNanosecondsOfCopiedNumber * numbers + kNanosecondsOfCopiedRun;
  }

  void Run(int64_t begin, int64_t end) const {
    const float* from = from_;
    float* to = to_;
    c10::SmallVector<int64_t, 6> index(outer_.size());
    int64_t piece = begin % pieces_, left = begin / pieces_;
    for (size_t i = outer_.size(); i-- > 0;) {
      index[i] = left % outer_[i].size;
      left /= outer_[i].size;
      from += index[i] * outer_[i].from_stride;
      to += index[i] * outer_[i].to_stride;
    }
    for (int64_t unit = begin; unit < end; ++unit) {
      RunPiece(piece, from, to);
      if (++piece < pieces_) continue;
      piece = 0;
      for (size_t i = outer_.size(); i-- > 0;) {
        from += outer_[i].from_stride;
        to += outer_[i].to_stride;
        if (++index[i] < outer_[i].size) break;
        from -= index[i] * outer_[i].from_stride;
        to -= index[i] * outer_[i].to_stride;
        index[i] = 0;
      }
    }
  }

 private:
  void Merge() {
    size_t kept = 0;
    for (size_t i = 1; i < outer_.size(); ++i) {
      CopiedDimension &before = outer_[kept], &next = outer_[i];
      if (before.from_stride == next.size * next.from_stride && before.to_stride == next.size * next.to_stride) {
        before = {before.size * next.size, next.from_stride, next.to_stride};
      } else {
        outer_[++kept] = next;
      }
    }
    if (!outer_.empty()) outer_.resize(kept + 1);
  }

  void RunPiece(int64_t piece, const float* from, float* to) const {
    const int64_t all = rows_.size > 1 ? rows_.size : numbers_;
    const int64_t begin = all * piece / pieces_, size = all * (piece + 1) / pieces_ - begin;
    if (rows_.size > 1)
      return kernels::CopyTransposed(from + begin, stride_, to + begin * rows_.to_stride, rows_.to_stride, size,
                                     numbers_);
    from += begin * stride_;
    to += begin;
    if (stride_ == 1) return CopyRun(from, size, to);
    for (int64_t i = 0; i < size; ++i) to[i] = from[i * stride_];
  }

  const float* from_;
  float* to_;
  c10::SmallVector<CopiedDimension, 6> outer_;
  CopiedDimension rows_ = {1, 0, 0};
  int64_t numbers_ = 1, stride_ = 1, pieces_ = 1, units_ = 1;
};

}  // namespace

void CopyBlocks(std::span<const CopiedBlock> blocks) {
  std::vector<Copy> copies(blocks.begin(), blocks.end());
  int64_t units = 0;
  double nanoseconds = 0;
  for (const Copy& copy : copies) {
    units += copy.units();
    nanoseconds += copy.nanoseconds() * static_cast<double>(copy.units());
  }
  ParallelFor(units, nanoseconds / static_cast<double>(std::max<int64_t>(units, 1)), [&](int64_t begin, int64_t end) {
    int64_t first = 0;  // of the copy's units
    for (const Copy& copy : copies) {
      const int64_t from = std::max(begin - first, int64_t{0}), to = std::min(end - first, copy.units());
      if (from < to) copy.Run(from, to);
      first += copy.units();
    }
  });
}

void CopyFloats(const at::Tensor& from, at::Tensor& to) {
  CopiedBlock block{from.const_data_ptr<float>(), to.mutable_data_ptr<float>(), {}};
  for (size_t i = 0; i < from.sizes().size(); ++i)
    block.dimensions.push_back({from.sizes()[i], from.strides()[i], to.strides()[i]});
  CopyBlocks({&block, 1});
}

at::Tensor Copied(const at::Tensor& tensor, at::MemoryFormat format) {
  at::Tensor copy = NewFloats(tensor.sizes(), format);
  CopyFloats(tensor, copy);
  return copy;
}

void FillFloats(at::Tensor& tensor, float number) {
  float* const numbers = tensor.mutable_data_ptr<float>();
  ParallelFor(tensor.numel(), kNanosecondsOfCopiedNumber / 2,
              [=](int64_t begin, int64_t end) { std::fill(numbers + begin, numbers + end, number); });
}

}  // namespace hearth::native
