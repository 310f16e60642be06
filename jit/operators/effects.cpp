// What operators do beside computing: from schemas where they can be trusted, from the lists here where they cannot.
#include "jit/operators/effects.h"

#include <ATen/core/enum_tag.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <string_view>
#include <unordered_set>

namespace hearth {
namespace {

// They update running statistics in place and do not say so.
bool WritesUnannounced(std::string_view name) {
  static const std::unordered_set<std::string_view> kNames = {
      "aten::batch_norm",       "aten::native_batch_norm", "aten::_batch_norm_impl_index",
      "aten::cudnn_batch_norm", "aten::miopen_batch_norm", "aten::instance_norm",
      "aten::rnn_tanh_cell_",   "aten::fake_quantize",     "aten::fused_moving_avg_obs_fake_quant"};
  return kNames.count(name) != 0;
}

// They act on the world outside their arguments: output, errors by design, global state, time, other threads.
bool ActsOutside(std::string_view name) {
  static const std::unordered_set<std::string_view> kNames = {"prim::Print",
                                                              "prim::RaiseException",
                                                              "aten::warn",
                                                              "aten::save",
                                                              "aten::manual_seed",
                                                              "aten::set_grad_enabled",
                                                              "aten::wait",
                                                              "aten::seed",
                                                              "prim::AddStatValue",
                                                              "prim::TimePoint",
                                                              "aten::_assert_async",
                                                              "aten::_assert_tensor_metadata",
                                                              "aten::backward",
                                                              "prim::awaitable_wait",
                                                              "aten::set_data",
                                                              "prim::BroadcastMKLDNNTensors",
                                                              "aten::grad",
                                                              "prim::rpc_async",
                                                              "aten::requires_grad_",
                                                              "aten::_assert_scalar",
                                                              "prim::is_grad_enabled",
                                                              "aten::is_grad_enabled",
                                                              "aten::initial_seed",
                                                              "aten::sym_constrain_range"};
  return kNames.count(name) != 0;
}

// Namespaces whose schemas say what the operators write.
bool SchemaIsTrusted(std::string_view ns) {
  static const std::unordered_set<std::string_view> kNamespaces = {
      "aten",   "prim",   "quantized",   "_quantized", "sparse", "prepacked",
      "mkldnn", "onednn", "torchvision", "prims",      "hearth"};
  return kNamespaces.count(ns) != 0;
}

}  // namespace

OperatorEffects EffectsOf(const torch::jit::Operator& op) {
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
  effects.writes |= WritesUnannounced(name);
  effects.has_side_effect |= ActsOutside(name) || ns == "profiler" || ns == "cuda" || ns == "c10d";
  for (at::Tag tag : op.getTags()) effects.nondeterministic |= tag == at::Tag::nondeterministic_seeded;
  return effects;
}

}  // namespace hearth
