#include "jit/analysis/loop_size.h"

#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr int64_t kMaxRounds = 64;
constexpr size_t kMaxNodesOfLoop = 512;

bool IsTrue(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  return constant != nullptr && constant->isBool() && constant->toBool();
}

}  // namespace

size_t NumNodes(const Block& block) {
  size_t count = 0;
  for (const Node* node : block) {
    if (node->kind() != sym::kConstant && node->kind() != sym::kFrameState) ++count;
    for (const Block* inner : node->blocks()) count += NumNodes(*inner);
  }
  return count;
}

size_t NodesAdded(const Block& body, int64_t rounds) { return NumNodes(body) * static_cast<size_t>(rounds - 1); }

bool MayUnroll(const Node& loop, int64_t rounds) {
  if (loop.kind() != sym::kLoop || !IsTrue(*loop.input(1)) || rounds <= 0 || rounds > kMaxRounds) return false;
  if (rounds == 1) return true;
  const Block& body = *loop.block(0);
  return IsTrue(*body.returns()[0]) && NumNodes(body) + NodesAdded(body, rounds) <= kMaxNodesOfLoop;
}

}  // namespace hearth
