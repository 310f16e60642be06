#include "jit/passes/prepare_calls.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/analysis/fact_queries.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/libraries/convolution.h"
#include "jit/libraries/product.h"
#include "jit/support/operator_threads.h"

namespace hearth {
namespace {

// The last operands of such a node: its input, the call, the bias, the epilogue.
constexpr size_t kOperands = 4;

void PrepareConvolution(Compilation& compilation, const Node& node) {
  const size_t first = node.inputs().size() - kOperands;
  const auto* planned = libraries::Convolution::Unwrap(*ConstantOf(*node.input(first + 1)));
  ValueFactTable& facts = compilation.facts();
  const std::optional<std::vector<int64_t>> sizes = LikelySizes(facts.sizes(), facts.Of(*node.input(first)).sizes);
  if (planned == nullptr || !sizes) return;
  const bool has_bias = node.input(first + 2)->type()->kind() != c10::TypeKind::NoneType;
  planned->Prepare(*sizes, has_bias, ConstantOf(*node.input(first + 3))->toStringRef());
  compilation.Rest();
}

void PrepareLinear(Compilation& compilation, const Node& node) {
  const auto* planned = libraries::Product::Unwrap(*ConstantOf(*node.input(2)));
  const std::optional<int64_t> rows = LikelyRows(compilation.facts(), *node.input(0));
  if (planned == nullptr || !rows) return;
  const bool has_bias = node.input(3)->type()->kind() != c10::TypeKind::NoneType;
  planned->Prepare(*rows, has_bias, ConstantOf(*node.input(4))->toStringRef());
  compilation.Rest();
}

bool IsConvolution(const Node& node) { return node.kind() == sym::kConvolution || node.kind() == sym::kAddConvolution; }
bool IsPlannedCall(const Node& node) { return IsConvolution(node) || node.kind() == sym::kLinear; }

void PrepareCallsOf(Compilation& compilation, const Block& block) {
  for (const Node* node : block) {
    if (IsClosure(*node)) continue;
    for (const Block* nested : node->blocks()) PrepareCallsOf(compilation, *nested);
    if (IsConvolution(*node)) PrepareConvolution(compilation, *node);
    if (node->kind() == sym::kLinear) PrepareLinear(compilation, *node);
  }
}

}  // namespace

bool PrepareCalls(Compilation& compilation) {
  const Block& block = *compilation.source().block();
  if (!AnyNode(block, IsPlannedCall)) return false;
  // Runs have fewer threads where there are several at once.
  for (const int threads : OperatorThreadCounts(compilation.target().threads)) {
    AsIfOnThreads(threads, [&] { PrepareCallsOf(compilation, block); });
  }
  return false;
}

}  // namespace hearth
