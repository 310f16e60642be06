#include "jit/passes/unroll_loops.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/analysis/loop_size.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr size_t kMaxUnrolledNodes = 4096;

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
    if (added_ + added > kMaxUnrolledNodes) return {};
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
