#include "jit/analysis/program_order.h"

#include "jit/ir/symbols.h"

namespace hearth {

ProgramOrder::ProgramOrder(const Graph& graph) { Number(*graph.block()); }

void ProgramOrder::Number(const Block& block) {
  for (const Node* node : block) {
    const size_t begin = next_++;
    for (const Block* inner : node->blocks()) Number(*inner);
    places_[node] = {begin, next_++};
  }
  places_[block.return_node()] = {next_, next_};
  ++next_;
}

bool ProgramOrder::AreExclusive(const Node& a, const Node& b) {
  for (const Block* of_a = a.block(); of_a->owner() != nullptr; of_a = of_a->owner()->block()) {
    const Node* branch = of_a->owner();
    if (branch->kind() != sym::kIf) continue;
    for (const Block* of_b = b.block(); of_b->owner() != nullptr; of_b = of_b->owner()->block()) {
      if (of_b->owner() == branch) return of_a != of_b;
    }
  }
  return false;
}

bool IsSameRound(const Block& inner, const Block& outer) {
  for (const Block* block = &inner; block != &outer; block = block->owner()->block()) {
    if (block->owner() == nullptr || block->owner()->kind() != sym::kIf) return false;
  }
  return true;
}

}  // namespace hearth
