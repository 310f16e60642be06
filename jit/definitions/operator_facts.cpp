#include "jit/definitions/operator_facts.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "jit/definitions/definition.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/operators/operator.h"
#include "jit/support/logging.h"

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

// HEARTH_LOG=definitions/operator_facts=debug lists what is missing in the tables.
void NoteMissing(const Node& node) {
  static spdlog::logger& log = LoggerOf("definitions/operator_facts");
  const bool tensors = std::ranges::any_of(
      node.outputs(), [](const Value* output) { return output->type()->kind() == c10::TypeKind::TensorType; });
  if (tensors) log.debug("nothing is known of what {} gives", node.kind().toQualString());
}

// The rules are for names; some overloads are about numbers and lists.
bool Fits(const ValueFacts& facts, const c10::Type& type) {
  switch (facts.kind) {
    case Kind::kTensor:
      return c10::TensorType::get()->isSubtypeOf(type);
    case Kind::kNone:
      return c10::NoneType::get()->isSubtypeOf(type);
    case Kind::kList:
      return type.kind() == c10::TypeKind::ListType;
    case Kind::kInt:
      return type.kind() == c10::TypeKind::IntType;
    default:
      return true;
  }
}

}  // namespace

void InferOperator(const Node& node, const std::function<const ValueFacts&(const Value&)>& facts_of, SizeAlgebra& sizes,
                   std::span<ValueFacts> outputs) {
  Call call(node, facts_of, sizes, outputs);
  const OperatorDefinition& definition = DefinitionOf(node.kind());
  if (outputs.size() == 1 && node.output()->type()->kind() == c10::TypeKind::IntType) {
    if (definition.number == nullptr || node.op()->is_vararg()) return;
    definition.number(call);
    if (call.out().number.is_known()) call.out().kind = Kind::kInt;
    return;
  }
  if (FindInPlace(node.kind()) != nullptr) {
    if (call.is_tensor_type(0)) call.out() = call.in(0);
    return;
  }
  if (definition.facts == nullptr) return NoteMissing(node);
  // Those that write somewhere else (out=) are left alone.
  if (EffectsOf(node).writes || outputs.empty()) return;
  definition.facts(call);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!Fits(outputs[i], *node.output(i)->type())) outputs[i] = {};
  }
}

bool HasFactRule(const Node& node) {
  return node.op() != nullptr && (FindInPlace(node.kind()) != nullptr || DefinitionOf(node.kind()).facts != nullptr);
}

bool KeepsShape(const Node& node) {
  const OperatorDefinition& definition = DefinitionOf(node.kind());
  return FindInPlace(node.kind()) != nullptr ||
         (definition.hides_writes && definition.kind == OperatorClass::kNormalization);
}

}  // namespace hearth
