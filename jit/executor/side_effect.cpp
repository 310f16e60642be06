#include "jit/executor/side_effect.h"

#include <algorithm>

#include "jit/definitions/node_effects.h"
#include "jit/interpreter/bailout_record.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

std::string At(const Node& node) {
  const std::string place = PlaceOf(node.range());
  return std::string(" (") + node.kind().toQualString() + (place.empty() ? "" : " at " + place) + ")";
}

bool WritesModel(const StateAccess& access) {
  return std::ranges::any_of(access.writes, [](size_t part) { return part != kGenerators; });
}

// The first node, in the order of the text, that has such an effect by itself or by what it calls.
const Node* FindNode(const Block& block, const UnitEffects& effects, bool FunctionEffects::*effect) {
  for (const Node* node : block) {
    const NodeEffects own = EffectsOf(*node);
    FunctionEffects of_node{.random = own.random, .seeds = own.seeds, .acts = own.acts};
    if (own.calls) {
      const FunctionEffects of_callee = effects.OfCall(*node);
      of_node.writes_constants = of_callee.writes_constants;
      of_node.random |= of_callee.random;
      of_node.seeds |= of_callee.seeds;
      of_node.acts |= of_callee.acts;
    }
    if (of_node.*effect) return node;
    for (const Block* nested : node->blocks()) {
      if (const Node* inner = FindNode(*nested, effects, effect)) return inner;
    }
  }
  return nullptr;
}

}  // namespace

std::string StateWriteOf(const MethodState& state) {
  for (const MethodState::Touch& touch : state.touches) {
    if (WritesModel(touch.access)) return "writes the model's state" + At(*touch.node);
  }
  return WritesModel(state.to_the_end) ? "writes the model's state in a fork" : "";
}

std::string SideEffectOf(const Graph& graph, const UnitEffects& effects) {
  struct Kind {
    bool FunctionEffects::*effect;
    const char* text;
  };
  constexpr Kind kKinds[] = {{&FunctionEffects::random, "draws random numbers"},
                             {&FunctionEffects::seeds, "seeds the random generators"},
                             {&FunctionEffects::acts, "may print, warn or change global state"},
                             {&FunctionEffects::writes_constants, "writes a constant of its code"}};
  for (const Kind& kind : kKinds) {
    if (const Node* node = FindNode(*graph.block(), effects, kind.effect)) return kind.text + At(*node);
  }
  return effects.Of(graph).writes_constants ? "writes a constant of its code" : "";
}

std::string ReasonNotToRecord(const Graph& graph, const UnitEffects& effects) {
  if (std::string effect = SideEffectOf(graph, effects); !effect.empty()) return effect;
  if (effects.WritesArguments(graph)) return "writes its arguments";
  if (Contains(*graph.block(), sym::kFork)) return "forks";
  return MayRecordGradients(*graph.block()) ? "may record gradients" : "";
}

}  // namespace hearth
