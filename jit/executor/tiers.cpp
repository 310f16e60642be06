#include "jit/executor/tiers.h"

#include <c10/core/StreamGuard.h>
#include <spdlog/logger.h>

#include <iterator>
#include <utility>

#include "jit/executor/copied_values.h"
#include "jit/executor/execution_plan.h"
#include "jit/executor/wrong_kernels.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

spdlog::logger& TiersLog() {
  static spdlog::logger& logger = LoggerOf("executor/tiers");
  return logger;
}

// Bytes of arguments that a recording keeps copies of.
constexpr size_t kMostRecorded = size_t{1} << 28;

// While a spec has a plan, one of so many calls that may be sampled is.
constexpr uint64_t kSampledPart = 4;

}  // namespace

Tiers::Tiers(TierSettings settings, const std::vector<ModelPlans::Method>& methods, StateWrites state_writes)
    : plans_(std::move(settings), methods, state_writes) {
  const TierSettings& chosen = plans_.settings();
  if (chosen.forced) forced_.emplace(plans_);
  if (chosen.fail_guards) failing_guards_.emplace(*chosen.fail_guards);
  if (chosen.compiler != nullptr) jobs_.emplace(plans_, chosen.compiler);
}

Tiers::~Tiers() = default;

PlanChoice Tiers::Choose(size_t method, std::span<const c10::IValue> arguments, const ChoiceRequest& request) {
  const std::optional<ArgumentSpec> spec = ArgumentSpec::Of(arguments);
  if (!spec) return {};
  PlanChoice choice =
      forced_ ? forced_->Choose(method, *spec, arguments) : ChooseCompiled(method, *spec, arguments, request.is_warmup);
  if (choice.plan != nullptr && failing_guards_) {
    choice.failing_guard = failing_guards_->Draw(*choice.plan, request.failing_guard);
  }
  return choice;
}

PlanChoice Tiers::ChooseCompiled(size_t method, const ArgumentSpec& spec, std::span<const c10::IValue> arguments,
                                 bool is_warmup) {
  PlanChoice choice;
  CodeCache::Found found = plans_.cache().Lookup(method, spec, arguments);
  if (found.due) {
    if (jobs_) {
      jobs_->TryCompile(found.entry);
    } else {
      plans_.cache().Postpone(*found.entry);
    }
  }
  if (found.entry != nullptr) RecordFeedback(found, arguments, is_warmup, &choice);
  if (choice.observed == nullptr) choice.plan = std::move(found.plan);
  if (found.weight > 0) {
    calls_[choice.plan == nullptr ? 0 : choice.plan->tier()].fetch_add(found.weight, std::memory_order_relaxed);
  }
  return choice;
}

void Tiers::RecordFeedback(const CodeCache::Found& found, std::span<const c10::IValue> arguments, bool is_warmup,
                           PlanChoice* choice) {
  CodeEntry& entry = *found.entry;
  const uint64_t exact_after = plans_.settings().exact_after;
  EntryProfile* const profile = entry.profile();
  if (profile == nullptr || found.due) return;
  if (found.plan != nullptr) {
    found.plan->AddCalls(found.weight);
    const bool may_be_exact = found.plan->tier() == 1 && exact_after > 0 && jobs_;
    const uint64_t weight = is_warmup ? std::max<uint64_t>(found.weight, exact_after) : found.weight;
    profile->CountShape(
        arguments, weight, may_be_exact ? exact_after : EntryProfile::kNever,
        [&](const ExactShape& shape) { return jobs_->TryCompileExact(found.entry, shape, exact_after); });
  }
  if (found.plan != nullptr && found.plan->IsMistaken()) {
    Invalidate(entry, *found.plan);
  } else if (found.plan != nullptr && found.plan->NeedsDeoptimisation()) {
    profile->TryDeoptimise(found.plan->FailedSites(), [&] { return plans_.cache().TryDeoptimise(entry, *found.plan); });
  } else if (found.plan != nullptr && profile->TakeReady()) {
    if (!jobs_ || !jobs_->TryCompileWithProfile(found.entry)) profile->PutBack();
  } else if (found.plan != nullptr && found.plan->lacks_kernels() && plans_.settings().kernels->MayRetry()) {
    RetryKernels(found, arguments);
  } else if (found.plan == nullptr || entry.calls() % kSampledPart == 0) {
    choice->samples = profile->TakeSamples();
    if (choice->samples != nullptr) choice->observed = plans_.compiler(entry.method()).observed();
  }
}

void Tiers::RetryKernels(const CodeCache::Found& found, std::span<const c10::IValue> arguments) {
  if (!jobs_ || !found.plan->TakeRetry()) return;
  const std::optional<ExactShape> shape = found.plan->tier() == 2 ? ExactShape::Of(arguments) : std::nullopt;
  const bool taken =
      shape ? jobs_->TryCompileExact(found.entry, *shape, found.plan->calls()) : jobs_->TryCompileAgain(found.entry);
  if (!taken) found.plan->PutBackRetry();
}

void Tiers::CheckKernels(size_t method, const ArgumentSpec& spec, const std::optional<ExactShape>& shape,
                         const ExecutionPlan& plan, const ShadowRuns::Difference& difference) {
  fuser::KernelSource* kernels = plans_.settings().kernels.get();
  const std::shared_ptr<CodeEntry> entry = plans_.cache().Find(method, spec);
  if (kernels == nullptr || entry == nullptr) return;
  std::vector<std::string> texts;
  for (ExecutionPlan::Kernel& kernel : plan.kernels()) texts.push_back(std::move(kernel.text));
  const std::vector<std::string> wrong = WrongKernels(plans_, *entry, shape, texts, difference.replay);
  if (wrong.empty()) return;
  TiersLog().error("{}: of the kernels of the plan for {}, {} gave wrong results and are not used any more",
                   plans_.name(method), spec.ToString(), wrong.size());
  for (const std::string& text : wrong) {
    kernels->SetAside(text, "in the plan of " + plans_.name(method) + spec.ToString() + ": " + difference.text);
  }
  if (jobs_) jobs_->TryCompileAgain(entry);
}

void Tiers::Record(size_t method, const std::shared_ptr<const ExecutionPlan>& plan,
                   std::span<const c10::IValue> arguments, size_t own, const c10::Stream& stream) {
  // The recording's memory, not the request's.
  const MemoryAccount::Scope nobody(nullptr);
  std::optional<std::vector<c10::IValue>> copies;
  {
    const c10::StreamGuard on_stream(stream);
    copies = CopyDeep(arguments.subspan(own), kMostRecorded);
  }
  // Of its kind, others cannot be copied either.
  if (!copies) return;
  copies->insert(copies->begin(), arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(own));
  if (!jobs_) {
    RecordRuns(*plan, *std::move(copies), own, stream, nullptr);
  } else if (!jobs_->TryRecord(method, plan, *std::move(copies), own, stream)) {
    plan->captured()->PutBack();
  }
}

void Tiers::Invalidate(CodeEntry& entry, const ExecutionPlan& plan) {
  if (!plans_.cache().TryInvalidate(entry, plan)) return;
  invalidated_.fetch_add(1, std::memory_order_relaxed);
  const MemoryAccount::Scope nobody(nullptr);
  TiersLog().warn("{}: the plan for {}{} raises where the baseline does not, and is not used any more",
                  plans_.name(entry.method()), entry.spec().ToString(),
                  plan.shape().empty() ? "" : " of sizes " + plan.shape());
}

bool Tiers::WaitUntilIdle(std::chrono::steady_clock::time_point deadline) const {
  return !jobs_ || jobs_->WaitUntilIdle(deadline);
}

std::shared_ptr<const void> Tiers::WhenWarm(std::function<void()> done) {
  if (jobs_) return jobs_->WhenWarm(std::move(done));
  done();
  return nullptr;
}

size_t Tiers::RestoreProfiles(std::vector<SpecProfile> profiles, const StoredSpec::FindClass& find_class) {
  // Where nothing is compiled in the background, a profile is of use to the calls that wait for plans of it.
  if (!jobs_ && !plans_.settings().forced_profile) return 0;
  return hearth::RestoreProfiles(std::move(profiles), find_class, plans_, jobs_ ? &*jobs_ : nullptr);
}

TierCounts Tiers::counts() const {
  TierCounts counts = CountPlans(plans_);
  counts.invalidated = invalidated_.load(std::memory_order_relaxed);
  for (size_t tier = 0; tier < std::size(calls_); ++tier) {
    counts.calls[tier] = calls_[tier].load(std::memory_order_relaxed);
  }
  return counts;
}

std::vector<BackgroundCompiler::Running> Tiers::compiling() const {
  return jobs_ ? jobs_->running() : std::vector<BackgroundCompiler::Running>();
}

}  // namespace hearth
