// In which order the dimensions of a dense tensor are nested in memory, as far as that is known: the order in which new
// memory has them (contiguous), channels-last, or any other that a permutation makes of these.
//
// A dimension of size 1 has a stride that nothing reads, and two tensors with the same elements in the same places may
// differ in it. An order is *exact* if these strides too are the ones that new memory of that order has: the innermost
// dimension has stride 1, each other one the product of the sizes within it, where a size of 0 counts as 1.
//
// A view that leaves elements out has gaps, but its dimensions are still nested as in the tensor that it is a part of.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hearth {

class StrideOrder {
 public:
  StrideOrder() = default;  // not known
  // Of a tensor of any rank: its dimensions are nested as they are numbered.
  static StrideOrder Default(bool exact);
  // Of a batch of images: N, H, W, C.
  static StrideOrder ChannelsLast(bool exact);
  // Of a batch of volumes: N, D, H, W, C.
  static StrideOrder ChannelsLast3d(bool exact);
  // Of new memory in that format; unknown for one that is none of these.
  static StrideOrder OfFormat(c10::MemoryFormat format);
  // Of strides, for sizes of 1 and more; unknown if the elements are not dense.
  static StrideOrder OfStrides(at::IntArrayRef sizes, at::IntArrayRef strides);
  // Of a plain tensor; unknown if it has none of these.
  static StrideOrder Of(const at::Tensor& tensor);

  bool is_known() const { return known_; }
  bool is_exact() const { return exact_; }
  bool is_default() const { return known_ && nesting_.empty(); }
  bool is_channels_last() const;     // of images
  bool is_channels_last_3d() const;  // of volumes
  // Whether it is one of those.
  bool has_channels_last() const { return is_channels_last() || is_channels_last_3d(); }
  bool is_default_exactly() const { return is_default() && exact_; }
  // Whether both are known, and the same but perhaps for the strides of dimensions of size 1.
  bool IsLike(const StrideOrder& other) const { return known_ && other.known_ && nesting_ == other.nesting_; }
  // The same, but nothing said of the strides of dimensions of size 1.
  StrideOrder Inexact() const;
  // Of the view whose dimension i is dimension from[i] of this one.
  StrideOrder Permuted(std::span<const size_t> from) const;
  // Of the view of rank `rank` + 1 whose dimension `at` is new, as unsqueeze makes it: just outside of the one that was
  // there, or innermost.
  StrideOrder Inserted(size_t at, size_t rank) const;
  // Of the view without dimension `at` of `rank`, whose size is 1.
  StrideOrder Removed(size_t at, size_t rank) const;
  // Outermost dimension first.
  std::vector<size_t> Nesting(size_t rank) const;
  // The exact strides of a tensor of these sizes in this order, which is known.
  std::vector<int64_t> Strides(at::IntArrayRef sizes) const;
  // Whether a tensor has this order, which is known, and a rank that fits it.
  bool HoldsOf(const at::Tensor& tensor) const;

  bool operator==(const StrideOrder&) const = default;

 private:
  static StrideOrder Nested(c10::SmallVector<uint8_t, 4> nesting, bool exact);
  StrideOrder(c10::SmallVector<uint8_t, 4> nesting, bool exact)
      : known_(true), exact_(exact), nesting_(std::move(nesting)) {}

  bool known_ = false;
  bool exact_ = false;
  c10::SmallVector<uint8_t, 4> nesting_;  // outermost dimension first; empty: as they are numbered
};

// How the dimensions of a part of a dense tensor are nested: the stride of each is at least as long as what is within
// it, strides of dimensions of size 1 aside. Exact: of these, too.
class PartOrder {
 public:
  struct Level {
    uint8_t dimension;
    // Whether its stride may be longer than what is within it; of the innermost one, than 1.
    bool has_gap = false;
    int64_t stride = 0;  // 0: not known
    bool operator==(const Level&) const = default;
  };

  PartOrder() = default;  // not known
  // Of all of a tensor of that rank.
  static PartOrder OfWhole(const StrideOrder& whole, size_t rank);
  // The same of these sizes.
  static PartOrder OfWhole(const StrideOrder& whole, at::IntArrayRef sizes);
  // Of these levels, the outermost first.
  static PartOrder Of(std::span<const Level> levels, bool exact);

  bool is_known() const { return known_; }
  bool is_exact() const { return exact_; }
  bool is_default() const;
  // Outermost first.
  std::span<const Level> levels() const { return levels_; }
  bool IsNestedLike(const PartOrder& other) const;
  PartOrder Inexact() const;
  // Of new memory that is nested so.
  StrideOrder Dense() const;
  // Of the view of some of the elements along a dimension: of one of so many each, which divide the size.
  PartOrder Sliced(size_t at, int64_t step = 1) const;
  // Of the view of one of the elements along it, without that dimension.
  PartOrder Selected(size_t at) const;
  // As StrideOrder's.
  PartOrder Permuted(std::span<const size_t> from) const;
  PartOrder Inserted(size_t at) const;
  PartOrder Removed(size_t at) const;
  // Whether a tensor's dimensions are nested so, which is known.
  bool HoldsOf(const at::Tensor& tensor) const;

  bool operator==(const PartOrder&) const = default;
  // What holds of both.
  friend PartOrder Join(const PartOrder& a, const PartOrder& b);

 private:
  size_t PlaceOf(size_t dimension) const;

  bool known_ = false;
  bool exact_ = false;
  c10::SmallVector<Level, 4> levels_;
};

// What holds of both.
StrideOrder Join(const StrideOrder& a, const StrideOrder& b);

}  // namespace hearth
