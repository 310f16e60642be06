#include "jit/definitions/operator_facts.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>

#include "jit/definitions/fact_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/operators/operator.h"
#include "jit/support/logging.h"

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

const FactRules& Rules() {
  static const FactRules kRules = [] {
    FactRules rules;
    AddElementwiseRules(rules);
    AddViewRules(rules);
    AddLayerRules(rules);
    AddImageRules(rules);
    AddMakingRules(rules);
    return rules;
  }();
  return kRules;
}

// What is asked of lists of ints and what gives ints goes by other rules than what gives tensors under the same name.
const FactRules& NumberRules() {
  static const FactRules kRules = [] {
    FactRules rules;
    AddNumberRules(rules);
    return rules;
  }();
  return kRules;
}

// Those that write their first argument and give it back.
const std::unordered_set<Symbol>& WritersInPlace() {
  static const std::unordered_set<Symbol> kSymbols = [] {
    std::unordered_set<Symbol> symbols;
    std::string_view names =
        "abs add addcdiv addcmul addmm baddbmm bernoulli bitwise_and bitwise_or ceil celu clamp "
        "clamp_max clamp_min clip copy cos div dropout elu eq erf exp fill floor floor_divide fmod "
        "ge gt hardsigmoid hardswish hardtanh index_add index_copy index_fill index_put le "
        "leaky_relu log logical_and logical_not logical_or lt masked_fill masked_scatter mish mul "
        "ne neg normal pow reciprocal relu relu6 remainder round rsqrt scatter scatter_add selu "
        "sigmoid sign silu sin softmax sqrt square sub tanh threshold tril triu trunc uniform zero";
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      symbols.insert(Symbol::fromQualString("aten::" + std::string(name) + "_"));
    }
    return symbols;
  }();
  return kSymbols;
}

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
  if (outputs.size() == 1 && node.output()->type()->kind() == c10::TypeKind::IntType) {
    const FactRule rule = NumberRules().Find(node.kind());
    if (rule == nullptr || node.op()->is_vararg()) return;
    rule(call);
    if (call.out().number.is_known()) call.out().kind = Kind::kInt;
    return;
  }
  if (WritersInPlace().count(node.kind()) != 0) {
    if (call.is_tensor_type(0)) call.out() = call.in(0);
    return;
  }
  const FactRule rule = Rules().Find(node.kind());
  if (rule == nullptr || node.op()->is_vararg()) return NoteMissing(node);
  // Those that write somewhere else (out=) are left alone.
  if (EffectsOf(node).writes || outputs.empty()) return;
  rule(call);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!Fits(outputs[i], *node.output(i)->type())) outputs[i] = {};
  }
}

bool HasFactRule(const Node& node) {
  return node.op() != nullptr && (WritersInPlace().count(node.kind()) != 0 || Rules().Find(node.kind()) != nullptr);
}

bool KeepsShape(const Node& node) {
  static const std::unordered_set<Symbol> kNorms = {Symbol::fromQualString("aten::batch_norm"),
                                                    Symbol::fromQualString("aten::instance_norm"),
                                                    Symbol::fromQualString("aten::native_batch_norm")};
  return WritersInPlace().count(node.kind()) != 0 || kNorms.count(node.kind()) != 0;
}

}  // namespace hearth
