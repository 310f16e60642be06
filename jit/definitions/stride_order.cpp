#include "jit/definitions/stride_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hearth {

StrideOrder StrideOrder::Default(bool exact) { return {{}, exact}; }

StrideOrder StrideOrder::ChannelsLast(bool exact) { return {{0, 2, 3, 1}, exact}; }

StrideOrder StrideOrder::ChannelsLast3d(bool exact) { return {{0, 2, 3, 4, 1}, exact}; }

StrideOrder StrideOrder::OfFormat(c10::MemoryFormat format) {
  if (format == c10::MemoryFormat::Contiguous) return Default(true);
  if (format == c10::MemoryFormat::ChannelsLast) return ChannelsLast(true);
  if (format == c10::MemoryFormat::ChannelsLast3d) return ChannelsLast3d(true);
  return {};
}

StrideOrder StrideOrder::Of(const at::Tensor& tensor) {
  for (const bool exact : {true, false}) {
    for (const StrideOrder& order : {Default(exact), ChannelsLast(exact), ChannelsLast3d(exact)}) {
      if (order.HoldsOf(tensor)) return order;
    }
  }
  return {};
}

StrideOrder StrideOrder::OfStrides(at::IntArrayRef sizes, at::IntArrayRef strides) {
  c10::SmallVector<uint8_t, 4> nesting(sizes.size());
  std::iota(nesting.begin(), nesting.end(), uint8_t{0});
  std::ranges::stable_sort(nesting, [&](uint8_t a, uint8_t b) { return strides[a] > strides[b]; });
  std::vector<StrideOrder> orders = {Default(false)};
  if (sizes.size() == 4) orders.push_back(ChannelsLast(false));
  if (sizes.size() == 5) orders.push_back(ChannelsLast3d(false));
  orders.push_back(Nested(std::move(nesting), false));
  for (StrideOrder& order : orders) {
    const std::vector<int64_t> dense = order.Strides(sizes);
    bool fits = true;
    for (size_t i = 0; i < sizes.size(); ++i) fits &= sizes[i] == 1 || strides[i] == dense[i];
    if (!fits) continue;
    order.exact_ = std::ranges::equal(strides, dense);
    return order;
  }
  return {};
}

bool StrideOrder::is_channels_last() const { return IsLike(ChannelsLast(false)); }

bool StrideOrder::is_channels_last_3d() const { return IsLike(ChannelsLast3d(false)); }

StrideOrder StrideOrder::Inexact() const {
  StrideOrder order = *this;
  order.exact_ = false;
  return order;
}

StrideOrder StrideOrder::Permuted(std::span<const size_t> from) const {
  if (!known_) return {};
  std::vector<size_t> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[from[i]] = i;
  c10::SmallVector<uint8_t, 4> nesting;
  for (const size_t dim : Nesting(from.size())) nesting.push_back(static_cast<uint8_t>(to[dim]));
  return Nested(std::move(nesting), exact_);
}

StrideOrder StrideOrder::Nested(c10::SmallVector<uint8_t, 4> nesting, bool exact) {
  if (std::ranges::is_sorted(nesting)) nesting.clear();
  return {std::move(nesting), exact};
}

StrideOrder StrideOrder::Inserted(size_t at, size_t rank) const {
  if (!known_) return {};
  c10::SmallVector<uint8_t, 4> nesting;
  for (const size_t dim : Nesting(rank)) {
    if (dim == at) nesting.push_back(static_cast<uint8_t>(at));
    nesting.push_back(static_cast<uint8_t>(dim < at ? dim : dim + 1));
  }
  if (at == rank) nesting.push_back(static_cast<uint8_t>(at));
  return Nested(std::move(nesting), exact_);
}

StrideOrder StrideOrder::Removed(size_t at, size_t rank) const {
  if (!known_) return {};
  c10::SmallVector<uint8_t, 4> nesting;
  for (const size_t dim : Nesting(rank)) {
    if (dim != at) nesting.push_back(static_cast<uint8_t>(dim < at ? dim : dim - 1));
  }
  return Nested(std::move(nesting), exact_);
}

std::vector<size_t> StrideOrder::Nesting(size_t rank) const {
  if (!nesting_.empty()) return {nesting_.begin(), nesting_.end()};
  std::vector<size_t> nesting(rank);
  std::iota(nesting.begin(), nesting.end(), 0);
  return nesting;
}

std::vector<int64_t> StrideOrder::Strides(at::IntArrayRef sizes) const {
  std::vector<int64_t> strides(sizes.size());
  const std::vector<size_t> nesting = Nesting(sizes.size());
  int64_t stride = 1;
  for (size_t i = nesting.size(); i-- > 0;) {
    strides[nesting[i]] = stride;
    stride *= std::max<int64_t>(sizes[nesting[i]], 1);
  }
  return strides;
}

bool StrideOrder::HoldsOf(const at::Tensor& tensor) const {
  if (!nesting_.empty() && nesting_.size() != static_cast<size_t>(tensor.dim())) return false;
  const std::vector<int64_t> strides = Strides(tensor.sizes());
  if (exact_) return std::ranges::equal(strides, tensor.strides());
  if (tensor.numel() == 0) return true;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (tensor.sizes()[i] != 1 && tensor.strides()[i] != strides[i]) return false;
  }
  return true;
}

StrideOrder Join(const StrideOrder& a, const StrideOrder& b) {
  if (!a.IsLike(b)) return {};
  return a.is_exact() ? b : a;
}

PartOrder PartOrder::OfWhole(const StrideOrder& whole, size_t rank) {
  PartOrder part;
  if (!whole.is_known()) return part;
  part.known_ = true;
  part.exact_ = whole.is_exact();
  for (const size_t dimension : whole.Nesting(rank)) part.levels_.push_back({static_cast<uint8_t>(dimension)});
  return part;
}

PartOrder PartOrder::OfWhole(const StrideOrder& whole, at::IntArrayRef sizes) {
  PartOrder part = OfWhole(whole, sizes.size());
  if (!part.known_) return part;
  const std::vector<int64_t> strides = whole.Strides(sizes);
  for (Level& level : part.levels_) {
    if (part.exact_ || sizes[level.dimension] > 1) level.stride = strides[level.dimension];
  }
  return part;
}

PartOrder PartOrder::Of(std::span<const Level> levels, bool exact) {
  PartOrder part;
  part.known_ = true;
  part.exact_ = exact;
  part.levels_.assign(levels.begin(), levels.end());
  return part;
}

bool PartOrder::is_default() const { return known_ && std::ranges::is_sorted(levels_, {}, &Level::dimension); }

bool PartOrder::IsNestedLike(const PartOrder& other) const {
  return known_ && other.known_ && std::ranges::equal(levels_, other.levels_, {}, &Level::dimension, &Level::dimension);
}

PartOrder PartOrder::Inexact() const {
  PartOrder order = *this;
  order.exact_ = false;
  return order;
}

StrideOrder PartOrder::Dense() const {
  if (!known_) return {};
  std::vector<size_t> from(levels_.size());
  for (size_t i = 0; i < levels_.size(); ++i) from[levels_[i].dimension] = i;
  return StrideOrder::Default(exact_).Permuted(from);
}

size_t PartOrder::PlaceOf(size_t dimension) const {
  return static_cast<size_t>(std::ranges::find(levels_, dimension, &Level::dimension) - levels_.begin());
}

PartOrder PartOrder::Sliced(size_t at, int64_t step) const {
  if (!known_) return {};
  PartOrder part = *this;
  const size_t place = PlaceOf(at);
  part.levels_[place].has_gap |= step != 1;
  part.levels_[place].stride *= step;
  if (place > 0) part.levels_[place - 1].has_gap = true;
  return part;
}

PartOrder PartOrder::Selected(size_t at) const { return Sliced(at).Removed(at); }

PartOrder PartOrder::Permuted(std::span<const size_t> from) const {
  PartOrder part = *this;
  for (size_t i = 0; known_ && i < from.size(); ++i) part.levels_[PlaceOf(from[i])].dimension = static_cast<uint8_t>(i);
  return part;
}

PartOrder PartOrder::Inserted(size_t at) const {
  if (!known_) return {};
  PartOrder part = *this;
  const size_t place = PlaceOf(at);  // the end, if it is the last one
  for (Level& level : part.levels_) level.dimension += level.dimension >= at ? 1 : 0;
  part.levels_.insert(part.levels_.begin() + static_cast<ptrdiff_t>(place), {static_cast<uint8_t>(at)});
  return part;
}

PartOrder PartOrder::Removed(size_t at) const {
  if (!known_) return {};
  PartOrder part = *this;
  const size_t place = PlaceOf(at);
  if (place > 0) part.levels_[place - 1].has_gap |= levels_[place].has_gap;
  part.levels_.erase(part.levels_.begin() + static_cast<ptrdiff_t>(place));
  for (Level& level : part.levels_) level.dimension -= level.dimension > at ? 1 : 0;
  return part;
}

bool PartOrder::HoldsOf(const at::Tensor& tensor) const {
  if (levels_.size() != static_cast<size_t>(tensor.dim())) return false;
  if (tensor.numel() == 0) return true;
  int64_t within = 1;
  bool has_gap = false;
  for (size_t i = levels_.size(); i-- > 0;) {
    const int64_t size = tensor.size(levels_[i].dimension), stride = tensor.stride(levels_[i].dimension);
    has_gap |= levels_[i].has_gap;
    if (size == 1 && !exact_) continue;
    if (has_gap ? stride < within : stride != within) return false;
    if (levels_[i].stride != 0 && levels_[i].stride != stride) return false;
    within = stride * size;
    has_gap = false;
  }
  return true;
}

PartOrder Join(const PartOrder& a, const PartOrder& b) {
  if (!a.IsNestedLike(b)) return {};
  PartOrder both = a;
  both.exact_ &= b.exact_;
  for (size_t i = 0; i < both.levels_.size(); ++i) {
    both.levels_[i].has_gap |= b.levels_[i].has_gap;
    if (both.levels_[i].stride != b.levels_[i].stride) both.levels_[i].stride = 0;
  }
  return both;
}

}  // namespace hearth
