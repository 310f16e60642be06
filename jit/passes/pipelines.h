// The readable list of what each tier does to a graph, in order. A newcomer to the compiler reads pipelines.cpp first.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/ir/graph.h"

namespace hearth {

class DerivedConstantTable;
struct ProfileClaims;
class UnitEffects;  // jit/analysis/effects.h: what the methods of one CompilationUnit write

struct BaselineOptions {
  // The object that `self` (the graph's first input) is bound to: its attributes that nothing assigns become constants.
  // The input stays, unused if everything could be bound. Null leaves self as it is.
  c10::intrusive_ptr<c10::ivalue::Object> self;
  // Effects of the whole unit; must not be null where self is given.
  const UnitEffects* effects = nullptr;
  // Where given, devices written as literals in the code become this one (an archive traced on one device and served on
  // another).
  std::optional<c10::Device> device;
  // Calls are inlined until the graph has this many nodes.
  size_t node_budget = 20000;
};

// The baseline graph of a function: inlined, frozen, cleaned; cheap to make and always valid. `emitted` is not changed;
// its unit must stay alive as long as the result.
std::unique_ptr<Graph> BuildBaseline(const Graph& emitted, const BaselineOptions& options);

struct PlanOptions {
  std::span<const ArgumentFacts> arguments;  // one for each input, or none at all
  const UnitEffects* effects = nullptr;      // as in BaselineOptions
  // What is computed from weights beforehand; shared by the model's plans. Null: some method may write the memory of
  // constants, so nothing is.
  DerivedConstantTable* derived = nullptr;
  // What may be taken for granted behind guards; null: nothing.
  const ProfileClaims* claims = nullptr;
  // Told each pass before it begins, and again after each constant that it makes; may be empty. What it throws ends the
  // work.
  std::function<void(std::string_view pass)> begin = {};
};

struct PlanReport {
  std::vector<size_t> questions;  // as in specialize_profile.h
  bool lacks_room = false;        // `derived` had none for a constant that it would have
};

// Tier 1: makes a plan better, for calls whose arguments have these facts. `plan` is a baseline graph with its
// FrameStates (frame_states.h).
PlanReport OptimizePlan(Graph& plan, const PlanOptions& options);

}  // namespace hearth
