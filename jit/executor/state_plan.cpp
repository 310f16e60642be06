#include "jit/executor/state_plan.h"

#include <algorithm>
#include <limits>
#include <map>

#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr size_t kEnd = std::numeric_limits<size_t>::max();

// Of one part, in positions of touches.
struct Span {
  size_t first;
  size_t last;
  bool written;
};

size_t Bound(const StateAccess& all) { return std::max(all.reads.bound(), all.writes.bound()); }

std::map<size_t, Span> FindSpans(const MethodState& state) {
  const StateAccess all = state.All();
  std::map<size_t, Span> spans;
  for (size_t part = 0; part < Bound(all); ++part) {
    const auto touches = [&](const StateAccess& access) { return access.reads.Has(part) || access.writes.Has(part); };
    if (!touches(all)) continue;
    Span span{kEnd, 0, all.writes.Has(part)};
    for (size_t i = 0; i < state.touches.size(); ++i) {
      if (!touches(state.touches[i].access)) continue;
      span.first = std::min(span.first, i);
      span.last = i;
    }
    if (touches(state.to_the_end)) span.last = kEnd;
    spans.emplace(part, span);
  }
  return spans;
}

}  // namespace

StatePlan InsertStateSteps(Graph* graph, const MethodState& state) {
  const std::map<size_t, Span> spans = FindSpans(state);
  // Where steps stand: before a touched node, or after the last touch of something.
  std::map<std::pair<size_t, bool>, StateAccess> steps;  // (touch, after it?) -> what is taken
  for (const auto& [part, span] : spans) {
    StateAccess& taken = steps[{span.first, false}];
    (span.written ? taken.writes : taken.reads).Add(part);
    if (span.last != kEnd) steps[{span.last, true}];
  }

  StatePlan plan;
  const Node* previous_end = nullptr;
  for (const auto& [place, taken] : steps) {
    const auto& [touch, after] = place;
    auto* node = const_cast<Node*>(state.touches[touch].node);
    StatePlan::Step step{taken, {}};
    for (const auto& [part, span] : spans) {
      const bool given_back = after ? span.last <= touch : span.last < touch;
      if (!given_back) (span.written ? step.remaining.writes : step.remaining.reads).Add(part);
    }
    // What is given back right before something is taken up needs no step of its own.
    if (!after && previous_end != nullptr && previous_end->next() == node) {
      plan.steps.back() = std::move(step);
      previous_end = nullptr;
      continue;
    }
    Node* mark = graph->Create(sym::kStateStep, {}, 0);
    mark->SetAttribute(sym::kStepAttr, static_cast<int64_t>(plan.steps.size()));
    mark->SetRange(node->range());
    mark->SetInlinedCall(node->inlined_call());
    after ? mark->InsertAfter(node) : mark->InsertBefore(node);
    previous_end = after ? mark : nullptr;
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

}  // namespace hearth
