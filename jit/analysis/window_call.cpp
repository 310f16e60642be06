#include "jit/analysis/window_call.h"

#include <cstddef>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/swapped_dimensions.h"
#include "jit/ir/symbols.h"

namespace hearth {
std::optional<WindowCall> WindowCall::Of(const Node& node, const ValueFactTable& facts) {
  if (node.kind() != c10::aten::im2col || node.op() == nullptr) return {};
  const ValueFacts& images = facts.Of(*node.input(0));
  if (!images.is_tensor() || !images.plain || !images.device || !images.device->is_cuda() || !images.dtype ||
      !c10::isFloatingType(*images.dtype))
    return {};
  const auto sizes = ConstantsOf(images.sizes), kernel = IntegersOf(*node.input(1)),
             dilation = IntegersOf(*node.input(2)), padding = IntegersOf(*node.input(3)),
             step = IntegersOf(*node.input(4));
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
  const size_t rank = node.inputs().empty() ? 0 : facts.Of(*node.input(0)).rank().value_or(0);
  return rank >= 2 && SwapsDimensions(node, rank, rank - 2, rank - 1);
}

}  // namespace hearth
