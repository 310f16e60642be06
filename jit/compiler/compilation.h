// One graph on its way to becoming code: the graph and all that passes (pass.h) know beside it. A pass is a function
// `bool Name(Compilation&)` that changes the graph, or puts another one in its place, and says whether it did.
//
// Analyses of the graph are computed when a pass asks for one and kept until a pass changes the graph that does not
// preserve them. Within a pass they are those of the graph as it was when the pass asked first; each analysis says what
// changes it bears. Symbolic sizes live as long as the graph's Values: the same size of the same Value is the same atom
// in all passes.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/analysis/argument_spec.h"
#include "jit/analysis/liveness.h"
#include "jit/analysis/pure_forks.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/value_profile.h"
#include "jit/analysis/written_memory.h"
#include "jit/compiler/pass.h"
#include "jit/compiler/profile_claims.h"
#include "jit/compiler/report.h"
#include "jit/compiler/target.h"
#include "jit/definitions/size_algebra.h"
#include "jit/ir/graph.h"
#include "jit/weights/derived_constants.h"

namespace hearth {

class UnitEffects;
namespace fuser {
class KernelSource;
}

// What a compilation is given; all that it points to must outlive it.
struct CompilationInputs {
  Target target = Target::Host();
  // What the functions of the graph's unit do. Null, where an archive is still being loaded: anything.
  const UnitEffects* effects = nullptr;

  // ---- For a baseline ----
  // The object that the graph's first input is bound to: its attributes that nothing assigns become constants. The
  // input stays, unused if everything could be bound. Null leaves it as it is; else there are `effects`.
  c10::intrusive_ptr<c10::ivalue::Object> self = nullptr;
  // Where given, devices written as literals in the code become this one (an archive traced on one device and served on
  // another).
  std::optional<c10::Device> literal_device = {};
  // Calls are inlined until the graph has this many nodes.
  size_t node_budget = 20000;

  // ---- For a plan ----
  std::vector<ArgumentFacts> arguments = {};  // one for each input, or none at all
  // Where a plan of this graph may hand its run to the baseline, as FindAnchors gives them; null: not known yet.
  const std::vector<ResumePlace>* anchors = nullptr;
  // What a run's sample is told, as FindProfileSites gives it; null: not known yet.
  const std::vector<ProfileSite>* sites = nullptr;
  // What runs of any method may do to the tensors that are constants here.
  StateWrites state_writes = {};
  // What is computed from weights beforehand; shared by the model's plans. Null: nothing is, as where some method may
  // write the memory of constants.
  DerivedConstantTable* weights = nullptr;
  // Where the code of fused kernels comes from. Null: nothing is fused.
  fuser::KernelSource* kernels = nullptr;
  // Whether a kernel that has no code yet is made at once. Otherwise the report says which ones there would be.
  bool makes_kernels = true;
  // A guard before every node that the plan may leave for the baseline at, for tests that make one fail.
  bool guard_everywhere = false;

  // Told each pass before it begins, and again after each constant that it makes; may be empty. What it throws ends the
  // work.
  std::function<void(std::string_view pass)> begin = {};
};

// Used by one thread.
class Compilation {
 public:
  // `source` is copied when a pass changes it first; it must outlive this.
  Compilation(const Graph& source, CompilationInputs inputs);
  Compilation(std::unique_ptr<Graph> graph, CompilationInputs inputs);
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  // Runs the pass, within HEARTH_OPT_LIMIT. Whether the graph changed.
  bool Run(const Pass& pass);

  // ---- The graph ----
  const Graph& source() const { return graph_ != nullptr ? *graph_ : *source_; }
  Graph& graph();
  // Puts another graph in the place of this one, all of whose analyses and sizes are forgotten.
  void Replace(std::unique_ptr<Graph> graph);
  // At the end.
  std::unique_ptr<Graph> TakeGraph();

  // ---- What it is compiled for and with ----
  const CompilationInputs& inputs() const { return inputs_; }
  const Target& target() const { return inputs_.target; }
  const UnitEffects* effects() const { return inputs_.effects; }
  std::span<const ArgumentFacts> arguments() const { return inputs_.arguments; }
  // Null: nothing may be computed from weights.
  DerivedConstants* weights() { return weights_ ? &*weights_ : nullptr; }
  // Null: nothing is speculated on. Of the graph's Values.
  const ProfileClaims* claims() const { return claims_ ? &*claims_ : nullptr; }
  void SetClaims(ProfileClaims claims) { claims_ = std::move(claims); }
  // Ids of Values that went from one function to another in a tuple that inlining took apart.
  std::vector<size_t>& sent_in_tuples() { return sent_in_tuples_; }
  CompilationReport& report() { return report_; }
  // For a pass that takes long, now and then.
  void Rest() const {
    if (inputs_.begin) inputs_.begin(current_);
  }

  // ---- Analyses ----
  const AliasClasses& aliases();
  const Liveness& liveness();
  const WrittenMemory& memory();
  const PureNodes& pure_nodes();
  const PureForks& pure_forks();
  // Of the whole graph, all inferred. Of a Value that the pass makes, the pass infers them.
  ValueFactTable& facts();
  // A table for a pass that infers facts on its own walk, because it goes by what is known at each place or changes
  // what comes later.
  ValueFactTable NewFacts();

 private:
  void Invalidate(AnalysisSet preserved);

  const CompilationInputs inputs_;
  const Graph* const source_ = nullptr;
  std::unique_ptr<Graph> graph_;
  std::string_view current_;  // pass
  std::optional<DerivedConstants> weights_;
  std::optional<ProfileClaims> claims_;
  std::vector<size_t> sent_in_tuples_;
  CompilationReport report_;
  std::optional<SizeAlgebra> sizes_{std::in_place};
  std::unique_ptr<const AliasClasses> aliases_;
  std::unique_ptr<const Liveness> liveness_;
  std::unique_ptr<const WrittenMemory> memory_;
  std::unique_ptr<const PureNodes> pure_nodes_;
  std::unique_ptr<const PureForks> pure_forks_;
  std::unique_ptr<ValueFactTable> facts_;
};

}  // namespace hearth
