#include "jit/state_order/state_plan.h"

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

std::map<size_t, Span> FindSpans(const MethodState& state) {
  const StateAccess all = state.All();
  std::map<size_t, Span> spans;
  for (const size_t part : all.Touched()) {
    const auto touches = [&](const StateAccess& access) { return access.reads.Has(part) || access.writes.Has(part); };
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

StateParts Only(const StateParts& parts, bool generators) {
  StateParts only;
  for (const size_t part : parts) {
    if ((part == kGenerators) == generators) only.Add(part);
  }
  return only;
}

std::vector<StatePlan::Step> Only(const std::vector<StatePlan::Step>& steps, bool generators) {
  const auto only = [&](const StateAccess& access) {
    return StateAccess{Only(access.reads, generators), Only(access.writes, generators)};
  };
  std::vector<StatePlan::Step> parted;
  for (const StatePlan::Step& step : steps) parted.push_back({only(step.taken), only(step.remaining)});
  if (std::ranges::all_of(parted, [](const StatePlan::Step& step) { return step.remaining.empty(); })) parted.clear();
  return parted;
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

  std::vector<StatePlan::Step> plan;
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
      plan.back() = std::move(step);
      previous_end = nullptr;
      continue;
    }
    Node* mark = graph->Create(sym::kStateStep, {}, 0);
    mark->SetAttribute(sym::kStepAttr, static_cast<int64_t>(plan.size()));
    mark->SetRange(node->range());
    mark->SetInlinedCall(node->inlined_call());
    after ? mark->InsertAfter(node) : mark->InsertBefore(node);
    previous_end = after ? mark : nullptr;
    plan.push_back(std::move(step));
  }
  return {Only(plan, false), Only(plan, true)};
}

}  // namespace hearth
