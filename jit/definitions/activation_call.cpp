#include "jit/definitions/activation_call.h"

#include "jit/definitions/node_effects.h"
#include "jit/operators/operator.h"

namespace hearth {

std::string EpilogueOf(const Node& node) {
  if (node.op() == nullptr || !node.op()->schema().overload_name().empty() || node.outputs().size() != 1) return {};
  const OperatorDefinition* in_place = FindInPlace(node.kind());
  const OperatorDefinition& definition = in_place != nullptr ? *in_place : DefinitionOf(node.kind());
  std::string name(definition.epilogue);
  if (name != "gelu") return name;
  const c10::IValue* approximation = ConstantOf(*node.input(1));
  if (approximation == nullptr || !approximation->isString()) return {};
  return approximation->toStringRef() == "tanh" ? "gelu_tanh" : name;
}

}  // namespace hearth
