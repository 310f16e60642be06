// One loaded module made ready to answer: each method's and hook's Code with self bound to the module, and the order in
// which runs that touch what some run writes take their turns.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/analysis/effects.h"
#include "jit/analysis/written_memory.h"
#include "jit/executor/tiers.h"
#include "jit/interpreter/interpreter.h"
#include "jit/interpreter/profile.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/module/compilation_unit.h"
#include "jit/state_order/state_gate.h"
#include "jit/support/batch_proof.h"

namespace hearth {

class CodeBuilder;

// What a run did, for people.
struct RunReport {
  std::shared_ptr<const ExecutionPlan> plan;  // null: it began in the baseline
  std::string arguments;                      // their spec, where there is a plan for it
  RunProfile profile;
};

// Thread-safe once made.
class ModelExecutor : public std::enable_shared_from_this<ModelExecutor> {
 public:
  struct Method {
    Function* function;               // owned by the unit
    std::unique_ptr<Graph> baseline;  // what `code` was made from
    std::shared_ptr<const Code> code;
    StatePlan plan;         // where its runs meet others over the module's state
    bool straight;          // no loops or calls: how long a run takes is up to its operators alone
    bool uses_self = true;  // whether a run needs its object: else its count is not worth writing
    // Whether a second run with copies of the arguments does nothing but answer.
    bool repeatable = false;
    // Whether a run neither writes to its arguments nor keeps any of their memory.
    bool leaves_arguments = false;
    std::string state_write = {};  // as StateWriteOf says it

    const std::string& name() const { return function->name(); }
    const c10::FunctionSchema& schema() const { return function->getSchema(); }
    // Runs are neither long for the method's own reasons nor wait for others.
    bool may_begin_on_caller() const { return straight && plan.empty(); }
  };

  // Compiles every method and hook of `module`'s class. `builder` is for the same unit. `generators` is the process's
  // order over them. `pool` must outlive this. Without `tiers` every call runs the baseline.
  // Throws CompileError.
  ModelExecutor(std::shared_ptr<CompilationUnit> unit, c10::intrusive_ptr<c10::ivalue::Object> module,
                CodeBuilder& builder, std::shared_ptr<TurnList> generators, ThreadPool* pool,
                const std::optional<TierSettings>& tiers = std::nullopt);

  // Compiles free functions of the unit, which have no state.
  ModelExecutor(std::shared_ptr<CompilationUnit> unit, std::span<Function* const> functions, CodeBuilder& builder,
                ThreadPool* pool, const std::optional<TierSettings>& tiers = std::nullopt);

  std::span<const Method> methods() const { return std::span(entries_).first(num_methods_); }
  // A method of that name, or a method or hook of the class; null if there is none.
  const Method* Find(std::string_view name) const;
  const Method* Find(const torch::jit::Function& function) const;
  // Null where the methods are free functions.
  const c10::intrusive_ptr<c10::ivalue::Object>& module() const { return module_; }
  const CompilationUnit& unit() const { return *unit_; }
  // Whether any method or hook writes the module's state.
  bool writes_state() const { return writes_state_; }
  // Null: every call runs the baseline.
  Tiers* tiers() const { return tiers_.get(); }
  // What a run does beside answering, as StateWriteOf and SideEffectOf say it; empty: nothing.
  std::string SideEffect(const Method& method) const;
  // Whether calls of a method without side effects may be run as one, its arguments on `device` (batch_proof.h).
  BatchProof ProveBatch(const Method& method, std::span<const BatchArgument> arguments, c10::Device device) const;
  // Tiers::RestoreProfiles, of another load of the archive. There are tiers.
  size_t RestoreProfiles(std::vector<SpecProfile> profiles) const;

  struct CallSettings {
    std::shared_ptr<CancellationToken> token;  // may be null
    std::shared_ptr<MemoryAccount> memory;     // may be null
    std::function<void()> on_start;            // may be empty
    // The calling thread may be used, if the method is straight and need never wait its turn.
    bool may_run_here = false;
    std::optional<c10::Stream> stream;  // where its work on a GPU goes; null: where the thread's goes
    std::shared_ptr<RunReport> report;  // to be filled by the time of the completion; may be null
    ChoiceRequest request;              // as Tiers::Choose takes it
    int operator_threads = 0;           // as RunOptions has it
    unsigned* tier = nullptr;           // where the tier that the run begins in is told; may be null
    // In place of the executor's; null: that. Has no effect on a run that draws random numbers, for whose end runs of
    // other models may wait.
    ThreadPool* pool = nullptr;
    // This executor, which the run and its forks keep alive; null: counted once more where all runs count it.
    std::shared_ptr<ModelExecutor> self;
  };
  // Runs a method or hook of this executor; `arguments` fit its schema, self first (anything, where it is not
  // used). The completion runs once, on a pool
  // thread or, if that was allowed and the run never waits for a fork that another thread has begun, on this one before
  // RunAsync returns.
  void RunAsync(const Method& method, std::vector<c10::IValue> arguments, CallSettings settings, Completion completion);

 private:
  // Whether the plan's recorded runs may answer; has them recorded where nobody has yet.
  bool MayReplay(const Method& method, const PlanChoice& choice, std::span<const c10::IValue> arguments,
                 const CallSettings& settings) const;
  // Of a call that the plan answers, and that is checked.
  ShadowRuns::Call ShadowCallOf(const Method& method, const std::shared_ptr<const ExecutionPlan>& plan,
                                std::span<const c10::IValue> arguments, const CallSettings& settings) const;
  void PlanState();
  // What all methods and hooks may do to what is the model's.
  StateWrites FindStateWrites() const;
  void MakeTiers(const std::optional<TierSettings>& settings);

  std::shared_ptr<CompilationUnit> unit_;
  std::unique_ptr<const UnitEffects> effects_;
  c10::intrusive_ptr<c10::ivalue::Object> module_;
  std::vector<Method> entries_;  // all that a run may start with: the methods, then the class's own hooks
  size_t num_methods_;
  bool writes_state_ = false;
  std::optional<StateGate> gate_;  // none for free functions
  std::unique_ptr<Tiers> tiers_;
  ThreadPool* pool_;
};

}  // namespace hearth
