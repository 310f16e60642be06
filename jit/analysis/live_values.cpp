#include "jit/analysis/live_values.h"

#include <set>
#include <unordered_set>

#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

struct ById {
  bool operator()(const Value* a, const Value* b) const { return a->id() < b->id(); }
};
using Live = std::set<const Value*, ById>;

void Add(const Value* value, Live& live) {
  const Symbol kind = value->node()->kind();
  if (kind != sym::kConstant && kind != sym::kUninitialized) live.insert(value);
}

class Walk {
 public:
  explicit Walk(std::span<const Node* const> places) : places_(places.begin(), places.end()) {}

  // Turns what is live after `block` into what is live before it.
  void VisitBlock(const Block& block, Live& live) {
    for (const Value* value : block.returns()) Add(value, live);
    Remember(block.return_node(), live);
    for (const Node* node = block.return_node()->prev(); node != block.param_node(); node = node->prev()) {
      for (const Value* output : node->outputs()) live.erase(output);
      VisitNode(*node, live);
      for (const Value* input : node->inputs()) Add(input, live);
      Remember(node, live);
    }
    for (const Value* param : block.params()) live.erase(param);
  }

  std::unordered_map<const Node*, std::vector<const Value*>> TakeFound() { return std::move(found_); }

 private:
  void Remember(const Node* node, const Live& live) {
    if (places_.count(node) != 0) found_.emplace(node, std::vector<const Value*>(live.begin(), live.end()));
  }

  void VisitNode(const Node& node, Live& live) {
    if (node.blocks().empty() || IsClosure(node)) return;
    if (node.kind() == sym::kLoop) {
      // Whatever the body reads from outside is read again in the next round.
      const Block& body = *node.block(0);
      AddOutsideReads(body, body, live);
      Add(node.input(0), live);
      Live inside = live;
      inside.insert(body.param(0));
      VisitBlock(body, inside);
      return;
    }
    Live before = live;
    for (const Block* block : node.blocks()) {
      Live inside = live;
      VisitBlock(*block, inside);
      before.merge(inside);
    }
    live = std::move(before);
  }

  void AddOutsideReads(const Block& block, const Block& body, Live& live) {
    const auto add = [&](const Node* node) {
      for (const Value* input : node->inputs()) {
        if (!IsWithin(*input->node(), body)) Add(input, live);
      }
    };
    for (const Node* node : block) {
      add(node);
      if (IsClosure(*node)) continue;
      for (const Block* inner : node->blocks()) AddOutsideReads(*inner, body, live);
    }
    add(block.return_node());
  }

  static bool IsWithin(const Node& node, const Block& body) {
    for (const Block* block = node.block(); block != nullptr;) {
      if (block == &body) return true;
      block = block->owner() != nullptr ? block->owner()->block() : nullptr;
    }
    return false;
  }

  std::unordered_set<const Node*> places_;
  std::unordered_map<const Node*, std::vector<const Value*>> found_;
};

}  // namespace

std::unordered_map<const Node*, std::vector<const Value*>> LiveValuesBefore(const Graph& graph,
                                                                            std::span<const Node* const> places) {
  Walk walk(places);
  Live live;
  walk.VisitBlock(*graph.block(), live);
  return walk.TakeFound();
}

}  // namespace hearth
