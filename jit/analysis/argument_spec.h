// What a compiled plan may rely on about the arguments of a call: their nested types, and of each tensor its dtype,
// device, rank, layout and flags, and classes of its sizes (size_classes.h). Calls with equal specs may share a plan.
//
// A spec is a prefix code in 64-bit words, made and hashed in one walk over the arguments. It says:
//   tensor          defined or not; dtype, device, rank, LayoutClass, suggested memory format, requires_grad,
//                   inference, wrapped number, classes of sizes; of anything but a plain dense tensor (sparse,
//                   quantized, nested, conjugate, negative, named, a subclass) the dispatch keys too
//   None, scalars, strings, devices, ...   the type, not the value
//   object, enum    the class
//   list            the kind of its elements; of scalars and strings the length up to kMaxExactLength; of anything else
//                   the length and every element
//   tuple           every element (not its name)
//   dict            the kind of its values, and every key with its value's spec; keys are strings or numbers
// It does not say whether arguments share memory: two may always be, or overlap, the same tensor.
//
// An argument list that is larger, deeper or stranger than the bounds below has no spec: the call stays in the
// baseline.
//
// Values; immutable once made. Classes are known by address and not owned: a spec lives no longer than its archive.
// stored_spec.h has what outlives it.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/analysis/size_classes.h"

namespace hearth {

// The first that applies, of strided tensors.
enum class LayoutClass : uint8_t {
  kContiguous,
  kChannelsLast,
  kChannelsLast3d,
  kDense,       // some other order of dimensions, without gaps or overlaps
  kExpanded,    // a dimension of stride 0 and more than one element: writing into it raises
  kNotDense,    // gaps, perhaps overlaps
  kNotStrided,  // sparse and the like: see TensorFacts::layout
};

struct TensorFacts {
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  c10::Device device = c10::kCPU;
  std::optional<uint8_t> rank;  // null of nested tensors and subclasses, whose sizes are their own matter
  LayoutClass layout_class = LayoutClass::kContiguous;
  c10::Layout layout = c10::kStrided;
  // What at::Tensor::suggest_memory_format says: results of many operators follow it.
  c10::MemoryFormat suggested_format = c10::MemoryFormat::Contiguous;
  bool requires_grad = false;
  bool is_inference = false;
  bool is_wrapped_number = false;  // takes part in type promotion as a scalar does
  SizeClasses size_classes;
  // All of them, where the facts are of one shape alone (exact_shape.h), or -1 for what is any but 0; a spec has none.
  std::optional<std::vector<int64_t>> sizes;
  // All of them, as they are in one call among many (likewise).
  std::optional<std::vector<int64_t>> likely_sizes;
  // The raw dispatch keys of anything but a plain dense tensor.
  std::optional<uint64_t> keys;

  bool operator==(const TensorFacts&) const = default;
};

enum class ArgumentKind : uint8_t {
  kTensor,
  kUndefinedTensor,
  kNone,
  kInt,
  kFloat,
  kBool,
  kComplex,
  kString,
  kDevice,
  kStream,
  kGenerator,
  kStorage,
  kFuture,
  kAwait,
  kEnum,
  kObject,
  kList,
  kTuple,
  kDict,
};

struct ArgumentFacts {
  ArgumentKind kind = ArgumentKind::kNone;
  TensorFacts tensor;                                // kTensor
  const c10::Type* type = nullptr;                   // kObject, kEnum
  c10::TypeKind contained = c10::TypeKind::AnyType;  // kList: of the elements; kDict: of the values
  std::optional<size_t> length;                      // kList, kTuple, kDict; null: more than kMaxExactLength
  // kTuple, kList but of scalars: one each; kDict: the values in the dict's order.
  std::vector<ArgumentFacts> elements;
  std::vector<c10::IValue> keys;  // kDict
};

class ArgumentSpec {
 public:
  static constexpr size_t kMaxWords = 512;
  static constexpr size_t kMaxDepth = 8;        // of containers in each other
  static constexpr size_t kMaxLength = 64;      // of a container that is looked into
  static constexpr size_t kMaxExactLength = 8;  // of a list of scalars
  static constexpr size_t kMaxRank = SizeClasses::kMaxRank;
  static constexpr size_t kMaxKeyBytes = 64;

  // Null: no spec.
  static std::optional<ArgumentSpec> Of(std::span<const c10::IValue> arguments);

  bool operator==(const ArgumentSpec& other) const { return hash_ == other.hash_ && words_ == other.words_; }
  uint64_t hash() const { return hash_; }
  // What the spec takes, with this object.
  size_t bytes() const;

  // One for each argument, in order.
  std::vector<ArgumentFacts> Facts() const;
  // "Float[4: *, 1, 16+, 64+] cpu contiguous, int": of a tensor rank and sizes, "64+" where one is 64 at least and `*`
  // where it is 2 at least.
  std::string ToString() const;

 private:
  friend class ArgumentPacker;
  friend class StoredSpec;
  static constexpr unsigned kInlineWords = 24;  // eleven tensors

  c10::SmallVector<uint64_t, kInlineWords> words_;
  uint64_t hash_ = 0;
};

}  // namespace hearth
