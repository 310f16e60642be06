#include "jit/executor/compile_jobs.h"

#include <utility>

#include "jit/executor/execution_plan.h"
#include "jit/support/logging.h"

namespace hearth {
namespace {

spdlog::logger& CompileLog() {
  static spdlog::logger& logger = LoggerOf("executor/compile_jobs");
  return logger;
}

size_t BytesOfPlan(const CodeEntry& entry, const ExecutionPlan& plan) {
  const EntryProfile* profile = entry.profile();
  return plan.bytes() + (profile != nullptr ? profile->bytes() : 0);
}

// One that calls may well have.
std::optional<ExactShape> LikelyShape(const CodeEntry& entry) {
  // Whatever was wrong, it shall not be wrong again because of what somebody called once, or a file said.
  if (entry.attempts() > 0) return std::nullopt;
  if (entry.profile() != nullptr) return entry.profile()->FrequentShape();
  const std::vector<EntryProfile::CountedShape> earlier = EarlierShapes(entry);
  return earlier.empty() ? std::nullopt : std::optional(earlier.front().shape);
}

// Less than any that is called without a plan: there is one already.
double WorthOfBetterPlan(uint64_t calls) { return 1 - 1 / (static_cast<double>(calls) + 1); }

bool WasNotRun(CompileOutcome outcome) {
  return outcome == CompileOutcome::kDropped || outcome == CompileOutcome::kCancelled;
}

}  // namespace

bool CompileJobs::TryCompile(const std::shared_ptr<CodeEntry>& entry) {
  const bool taken = client_.TryEnqueue(FirstJob(entry));
  if (!taken) plans_.cache().Postpone(*entry);
  return taken;
}

bool CompileJobs::Compile(const std::shared_ptr<CodeEntry>& entry) {
  const bool taken = client_.Enqueue(FirstJob(entry));
  if (!taken) plans_.cache().Postpone(*entry);
  return taken;
}

bool CompileJobs::TryCompileWithProfile(const std::shared_ptr<CodeEntry>& entry) {
  CompileJob job = NewJob(entry, std::nullopt, [this, entry](const std::shared_ptr<const ExecutionPlan>& plan) {
    if (plan->speculates() && !plan->lacks_room()) plans_.cache().Replace(*entry, plan, BytesOfPlan(*entry, *plan));
  });
  job.ended = [entry](CompileOutcome outcome) {
    if (WasNotRun(outcome)) entry->profile()->PutBack();
  };
  return client_.TryEnqueue(std::move(job));
}

bool CompileJobs::TryCompileAgain(const std::shared_ptr<CodeEntry>& entry) {
  return client_.TryEnqueue(
      NewJob(entry, std::nullopt, [this, entry](const std::shared_ptr<const ExecutionPlan>& plan) {
        if (!plan->lacks_room()) plans_.cache().Replace(*entry, plan, BytesOfPlan(*entry, *plan));
      }));
}

bool CompileJobs::TryCompileExact(const std::shared_ptr<CodeEntry>& entry, const ExactShape& shape, uint64_t calls) {
  return client_.TryEnqueue(ExactJob(entry, shape, calls));
}

bool CompileJobs::TryRecord(size_t method, const std::shared_ptr<const ExecutionPlan>& plan,
                            std::vector<c10::IValue> arguments, size_t own, const c10::Stream& made_on) {
  CompileJob job;
  job.graph = plans_.name(method);
  job.worth = [calls = plan->calls()] { return WorthOfBetterPlan(calls); };
  job.stages.push_back({"recording", [plan, arguments = std::move(arguments), own, made_on](CompileProgress& progress) {
                          progress.Begin("record");
                          RecordRuns(*plan, arguments, own, made_on, progress.token());
                        }});
  job.ended = [plan](CompileOutcome outcome) {
    if (WasNotRun(outcome)) plan->captured()->PutBack();
  };
  return client_.TryEnqueue(std::move(job));
}

std::shared_ptr<const void> CompileJobs::WhenWarm(std::function<void()> done) {
  {
    // What another one has taken here is asked for before it is waited for.
    const std::lock_guard lock(asking_);
    for (const std::shared_ptr<CodeEntry>& entry : plans_.cache().TakeCold()) Compile(entry);
  }
  return client_.WhenIdle(std::move(done));
}

CompileJob CompileJobs::NewJob(const std::shared_ptr<CodeEntry>& entry, const std::optional<ExactShape>& shape,
                               Install install) {
  CompileJob job;
  job.graph = plans_.name(entry->method());
  job.worth = [entry] { return static_cast<double>(entry->all_calls()); };
  AddPlan(job, entry, shape, std::move(install), nullptr);
  return job;
}

void CompileJobs::AddPlan(CompileJob& job, const std::shared_ptr<CodeEntry>& entry,
                          const std::optional<ExactShape>& shape, Install install, std::shared_ptr<Kernels> lacking) {
  const auto optimised = std::make_shared<OptimisedPlan>();
  job.stages.push_back({"passes", [this, entry, shape, optimised, lacking](CompileProgress& progress) {
                          *optimised = Optimise(*entry, shape, lacking == nullptr, progress);
                          if (lacking != nullptr) *lacking = optimised->kernels;
                        }});
  job.stages.push_back({"code", [this, entry, optimised, install = std::move(install)](CompileProgress& progress) {
                          install(plans_.Generate(entry->method(), std::move(*optimised), &progress));
                        }});
}

void CompileJobs::AddPlanWithKernels(CompileJob& job, const std::shared_ptr<CodeEntry>& entry,
                                     std::shared_ptr<Kernels> lacking) {
  job.stages.push_back({"kernels", [this, lacking](CompileProgress& progress) {
                          for (const std::string& text : *lacking) {
                            plans_.settings().kernels->Get(text, [&] { progress.Begin("code of a kernel"); });
                          }
                        }});
  job.stages.push_back({"plan with kernels", [this, entry, lacking](CompileProgress& progress) {
                          if (lacking->empty()) return;
                          OptimisedPlan optimised = Optimise(*entry, std::nullopt, /*makes_kernels=*/false, progress);
                          const auto plan = plans_.Generate(entry->method(), std::move(optimised), &progress);
                          plans_.cache().Replace(*entry, plan, BytesOfPlan(*entry, *plan));
                        }});
}

CompileJob CompileJobs::FirstJob(const std::shared_ptr<CodeEntry>& entry) {
  CompileJob job;
  job.graph = plans_.name(entry->method());
  job.worth = [entry] { return static_cast<double>(entry->all_calls()); };
  const auto lacking = std::make_shared<Kernels>();
  const auto install = [this, entry](const std::shared_ptr<const ExecutionPlan>& plan) { InstallFirst(entry, plan); };
  AddPlan(job, entry, std::nullopt, install, lacking);
  AddPlanWithKernels(job, entry, lacking);
  job.ended = [this, entry](CompileOutcome outcome) {
    if (outcome == CompileOutcome::kFailed) plans_.cache().Fail(*entry);
    if (WasNotRun(outcome)) plans_.cache().Postpone(*entry);
  };
  return job;
}

CompileJob CompileJobs::ExactJob(const std::shared_ptr<CodeEntry>& entry, const ExactShape& shape, uint64_t calls) {
  CompileJob job = NewJob(entry, shape, [this, entry, shape](const std::shared_ptr<const ExecutionPlan>& plan) {
    if (!plan->lacks_room()) {
      plans_.cache().InstallExact(*entry, shape, plan, plan->bytes());
    } else {
      CompileLog().info("{}: no plan for {} alone: there is no room for its copies of weights",
                        plans_.name(entry->method()), shape.ToString());
    }
  });
  job.worth = [calls] { return WorthOfBetterPlan(calls); };
  job.ended = [entry, shape](CompileOutcome outcome) {
    if (WasNotRun(outcome)) entry->profile()->PutBackShape(shape);
  };
  return job;
}

OptimisedPlan CompileJobs::Optimise(CodeEntry& entry, const std::optional<ExactShape>& shape, bool makes_kernels,
                                    CompileProgress& progress) {
  const uint32_t profile_runs = plans_.settings().profile_runs;
  if (entry.profile() == nullptr && entry.earlier() != nullptr && entry.earlier()->speculation) {
    plans_.MakeProfile(entry, profile_runs);
  }
  const std::optional<ExactShape> likely = shape ? std::nullopt : LikelyShape(entry);
  PlanRequest request{.spec = entry.spec(),
                      .shape = shape ? &*shape : nullptr,
                      .likely = likely ? &*likely : nullptr,
                      .makes_kernels = makes_kernels};
  if (EntryProfile* profile = entry.profile()) {
    SpeculationProfile known = profile->Snapshot();
    request.profile = std::move(known.seen);
    request.deoptimised = std::move(known.deoptimised);
    if (!shape && request.profile.runs >= profile_runs) profile->TakeReady();
  }
  return plans_.compiler(entry.method()).Optimise(request, &progress);
}

void CompileJobs::InstallFirst(const std::shared_ptr<CodeEntry>& entry,
                               const std::shared_ptr<const ExecutionPlan>& plan) {
  const TierSettings& settings = plans_.settings();
  if (entry->profile() == nullptr) {
    plans_.MakeProfile(*entry, plan->speculation_sites() > 0 ? settings.profile_runs : 0);
  }
  if (!plans_.cache().Install(*entry, plan, BytesOfPlan(*entry, *plan)) || settings.exact_after == 0) return;
  size_t exact = 0;
  for (const EntryProfile::CountedShape& counted : entry->profile()->Shapes()) {
    if (!counted.taken || ++exact > CodeCache::kMaxExact) continue;
    if (!client_.Enqueue(ExactJob(entry, counted.shape, counted.calls))) entry->profile()->PutBackShape(counted.shape);
  }
}

}  // namespace hearth
