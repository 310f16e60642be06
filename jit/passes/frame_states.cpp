#include "jit/passes/frame_states.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>

#include "jit/analysis/live_values.h"
#include "jit/analysis/node_effects.h"
#include "jit/compiler/compilation.h"
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

// Walks a graph and its copy side by side.
class Inserter {
 public:
  Inserter(const Graph& baseline, Graph& copy, const std::vector<ResumePlace>& anchors)
      : copy_(copy), anchors_(anchors), values_(baseline.value_id_bound()) {
    for (size_t i = 0; i < anchors.size(); ++i) places_.emplace(anchors[i].node, i);
  }

  void Visit(const Block& block, Block& copy) {
    Map(*block.param_node(), *copy.param_node());
    Node* twin = copy.param_node()->next();
    for (const Node* node : block) {
      if (auto found = places_.find(node); found != places_.end()) InsertAnchor(found->second, twin);
      if (ActsOnce(*node)) Insert(kNoAnchor, {}, twin);
      Map(*node, *twin);
      if (!IsClosure(*node)) {
        for (size_t i = 0; i < node->blocks().size(); ++i) Visit(*node->block(i), *twin->block(i));
      }
      twin = twin->next();
    }
    // __exit__ runs at the end of a With's block.
    if (copy.owner() != nullptr && copy.owner()->kind() == sym::kWith) Insert(kNoAnchor, {}, copy.return_node());
  }

 private:
  void Map(const Node& node, const Node& twin) {
    for (size_t i = 0; i < node.outputs().size(); ++i) values_[node.output(i)->id()] = twin.output(i);
  }

  void InsertAnchor(size_t anchor, Node* before) {
    std::vector<Value*> values;
    for (const Value* value : anchors_[anchor].live) values.push_back(values_[value->id()]);
    Insert(static_cast<int64_t>(anchor), values, before);
  }

  void Insert(int64_t anchor, const std::vector<Value*>& values, Node* before) {
    Node* state = copy_.Create(sym::kFrameState, std::span<Value* const>(values), 0);
    state->SetAttribute(sym::kAnchorAttr, anchor);
    state->InsertBefore(before);
    state->SetRange(before->range());
    state->SetInlinedCall(before->inlined_call());
  }

  Graph& copy_;
  const std::vector<ResumePlace>& anchors_;
  std::unordered_map<const Node*, size_t> places_;
  std::vector<Value*> values_;  // by the baseline's Value id
};

}  // namespace

bool ActsOnce(const Node& node) {
  static const Symbol kWait = Symbol::fromQualString("aten::wait");
  static const Symbol kAwaitableWait = Symbol::fromQualString("prim::awaitable_wait");
  const Symbol kind = node.kind();
  if (IsClosure(node) || kind == sym::kStateStep || kind == sym::kWith || kind == kWait || kind == kAwaitableWait) {
    return true;
  }
  const NodeEffects effects = EffectsOf(node);
  return effects.writes || effects.random || effects.seeds || effects.acts || effects.calls;
}

std::vector<ResumePlace> FindAnchors(const Graph& baseline) {
  const std::vector<const Node*> places = Finder().Find(*baseline.block());
  auto live = LiveValuesBefore(baseline, places);
  std::vector<ResumePlace> anchors;
  for (const Node* place : places) anchors.push_back({place, std::move(live.at(place))});
  return anchors;
}

std::unique_ptr<Graph> CloneWithFrameStates(const Graph& baseline, const std::vector<ResumePlace>& anchors) {
  std::unique_ptr<Graph> copy = baseline.Clone();
  Inserter(baseline, *copy, anchors).Visit(*baseline.block(), *copy->block());
  return copy;
}

bool InsertFrameStates(Compilation& compilation) {
  const Graph& baseline = compilation.source();
  const std::vector<ResumePlace>* known = compilation.inputs().anchors;
  compilation.Replace(CloneWithFrameStates(baseline, known != nullptr ? *known : FindAnchors(baseline)));
  return true;
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
