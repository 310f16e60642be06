#include "jit/analysis/anchors.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// ActsOnce of what is in its blocks too.
class Effects {
 public:
  bool Contains(const Node& node) {
    if (auto found = known_.find(&node); found != known_.end()) return found->second;
    bool contains = ActsOnce(node);
    if (!IsClosure(node)) {
      for (const Block* block : node.blocks()) contains |= Contains(*block);
    }
    known_.emplace(&node, contains);
    return contains;
  }
  bool Contains(const Block& block) {
    bool contains = false;
    for (const Node* node : block) contains |= Contains(*node);
    return contains;
  }

 private:
  std::unordered_map<const Node*, bool> known_;
};

class Finder {
 public:
  std::vector<const Node*> Find(const Block& top) {
    Begin(top);
    Visit(top);
    return std::move(places_);
  }

 private:
  // At the end of a block there is nothing left that could fail.
  void Put(const Node* next) {
    if (next->kind() != sym::kReturn) places_.push_back(next);
  }
  void Begin(const Block& block) { Put(block.param_node()->next()); }

  void Visit(const Block& block) {
    for (const Node* node : block) {
      if (!effects_.Contains(*node)) continue;
      if (!IsClosure(*node)) {
        for (const Block* inner : node->blocks()) {
          if (node->kind() == sym::kWith || node->kind() == sym::kLoop) Begin(*inner);
          Visit(*inner);
        }
      }
      Put(node->next());
    }
  }

  Effects effects_;
  std::vector<const Node*> places_;
};

}  // namespace

bool ActsOnce(const Node& node) {
  const Symbol kind = node.kind();
  if (IsClosure(node) || kind == sym::kStateStep || kind == sym::kWith || kind == c10::aten::wait ||
      kind == c10::prim::awaitable_wait) {
    return true;
  }
  const NodeEffects effects = EffectsOf(node);
  return effects.writes || effects.random || effects.seeds || effects.acts || effects.calls;
}

std::vector<ResumePlace> FindAnchors(const Graph& baseline, const Liveness& liveness) {
  const std::vector<const Node*> places = Finder().Find(*baseline.block());
  auto live = liveness.LiveBefore(places);
  std::vector<ResumePlace> anchors;
  for (const Node* place : places) anchors.push_back({place, std::move(live.at(place))});
  return anchors;
}

bool ContainsFrameState(const Node& node) {
  return std::ranges::any_of(node.blocks(), [](const Block* block) { return Contains(*block, sym::kFrameState); });
}

bool IsCovered(const Node& place) {
  for (const Node* node = place.prev(); node->kind() != sym::kParam; node = node->prev()) {
    if (node->kind() == sym::kFrameState) return node->attribute<int64_t>(sym::kAnchorAttr) != kNoAnchor;
    if (ContainsFrameState(*node)) return false;
  }
  const Node* around = place.block()->owner();
  if (around == nullptr || IsClosure(*around) || around->kind() == sym::kWith) return false;
  // A later round begins where the one before it ended.
  if (around->kind() == sym::kLoop && ContainsFrameState(*around)) return false;
  return IsCovered(*around);
}

}  // namespace hearth
