#include "jit/analysis/argument_facts.h"

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

// A spec tells the format of a tensor, and of which dimensions the strides may be any.
StrideOrder OrderOfArgument(const TensorFacts& tensor) {
  bool exact = true;
  for (size_t i = 0; i < *tensor.rank; ++i) exact &= tensor.size_classes[i] >= SizeClass::kSeveral;
  if (tensor.layout_class == LayoutClass::kContiguous) return StrideOrder::Default(exact);
  if (tensor.layout_class == LayoutClass::kChannelsLast) return StrideOrder::ChannelsLast(exact);
  if (tensor.layout_class == LayoutClass::kChannelsLast3d) return StrideOrder::ChannelsLast3d(exact);
  return {};
}

}  // namespace

ValueFacts FactsOfArgument(const ArgumentFacts& argument) {
  ValueFacts facts;
  switch (argument.kind) {
    case ArgumentKind::kNone:
      facts.kind = Kind::kNone;
      break;
    case ArgumentKind::kInt:
      facts.kind = Kind::kInt;
      break;
    case ArgumentKind::kFloat:
      facts.kind = Kind::kFloat;
      break;
    case ArgumentKind::kBool:
      facts.kind = Kind::kBool;
      break;
    case ArgumentKind::kString:
      facts.kind = Kind::kString;
      break;
    case ArgumentKind::kTensor: {
      facts.kind = Kind::kTensor;
      const TensorFacts& tensor = argument.tensor;
      if (tensor.keys || tensor.layout != c10::kStrided || tensor.is_wrapped_number || !tensor.rank) break;
      facts.plain = true;
      if (tensor.dtype != c10::ScalarType::Undefined) facts.dtype = tensor.dtype;
      facts.device = tensor.device;
      facts.requires_grad = tensor.requires_grad;
      facts.order = OrderOfArgument(tensor);
      facts.suggested_format = tensor.suggested_format;
      facts.sizes.emplace(*tensor.rank, KnownSize());
      for (size_t i = 0; i < *tensor.rank; ++i) {
        if (const SizeClass size = tensor.size_classes[i]; size < SizeClass::kSeveral)
          (*facts.sizes)[i] = LeastOf(size);
        if (tensor.sizes && (*tensor.sizes)[i] >= 0) (*facts.sizes)[i] = (*tensor.sizes)[i];
      }
      break;
    }
    case ArgumentKind::kList:
    case ArgumentKind::kTuple:
      if (!argument.length) break;
      facts.kind = argument.kind == ArgumentKind::kList ? Kind::kList : Kind::kTuple;
      if (argument.contained == c10::TypeKind::IntType) {
        facts.sizes.emplace(*argument.length, KnownSize());
      } else {
        facts.elements.resize(*argument.length);
        for (size_t i = 0; i < argument.elements.size(); ++i) facts.elements[i] = FactsOfArgument(argument.elements[i]);
      }
      break;
    default:
      break;
  }
  return facts;
}

}  // namespace hearth
