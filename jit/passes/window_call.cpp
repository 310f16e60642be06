#include "jit/passes/window_call.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

std::optional<std::vector<int64_t>> ConstantList(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  return constant != nullptr && constant->isIntList() ? std::optional(constant->toIntVector()) : std::nullopt;
}

}  // namespace

std::optional<WindowCall> WindowCall::Of(const Node& node, const ValueFactTable& facts) {
  if (node.kind() != c10::aten::im2col || node.op() == nullptr) return {};
  const ValueFacts& images = facts.Of(*node.input(0));
  if (!images.is_tensor() || !images.plain || !images.device || !images.device->is_cuda() || !images.dtype ||
      !c10::isFloatingType(*images.dtype))
    return {};
  const auto sizes = ConstantsOf(images.sizes), kernel = ConstantList(*node.input(1)),
             dilation = ConstantList(*node.input(2)), padding = ConstantList(*node.input(3)),
             step = ConstantList(*node.input(4));
  if (!sizes || (sizes->size() != 3 && sizes->size() != 4)) return {};
  for (const auto& list : {kernel, dilation, padding, step}) {
    if (!list || list->size() != 2) return {};
  }
  WindowCall call{};
  if (sizes->size() == 4) call.batch = sizes->front();
  const size_t first = sizes->size() - 3;
  call.channels = (*sizes)[first];
  for (size_t i = 0; i < 2; ++i) {
    const Axis axis{(*sizes)[first + 1 + i], (*kernel)[i], (*dilation)[i], (*padding)[i], (*step)[i]};
    if (axis.kernel < 1 || axis.dilation < 1 || axis.padding < 0 || axis.step < 1 || axis.places() < 1) return {};
    call.axes[i] = axis;
  }
  return call;
}

bool SwapsLastTwo(const Node& node, const ValueFactTable& facts) {
  if (node.op() == nullptr || node.inputs().size() < 2) return false;
  const size_t rank = facts.Of(*node.input(0)).rank().value_or(0);
  if (rank < 2) return false;
  if (node.kind() == c10::aten::transpose && node.inputs().size() == 3) {
    const auto a = Dimension(IntegerOf(*node.input(1)), rank), b = Dimension(IntegerOf(*node.input(2)), rank);
    return a && b && std::minmax(*a, *b) == std::minmax(rank - 2, rank - 1);
  }
  if (node.kind() != c10::aten::permute) return false;
  std::vector<int64_t> swapped(rank);
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[rank - 2], swapped[rank - 1]);
  return ConstantList(*node.input(1)) == swapped;
}

}  // namespace hearth
