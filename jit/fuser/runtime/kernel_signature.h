// What connects a kernel with the node of a plan that calls it: which operands are its buffers and symbols, what their
// sizes have to do with each other, and what the results are.
//
// An extent is a size that several tensors have in common; it is read from the first of them and checked in the others.
// A kernel's own dimensions are fewer than its tensors': what lies one after the other in all of them is one.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearth::fuser {

struct KernelSignature {
  // Of a dimension that has one element, however large the others are.
  static constexpr int16_t kOne = -1;

  // The stride of a dimension is what is within it, or any that is at least as long, which the kernel is given.
  static constexpr int64_t kNoGap = 0;
  static constexpr int64_t kAnyGap = -1;

  static constexpr int64_t kAnySize = -1;

  // Of an extent that is its size, and read from no input.
  static constexpr uint16_t kNoInput = UINT16_MAX;

  // Where the extent of that number is read: an input buffer and its dimension; and what it has to be.
  struct Extent {
    uint16_t input;
    uint16_t dimension;
    int64_t size = kAnySize;
    bool operator==(const Extent&) const = default;
  };

  struct Tensor {
    c10::ScalarType dtype;
    std::vector<int16_t> extents;  // the number of the extent of each dimension, or kOne
    // The dimensions as they are nested in memory, the outermost first.
    std::vector<uint8_t> nesting;
    // Of an input that may be a part of a tensor: the stride of each of these, kNoGap or kAnyGap. Empty: dense.
    std::vector<int64_t> strides = {};
    bool operator==(const Tensor&) const = default;
  };

  struct Input {
    uint16_t operand;  // of the node, whose first one is the kernel
    Tensor tensor;
    bool operator==(const Input&) const = default;
  };

  struct Symbol {
    enum class Kind : uint8_t { kProduct, kInteger, kReal, kStride };
    Kind kind = Kind::kProduct;
    std::vector<uint16_t> extents;  // kProduct: of these, 1 of none
    uint16_t operand = 0;           // kInteger, kReal, kStride
    uint16_t dimension = 0;         // kStride
    bool operator==(const Symbol&) const = default;
  };

  // On a CPU the elements of the input `ids` are looked at before the kernel runs: each is the number of one of the
  // input `tensor`'s elements along the dimension, from 0 on, or else the call raises.
  struct Ids {
    uint16_t ids;
    uint16_t tensor;
    uint16_t dimension;
    bool from_end = false;  // they may be negative, and count from the end then
    bool operator==(const Ids&) const = default;
  };

  // Memory that one of the kernel's loops leaves to a later one: outputs of the kernel that are no results.
  struct Scratch {
    c10::ScalarType dtype;
    int64_t elements;
    bool operator==(const Scratch&) const = default;
  };

  std::vector<Extent> extents;
  std::vector<Input> inputs;     // as the kernel's buffers
  std::vector<Tensor> outputs;   // likewise
  std::vector<Scratch> scratch;  // likewise, after the results
  std::vector<Symbol> symbols;   // likewise
  std::vector<Ids> ids = {};

  bool operator==(const KernelSignature&) const = default;
};

}  // namespace hearth::fuser
