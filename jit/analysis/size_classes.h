// What an ArgumentSpec says of a tensor's sizes: a class for each. A plan relies on no more than its lower bound.
//
// 0 and 1 have classes of their own: broadcasts, strides and what is empty depend on them. A size that is 2 at least is
// told from larger ones only where a window may slide along it, in tensors of floating-point numbers or bytes, as
// images and sound are, and not in the first of several dimensions, which is mostly the batch. There the bounds say
// that what layers with strides leave of it is more than one step: of an image of 64 pixels five layers of stride 2
// leave 2, of 4096 samples those of speech models leave several. The bounds are few and far apart, so that the sizes
// that a model is called with seldom lie on both sides of one: each side is a spec of its own, with its own plan.
#pragma once

#include <c10/core/ScalarType.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace hearth {

enum class SizeClass : uint8_t { kZero, kOne, kSeveral, kAtLeast16, kAtLeast64, kAtLeast4096 };

// What a size of this class is at least.
constexpr int64_t LeastOf(SizeClass size_class) {
  constexpr int64_t kLeast[] = {0, 1, 2, 16, 64, 4096};
  return kLeast[static_cast<size_t>(size_class)];
}

// A value, in one word.
class SizeClasses {
 public:
  static constexpr size_t kMaxRank = 16;

  SizeClasses() = default;
  // Of a word that another one gave. IsValid tells whether a word from elsewhere is one, of a tensor of this rank.
  explicit SizeClasses(uint64_t word) : word_(word) {}
  static bool IsValid(uint64_t word, size_t rank) {
    if (rank > kMaxRank || static_cast<size_t>(std::bit_width(word)) > rank * kBits) return false;
    for (; word != 0; word >>= kBits) {
      if ((word & kMask) > static_cast<uint64_t>(SizeClass::kAtLeast4096)) return false;
    }
    return true;
  }

  // Of the size of one dimension of a tensor.
  static SizeClass Of(int64_t size, c10::ScalarType dtype, size_t rank, size_t dimension) {
    if (size < 2) return size == 1 ? SizeClass::kOne : SizeClass::kZero;
    const bool may_be_batch = dimension == 0 && rank > 1;
    const bool has_windows = !may_be_batch && (c10::isFloatingType(dtype) || dtype == c10::kByte);
    if (size < LeastOf(SizeClass::kAtLeast16) || !has_windows) return SizeClass::kSeveral;
    if (size < LeastOf(SizeClass::kAtLeast64)) return SizeClass::kAtLeast16;
    return size < LeastOf(SizeClass::kAtLeast4096) ? SizeClass::kAtLeast64 : SizeClass::kAtLeast4096;
  }

  SizeClass operator[](size_t dimension) const { return static_cast<SizeClass>(word_ >> (dimension * kBits) & kMask); }
  // Of a dimension that has none yet.
  void Set(size_t dimension, SizeClass size_class) {
    word_ |= static_cast<uint64_t>(size_class) << (dimension * kBits);
  }
  uint64_t word() const { return word_; }

  bool operator==(const SizeClasses&) const = default;

 private:
  static constexpr unsigned kBits = 4;
  static constexpr uint64_t kMask = 0xf;

  uint64_t word_ = 0;
};

}  // namespace hearth
