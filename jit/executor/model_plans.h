// The plans of one model, and what makes them: a compiler for each method, the weights that plans have packed or
// folded, and the cache in which plans are found. What decides when a plan is made or used stands in tiers.h and the
// files that it includes; all of them work on this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/analysis/written_memory.h"
#include "jit/executor/code_cache.h"
#include "jit/executor/plan_compiler.h"
#include "jit/executor/tier_settings.h"
#include "jit/interpreter/bailout_record.h"
#include "jit/weights/derived_constants.h"

namespace hearth {

// Thread-safe.
class ModelPlans {
 public:
  struct Method {
    std::string name;  // its qualified name
    const Graph* baseline;
    const UnitEffects* effects = nullptr;  // of the unit
  };
  // `methods` in the order of their numbers; their graphs and effects must outlive this, and the unit the plans.
  // `state_writes` are those of all methods.
  ModelPlans(TierSettings settings, const std::vector<Method>& methods, StateWrites state_writes);

  const TierSettings& settings() const { return settings_; }
  const std::string& name(size_t method) const { return methods_[method].name; }
  // The method of that qualified name.
  std::optional<size_t> Find(std::string_view name) const;
  // Of the method's graph, its self included.
  size_t num_inputs(size_t method) const { return methods_[method].inputs; }
  const PlanCompiler& compiler(size_t method) const { return *methods_[method].compiler; }
  CodeCache& cache() { return cache_; }
  const CodeCache& cache() const { return cache_; }
  // Of all plans that there ever were.
  const BailoutTotals& bailouts() const { return *totals_; }
  // Of weights that were packed or folded for plans.
  size_t copied_bytes() const { return derived_.bytes(); }

  // PlanCompiler's Generate; the plan ends where the settings say.
  std::shared_ptr<const ExecutionPlan> Generate(size_t method, OptimisedPlan optimised,
                                                CompileProgress* progress) const;
  // Gives the entry a profile of so many runs, which goes on from what was known earlier where that is of this
  // baseline.
  void MakeProfile(CodeEntry& entry, uint32_t runs) const;

 private:
  struct CompiledMethod {
    std::string name;
    size_t inputs;
    const Graph* baseline;
    const UnitEffects* effects;
    std::unique_ptr<PlanCompiler> compiler;
  };

  const TierSettings settings_;
  DerivedConstantTable derived_;
  const std::shared_ptr<BailoutTotals> totals_ = std::make_shared<BailoutTotals>();
  std::vector<CompiledMethod> methods_;
  CodeCache cache_;
};

// The shapes that an entry's calls had before it had a profile, the most called first.
std::vector<EntryProfile::CountedShape> EarlierShapes(const CodeEntry& entry);

}  // namespace hearth
