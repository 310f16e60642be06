#include "jit/analysis/swapped_dimensions.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/definitions/fact_rules.h"
#include "jit/ir/symbols.h"

namespace hearth {

bool SwapsDimensions(const Node& node, size_t rank, size_t first, size_t second) {
  if (node.kind() == c10::aten::transpose && node.inputs().size() == 3) {
    const std::optional<size_t> a = Dimension(IntegerOf(*node.input(1)), rank),
                                b = Dimension(IntegerOf(*node.input(2)), rank);
    return (a == first && b == second) || (a == second && b == first);
  }
  const auto dims = node.kind() == c10::aten::permute ? IntegersOf(*node.input(1)) : std::nullopt;
  if (!dims || dims->size() != rank) return false;
  for (size_t i = 0; i < rank; ++i) {
    const size_t expected = i == first ? second : i == second ? first : i;
    if (Dimension((*dims)[i], rank) != expected) return false;
  }
  return true;
}

}  // namespace hearth
