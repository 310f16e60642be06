#include "jit/passes/unroll_loops.h"

#include <optional>
#include <vector>

#include "jit/analysis/node_effects.h"
#include "jit/compiler/compilation.h"
#include "jit/ir/symbols.h"

namespace hearth {

size_t NumNodes(const Block& block) {
  size_t count = 0;
  for (const Node* node : block) {
    if (node->kind() != sym::kConstant && node->kind() != sym::kFrameState) ++count;
    for (const Block* inner : node->blocks()) count += NumNodes(*inner);
  }
  return count;
}

namespace {

constexpr int64_t kMaxRounds = 64;
constexpr size_t kMaxNodesOfLoop = 512;
constexpr size_t kMaxNodesAdded = 4096;

bool IsTrue(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  return constant != nullptr && constant->isBool() && constant->toBool();
}

size_t NodesAdded(const Block& body, int64_t rounds) { return NumNodes(body) * static_cast<size_t>(rounds - 1); }

}  // namespace

bool MayUnroll(const Node& loop, int64_t rounds) {
  if (loop.kind() != sym::kLoop || !IsTrue(*loop.input(1)) || rounds <= 0 || rounds > kMaxRounds) return false;
  if (rounds == 1) return true;
  const Block& body = *loop.block(0);
  return IsTrue(*body.returns()[0]) && NumNodes(body) + NodesAdded(body, rounds) <= kMaxNodesOfLoop;
}

namespace {

class Unroller {
 public:
  explicit Unroller(Graph& graph) : graph_(graph) { Walk(graph.block()); }
  bool changed() const { return changed_; }

 private:
  void Walk(Block* block) {
    for (Node* node = block->param_node()->next(); node != block->return_node();) {
      if (const std::optional<int64_t> rounds = RoundsToUnroll(*node)) {
        Node* before = node->prev();
        Unroll(node, *rounds);
        node = before->next();
        continue;
      }
      for (Block* inner : node->blocks()) Walk(inner);
      node = node->next();
    }
  }

  std::optional<int64_t> RoundsToUnroll(const Node& node) {
    if (node.kind() != sym::kLoop) return {};
    const c10::IValue* trips = ConstantOf(*node.input(0));
    if (trips == nullptr || !MayUnroll(node, trips->toInt())) return {};
    const int64_t rounds = trips->toInt();
    const size_t added = NodesAdded(*node.block(0), rounds);
    if (added_ + added > kMaxNodesAdded) return {};
    added_ += added;
    return rounds;
  }

  void Unroll(Node* loop, int64_t rounds) {
    const InsertionGuard at(&graph_, loop);
    const Block& body = *loop->block(0);
    std::vector<Value*> values(loop->inputs().begin() + 1, loop->inputs().end());
    for (int64_t round = 0; round < rounds; ++round) {
      values[0] = graph_.InsertConstant(round);
      values[0]->node()->SetRange(loop->range());
      values = graph_.CopyBlock(body, values);
    }
    for (size_t i = 0; i < loop->outputs().size(); ++i) loop->output(i)->ReplaceAllUsesWith(values[i + 1]);
    loop->Destroy();
    changed_ = true;
  }

  Graph& graph_;
  size_t added_ = 0;
  bool changed_ = false;
};

}  // namespace

bool UnrollLoops(Compilation& compilation) { return Unroller(compilation.graph()).changed(); }

}  // namespace hearth
