// What is known of a Value beside its type: of tensors the dtype, device, sizes, layout and whether they require
// gradients; of lists and tuples the length and what is in them; of ints the number. Sizes and numbers that are no
// constants are known by what they are computed of (size_algebra.h). value_fact_table.h finds such facts in a graph.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/definitions/size_algebra.h"
#include "jit/definitions/stride_order.h"
#include "jit/ir/graph.h"

namespace hearth {

struct ValueFacts {
  // More elements than this are not kept apart.
  static constexpr size_t kMaxElements = 64;
  // Nor is anything of a value that has more values in it, on all levels together: of forty lists, each of which holds
  // the one before twice, the last would have 2^40.
  static constexpr size_t kMaxFacts = 512;

  enum class Kind : uint8_t {
    kUnknown,
    kNever,  // no run comes to have it: what a branch gives that raises
    kTensor,
    kNone,
    kList,
    kTuple,
    kInt,
    // Nothing but the type is known of these.
    kFloat,
    kBool,
    kString,
  };

  Kind kind = Kind::kUnknown;
  // kTensor: it is defined. Null or false: not known.
  std::optional<c10::ScalarType> dtype;
  std::optional<c10::Device> device;
  std::optional<bool> requires_grad;
  bool plain = false;  // strided and dense: not sparse, quantized, nested, conjugate or a subclass
  StrideOrder order;   // of its dimensions in memory
  // How they are nested, also where they are not dense; not known where `order` says it all (see nested()).
  PartOrder part_order;
  // What at::Tensor::suggest_memory_format says, where the order does not tell (see SuggestedFormat); null: not known.
  std::optional<c10::MemoryFormat> suggested_format;
  // kTensor: its sizes, null if the rank is not known. kList: the elements if they are ints, null otherwise.
  std::optional<KnownSizes> sizes;
  // kTuple and kList (but of ints): one each.
  std::vector<ValueFacts> elements;
  // kInt.
  KnownSize number;

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool contiguous() const { return order.is_default(); }
  // Its strides are those of new memory in the default format, also where a size is 1, of which a contiguous tensor may
  // have any.
  bool default_strides() const { return order.is_default_exactly(); }
  // How its dimensions are nested in memory, by either of the two.
  PartOrder nested() const;
  std::optional<size_t> rank() const;
  // Of a list or tuple.
  std::optional<size_t> length() const;
  // These facts and those of what is in the value, on all levels.
  size_t count() const;
  bool operator==(const ValueFacts&) const = default;
};

// What holds of both.
ValueFacts Join(const ValueFacts& a, const ValueFacts& b);
ValueFacts FactsOfConstant(const c10::IValue& value);
// Whether nothing that is of the type has these facts.
bool Contradicts(const ValueFacts& facts, const c10::Type& type);
// The type of a Value of type `declared` with these facts: narrower where they say more than its type does.
TypePtr NarrowType(const TypePtr& declared, const ValueFacts& facts);
// Whether a tensor is what ValueFacts::plain says.
bool IsPlain(const at::Tensor& tensor);
// Whether all of that is so of a tensor, for facts without computed sizes.
bool HoldOf(const ValueFacts& facts, const at::Tensor& tensor);

}  // namespace hearth
