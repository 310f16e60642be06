#include "jit/operators/effects.h"

#include <ATen/core/enum_tag.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <string_view>
#include <unordered_set>

namespace hearth {
namespace {

// Namespaces whose schemas say what the operators write.
bool SchemaIsTrusted(std::string_view ns) {
  static const std::unordered_set<std::string_view> kNamespaces = {
      "aten",   "prim",   "quantized",   "_quantized", "sparse", "prepacked",
      "mkldnn", "onednn", "torchvision", "prims",      "hearth"};
  return kNamespaces.count(ns) != 0;
}

}  // namespace

OperatorEffects AnnouncedEffects(const torch::jit::Operator& op) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& name = schema.name();
  const std::string_view ns = std::string_view(name).substr(0, name.find(':'));

  OperatorEffects effects;
  bool annotated = false;
  for (const c10::Argument& argument : schema.arguments()) {
    if (const c10::AliasInfo* alias = argument.alias_info()) {
      annotated = true;
      effects.writes |= alias->isWrite();
    }
  }
  for (const c10::Argument& result : schema.returns()) effects.may_alias |= result.alias_info() != nullptr;

  const bool conservative = op.aliasAnalysisKind() == c10::AliasAnalysisKind::CONSERVATIVE;
  const bool unknown = !annotated && !SchemaIsTrusted(ns);
  if (conservative || unknown) {
    effects.writes = true;
    effects.may_alias = true;
    effects.has_side_effect = true;
  }
  effects.has_side_effect |= ns == "profiler" || ns == "cuda" || ns == "c10d";
  for (at::Tag tag : op.getTags()) effects.nondeterministic |= tag == at::Tag::nondeterministic_seeded;
  return effects;
}

}  // namespace hearth
