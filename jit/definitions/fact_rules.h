// What the rules about operators (operator_facts.h) are written with: a call as a rule sees it, and what type promotion
// and broadcasting make of things half known.
#pragma once

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/definitions/node_effects.h"
#include "jit/definitions/value_facts.h"
#include "jit/ir/graph.h"
#include "jit/operators/operator.h"

namespace hearth {

using Dtype = std::optional<c10::ScalarType>;

// A node with what is known of its inputs, as the rules see it. Inputs are named as the schema names them.
class Call {
 public:
  Call(const Node& node, const std::function<const ValueFacts&(const Value&)>& facts_of, SizeAlgebra& sizes,
       std::span<ValueFacts> outputs)
      : node_(node), facts_of_(facts_of), sizes_(sizes), outputs_(outputs) {}

  const Node& node() const { return node_; }
  SizeAlgebra& sizes() { return sizes_; }
  ValueFacts& out(size_t i = 0) { return outputs_[i]; }
  const ValueFacts& out(size_t i = 0) const { return outputs_[i]; }
  size_t num_outputs() const { return outputs_.size(); }
  size_t num_inputs() const { return node_.inputs().size(); }

  const ValueFacts& in(size_t i) const { return facts_of_(*node_.input(i)); }
  const c10::IValue* constant(size_t i) const { return ConstantOf(*node_.input(i)); }
  // The input of that name; num_inputs() if there is none.
  size_t find(std::string_view name) const {
    const std::vector<c10::Argument>& arguments = node_.op()->schema().arguments();
    for (size_t i = 0; i < std::min(arguments.size(), num_inputs()); ++i) {
      if (arguments[i].name() == name) return i;
    }
    return num_inputs();
  }
  bool has(std::string_view name) const { return find(name) != num_inputs(); }
  const c10::IValue* constant(std::string_view name) const {
    const size_t i = find(name);
    return i == num_inputs() ? nullptr : constant(i);
  }
  std::optional<int64_t> number(std::string_view name) const {
    const c10::IValue* value = constant(name);
    return value != nullptr && value->isInt() ? std::optional(value->toInt()) : std::nullopt;
  }
  std::optional<bool> flag(std::string_view name) const {
    const c10::IValue* value = constant(name);
    return value != nullptr && value->isBool() ? std::optional(value->toBool()) : std::nullopt;
  }
  // Whether it is known to be None, or no argument at all.
  bool is_none(std::string_view name) const {
    if (!has(name)) return true;
    const c10::IValue* value = constant(name);
    return value != nullptr && value->isNone();
  }
  // An int that may be computed; unknown if there is no such argument.
  KnownSize computed(std::string_view name) const {
    const size_t i = find(name);
    return i == num_inputs() ? KnownSize() : in(i).number;
  }
  // A list of ints (or one int that stands for it).
  std::optional<KnownSizes> numbers(std::string_view name) const {
    const size_t i = find(name);
    if (i == num_inputs()) return {};
    const ValueFacts& facts = in(i);
    if (facts.kind == ValueFacts::Kind::kList && facts.sizes) return facts.sizes;
    if (facts.kind == ValueFacts::Kind::kInt) return KnownSizes{facts.number};
    return {};
  }

  bool is_tensor_type(size_t i) const { return node_.input(i)->type()->kind() == c10::TypeKind::TensorType; }

  // False if nothing that the operator is given requires gradients.
  std::optional<bool> RequiresGrad() const {
    for (const Value* input : node_.inputs()) {
      if (!HasMemory(*input->type()) || IsInts(*input) || IsPlanned(*input)) continue;
      const ValueFacts& facts = facts_of_(*input);
      if (!HasNoGrad(facts)) return {};
    }
    return false;
  }

  // A new tensor of that dtype and those sizes on the device of `like`.
  void Give(size_t output, const ValueFacts& like, Dtype dtype, std::optional<KnownSizes> sizes) {
    ValueFacts& facts = out(output);
    facts = {};
    facts.kind = ValueFacts::Kind::kTensor;
    facts.dtype = dtype;
    facts.sizes = std::move(sizes);
    if (!like.is_tensor()) return;
    facts.plain = AllPlain();
    facts.device = CommonDevice(like);
    facts.requires_grad = dtype && !c10::isFloatingType(*dtype) && !c10::isComplexType(*dtype) ? false : RequiresGrad();
  }
  // That of an output that Give gave, if it is plain.
  void GiveOrder(const StrideOrder& order, size_t output = 0) {
    if (!out(output).plain) return;
    // What strides a size of 0 gives depends on who makes the tensor.
    const bool exact = order.is_default() || HasElements(out(output));
    out(output).order = exact ? order : order.Inexact();
  }
  // The same of a view that may have gaps.
  void GivePartOrder(const PartOrder& part, size_t output = 0);

 private:
  static bool IsInts(const Value& value) {
    return value.type()->kind() == c10::TypeKind::ListType && !HasMemory(*value.type()->containedType(0));
  }

  // What a plan has made beforehand for its operator.
  static bool IsPlanned(const Value& value) { return value.type()->kind() == c10::TypeKind::CapsuleType; }

  static bool HasNoGrad(const ValueFacts& facts) {
    switch (facts.kind) {
      case ValueFacts::Kind::kNone:
        return true;
      case ValueFacts::Kind::kTensor:
        return facts.requires_grad == false;
      case ValueFacts::Kind::kList:
      case ValueFacts::Kind::kTuple:
        return std::all_of(facts.elements.begin(), facts.elements.end(), HasNoGrad);
      default:
        return false;
    }
  }

  template <typename Predicate>
  bool AllTensors(Predicate holds) const {
    for (const Value* input : node_.inputs()) {
      if (IsPlanned(*input)) continue;
      const ValueFacts& facts = facts_of_(*input);
      if (facts.is_tensor() && !holds(facts)) return false;
      if (!facts.is_tensor() && facts.kind != ValueFacts::Kind::kNone && HasMemory(*input->type()) && !IsInts(*input)) {
        if (facts.kind != ValueFacts::Kind::kList) return false;
        for (const ValueFacts& element : facts.elements) {
          if (element.kind != ValueFacts::Kind::kNone && (!element.is_tensor() || !holds(element))) return false;
        }
      }
    }
    return true;
  }

  bool HasElements(const ValueFacts& facts) const {
    return facts.sizes &&
           std::ranges::all_of(*facts.sizes, [this](KnownSize size) { return sizes_.Least(size).value_or(0) >= 1; });
  }

  bool AllPlain() const {
    return AllTensors([](const ValueFacts& facts) { return facts.plain; });
  }
  std::optional<c10::Device> CommonDevice(const ValueFacts& like) const {
    const bool common = AllTensors([&](const ValueFacts& facts) { return facts.device == like.device; });
    return common ? like.device : std::nullopt;
  }

  const Node& node_;
  const std::function<const ValueFacts&(const Value&)>& facts_of_;
  SizeAlgebra& sizes_;
  std::span<ValueFacts> outputs_;
};

// ---- Dtypes; null where not known ----

c10::ScalarType DefaultDtype();
// What operators that always give floating point make of it.
Dtype Floating(Dtype dtype);
Dtype Summed(Dtype dtype);
Dtype DtypeOfNumber(const c10::Type& type);
// What type promotion makes of the inputs numbered; numbers among them count as numbers do.
Dtype Promoted(const Call& call, std::initializer_list<size_t> inputs);
// Of an argument `dtype`: its value, `otherwise` where it is None.
Dtype GivenDtype(const Call& call, Dtype otherwise);
Dtype Same(const ValueFacts& a, const ValueFacts& b);

// ---- Orders in memory ----

// What at::Tensor::suggest_memory_format says of a tensor with these facts; null where that is not known.
std::optional<c10::MemoryFormat> SuggestedFormat(const SizeAlgebra& algebra, const ValueFacts& facts);
// Whether no two strides are the same of a tensor of these sizes that lies exactly in that order, which is known.
bool AreStridesDistinct(const SizeAlgebra& algebra, const KnownSizes& sizes, const StrideOrder& order);
// Of new memory for a result of these sizes whose dimensions are nested as those of an operand that has them all.
StrideOrder OrderOfNew(const SizeAlgebra& algebra, const KnownSizes& sizes, const PartOrder& nested);
// Of new memory for a result that is nested as a tensor with these facts is.
StrideOrder OrderOfNewLike(const SizeAlgebra& algebra, const ValueFacts& facts);
// Of a result in the format that a tensor with these facts suggests, which has as many dimensions, and one element
// along a dimension wherever that has.
StrideOrder OrderOfSuggested(const SizeAlgebra& algebra, const ValueFacts& facts);

// ---- Sizes ----

// Which dimension `dim` is, counted from the end if it is negative; null if it is none.
std::optional<size_t> Dimension(std::optional<int64_t> dim, size_t rank);
std::optional<KnownSizes> Broadcast(SizeAlgebra& algebra, std::optional<KnownSizes> a, std::optional<KnownSizes> b);
std::optional<KnownSizes> UnknownSizes(std::optional<size_t> rank);
// With another size in that dimension; in any, if it is not known which.
std::optional<KnownSizes> WithSize(std::optional<KnownSizes> sizes, std::optional<int64_t> dim, KnownSize size);
// What there is between two places of so many elements, as slices count them; unknown numbers are no places.
KnownSize SizeOfSlice(SizeAlgebra& algebra, KnownSize size, KnownSize start, KnownSize end, KnownSize step);
KnownSize Product(SizeAlgebra& algebra, const KnownSizes& sizes, size_t from, size_t to);

// Whether there is no view of a tensor with these facts in other sizes, so that reshape copies it; false where that is
// not known.
bool IsCopiedByReshape(const ValueFacts& from, const std::vector<int64_t>& sizes);

}  // namespace hearth
