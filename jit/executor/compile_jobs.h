// The jobs that compile one model's plans in the background: what each of them does, and what becomes of an entry whose
// job did not come to its end. A job's stages are the passes over a plan's graph and the code that is made of it. The
// first plan of an entry does without the fused kernels that were not made before: it is installed, the kernels are
// made, and a plan with them takes its place.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jit/executor/background_compiler.h"
#include "jit/executor/model_plans.h"

namespace hearth {

// Thread-safe. The functions that begin with Try are for requests: they never wait, and refuse where they would have
// to.
class CompileJobs {
 public:
  // `plans` outlives this.
  CompileJobs(ModelPlans& plans, const std::shared_ptr<BackgroundCompiler>& compiler)
      : plans_(plans), client_(compiler) {}

  // The first plan of a queued entry, and then those for the shapes that had one of their own before. Whether the job
  // was taken; if not, the entry is postponed.
  bool TryCompile(const std::shared_ptr<CodeEntry>& entry);
  bool Compile(const std::shared_ptr<CodeEntry>& entry);
  // A plan made of the entry's profile in place of the one that it has. Whether the job was taken.
  bool TryCompileWithProfile(const std::shared_ptr<CodeEntry>& entry);
  // A plan in place of the one that it has, with the kernels that can be had by now. Whether the job was taken.
  bool TryCompileAgain(const std::shared_ptr<CodeEntry>& entry);
  // A plan for that shape alone, of which so many `calls` are known. Whether the job was taken.
  bool TryCompileExact(const std::shared_ptr<CodeEntry>& entry, const ExactShape& shape, uint64_t calls);
  // Records runs of a plan, with the arguments as CapturedPlan::Record takes them. Whether the job was taken; if not,
  // or if it does not come to its end, another call may ask for it.
  bool TryRecord(size_t method, const std::shared_ptr<const ExecutionPlan>& plan, std::vector<c10::IValue> arguments,
                 size_t own, const c10::Stream& made_on);

  // Waits until what has been asked for is compiled. False if it is not by `deadline`.
  bool WaitUntilIdle(std::chrono::steady_clock::time_point deadline) const { return client_.WaitUntilIdle(deadline); }
  // Asks for a plan for all that was called so far, be it once, and calls `done` when nothing is left to compile: as
  // CompileClient::WhenIdle. May wait for locks of the compiler's.
  std::shared_ptr<const void> WhenWarm(std::function<void()> done);
  // Just now. May wait for locks of the compiler's.
  std::vector<BackgroundCompiler::Running> running() const { return client_.running(); }

 private:
  using Install = std::function<void(const std::shared_ptr<const ExecutionPlan>&)>;

  using Kernels = std::vector<std::string>;

  // Of a plan for `shape` alone, or for all shapes; its `ended` does nothing yet.
  CompileJob NewJob(const std::shared_ptr<CodeEntry>& entry, const std::optional<ExactShape>& shape, Install install);
  // The stages that make a plan. One that lacks kernels says which, where `lacking` is not null, and else makes them.
  void AddPlan(CompileJob& job, const std::shared_ptr<CodeEntry>& entry, const std::optional<ExactShape>& shape,
               Install install, std::shared_ptr<Kernels> lacking);
  // The stages that make the kernels that were lacking, and a plan with them; nothing where there are none.
  void AddPlanWithKernels(CompileJob& job, const std::shared_ptr<CodeEntry>& entry, std::shared_ptr<Kernels> lacking);
  CompileJob FirstJob(const std::shared_ptr<CodeEntry>& entry);
  CompileJob ExactJob(const std::shared_ptr<CodeEntry>& entry, const ExactShape& shape, uint64_t calls);
  OptimisedPlan Optimise(CodeEntry& entry, const std::optional<ExactShape>& shape, bool makes_kernels,
                         CompileProgress& progress);
  void InstallFirst(const std::shared_ptr<CodeEntry>& entry, const std::shared_ptr<const ExecutionPlan>& plan);

  ModelPlans& plans_;
  std::mutex asking_;     // held from taking what is to be compiled to asking for it
  CompileClient client_;  // its end is the first step of this one's
};

}  // namespace hearth
