// aten::cat and aten::stack, the former also into memory that a plan has for it: floats that lie in it as they do in
// the tensors are copied by all threads of the caller. What is not so goes LibTorch's way.
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/stack_ops.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_tensor.h"
#include "jit/operators/strided_copy.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

struct Dimension {
  int64_t size, stride;
};
using Dimensions = c10::SmallVector<Dimension, 4>;

// Where a tensor's runs of numbers begin: those of the dimensions from `outer` on in the nesting lie one after the
// other, and the others, of which those that can be are one, say where the runs are. Nothing where it is not so.
std::optional<Dimensions> RunsOf(const at::Tensor& tensor, const std::vector<size_t>& nesting, size_t outer) {
  int64_t stride = 1;
  for (size_t i = nesting.size(); i-- > outer;) {
    const int64_t size = tensor.sizes()[nesting[i]];
    if (size != 1 && tensor.strides()[nesting[i]] != stride) return {};
    stride *= size;
  }
  Dimensions runs;
  for (size_t i = 0; i < outer; ++i) {
    const Dimension next = {tensor.sizes()[nesting[i]], tensor.strides()[nesting[i]]};
    if (!runs.empty() && runs.back().stride == next.size * next.stride) {
      runs.back() = {runs.back().size * next.size, next.stride};
    } else {
      runs.push_back(next);
    }
  }
  if (runs.empty()) runs.push_back({1, stride});
  return runs;
}

// Numbers of each row of the result, one after the other, and where they come from.
struct Source {
  const float* from;
  Dimensions rows;
  int64_t offset, size;  // in the row
};

class Concatenation {
 public:
  // Whether the tensors can be copied so; nothing else has been done then.
  bool Plan(const std::vector<IValue>& parts, int64_t dim, const at::Tensor& result) {
    const auto rank = static_cast<int64_t>(result.sizes().size());
    if (!IsPlainFloat(result) || result.numel() == 0 || dim < -rank || dim >= rank) return false;
    const auto along = static_cast<size_t>(dim < 0 ? dim + rank : dim);
    const std::vector<size_t> nesting = NestingOf(result);
    const auto outer = static_cast<size_t>(std::ranges::find(nesting, along) - nesting.begin());
    const std::optional<Dimensions> rows = RunsOf(result, nesting, outer);
    if (outer == nesting.size() || !rows || rows->size() > 1) return false;
    for (size_t i = 0; i < outer; ++i) rows_ *= result.sizes()[nesting[i]];
    const int64_t row_size = result.numel() / rows_, inner = row_size / result.sizes()[along];
    stride_ = rows->front().stride;
    if (stride_ < row_size) return false;  // rows with memory in common
    to_ = result.mutable_data_ptr<float>();
    int64_t offset = 0;
    for (const IValue& value : parts) {
      const at::Tensor& part = value.toTensor();
      const std::optional<Dimensions> part_rows =
          MayBePart(part, result, along) ? RunsOf(part, nesting, outer) : std::nullopt;
      if (!part_rows) return false;
      const int64_t size = part.sizes()[along] * inner;
      for (int64_t begin = 0; begin < size; begin += kMostCopiedNumbers) {
        sources_.push_back({part.const_data_ptr<float>() + begin, *part_rows, offset + begin,
                            std::min(size - begin, kMostCopiedNumbers)});
      }
      offset += size;
    }
    return offset == row_size;
  }

  void Run() const {
    int64_t numbers = 0;
    for (const Source& source : sources_) numbers += source.size;
    const auto count = static_cast<int64_t>(sources_.size());
    const double of_row = kNanosecondsOfCopiedNumber * static_cast<double>(numbers) +
                          kNanosecondsOfCopiedRun * static_cast<double>(count);
    if (numbers > kMostCopiedNumbers) {
      ParallelFor(rows_ * count, of_row / static_cast<double>(count), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          CopyRows(sources_[static_cast<size_t>(i % count)], i / count, i / count + 1);
      });
      return;
    }
    ParallelFor(rows_, of_row, [&](int64_t begin, int64_t end) {
      for (const Source& source : sources_) CopyRows(source, begin, end);
    });
  }

 private:
  // The rows of a source from `begin` up to `end`.
  void CopyRows(const Source& source, int64_t begin, int64_t end) const {
    while (begin < end) {
      // As many as are equally far apart.
      const float* from = source.from;
      int64_t row = begin, count = end - begin;
      for (size_t i = source.rows.size(); i-- > 0;) {
        const Dimension& dimension = source.rows[i];
        const int64_t index = row % dimension.size;
        from += index * dimension.stride;
        row /= dimension.size;
        if (i + 1 == source.rows.size()) count = std::min(count, dimension.size - index);
      }
      CopyRuns(from, source.rows.back().stride, count, source.size, to_ + begin * stride_ + source.offset);
      begin += count;
    }
  }
  void CopyRuns(const float* from, int64_t stride, int64_t count, int64_t size, float* to) const {
    for (int64_t run = 0; run < count; ++run, from += stride, to += stride_) CopyRun(from, size, to);
  }
  // Of the same sizes but along one dimension, and with no memory in common.
  static bool MayBePart(const at::Tensor& part, const at::Tensor& result, size_t along) {
    if (!IsPlainFloat(part) || part.dim() != result.dim() || part.is_alias_of(result)) return false;
    for (size_t i = 0; i < result.sizes().size(); ++i) {
      if (i != along && part.sizes()[i] != result.sizes()[i]) return false;
    }
    return true;
  }

  std::vector<Source> sources_;
  int64_t rows_ = 1, stride_ = 0;
  float* to_ = nullptr;
};

// A new tensor for what is joined, as LibTorch makes it: in the format that all parts suggest, or in the default one.
// Not defined if these are not plain floats of sizes that fit.
at::Tensor MemoryFor(const std::vector<IValue>& parts, int64_t dim) {
  if (parts.empty() || !IsPlainFloat(parts[0].toTensor())) return {};
  const at::Tensor& first = parts[0].toTensor();
  const int64_t rank = first.dim();
  if (first.numel() == 0 || dim < -rank || dim >= rank) return {};
  const auto along = static_cast<size_t>(dim < 0 ? dim + rank : dim);
  c10::SmallVector<int64_t, 6> sizes(first.sizes());
  sizes[along] = 0;
  at::MemoryFormat format = first.suggest_memory_format();
  for (const IValue& value : parts) {
    const at::Tensor& part = value.toTensor();
    if (!IsPlainFloat(part) || part.dim() != rank) return {};
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i != along && part.sizes()[i] != sizes[i]) return {};
    }
    sizes[along] += part.sizes()[along];
    if (part.suggest_memory_format() != format) format = at::MemoryFormat::Contiguous;
  }
  return NewFloats(sizes, format);
}

// cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
void ConcatenateInto(NativeArguments in, IValue* out) {
  Concatenation concatenation;
  if (!NoModeSeesOperators() || !in[2].isTensor() ||
      !concatenation.Plan(Elements(in[0]), in[1].toInt(), in[2].toTensor())) {
    EntryOf<at::_ops::cat_out>().function(in, out);
    return;
  }
  concatenation.Run();
  *out = in[2];
}

// cat(Tensor[] tensors, int dim=0) -> Tensor
void Concatenate(NativeArguments in, IValue* out) {
  const IValue memory(NoModeSeesOperators() ? MemoryFor(Elements(in[0]), in[1].toInt()) : at::Tensor());
  if (!memory.toTensor().defined()) {
    EntryOf<at::_ops::cat>().function(in, out);
    return;
  }
  const IValue* const with_memory[] = {&in[0], &in[1], &memory};
  ConcatenateInto({with_memory, std::size(with_memory)}, out);
}

// stack(Tensor[] tensors, int dim=0) -> Tensor
void Stack(NativeArguments in, IValue* out) {
  const std::vector<IValue>& parts = Elements(in[0]);
  const int64_t rank = parts.empty() ? 0 : parts[0].toTensor().dim(), dim = in[1].toInt();
  // As LibTorch has it, but after the last dimension: along an existing one, which is two afterwards.
  const int64_t along = dim < 0 ? dim + rank + 1 : dim;
  const bool is_alike = std::ranges::all_of(
      parts, [&](const IValue& part) { return part.toTensor().sizes() == parts[0].toTensor().sizes(); });
  if (parts.empty() || along < 0 || along >= rank || !is_alike || !IsPlainFloat(parts[0].toTensor())) {
    EntryOf<at::_ops::stack>().function(in, out);
    return;
  }
  c10::SmallVector<int64_t, 6> sizes(parts[0].toTensor().sizes());
  sizes.insert(sizes.begin() + along, static_cast<int64_t>(parts.size()));
  const IValue where(along);
  const IValue* const of_cat[] = {&in[0], &where};
  IValue joined;
  Concatenate({of_cat, std::size(of_cat)}, &joined);
  *out = joined.toTensor().view(sizes);
}

constexpr NativeEntry kEntries[] = {
    {"aten::cat", Concatenate}, {"aten::cat.out", ConcatenateInto}, {"aten::stack", Stack}};

}  // namespace

std::span<const NativeEntry> ConcatenationNatives() { return kEntries; }

}  // namespace hearth::native
