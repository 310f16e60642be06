#include "jit/executor/tiers.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "jit/interpreter/code.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

spdlog::logger& Log() {
  static spdlog::logger& logger = LoggerOf("executor/tiers");
  return logger;
}

// A number from `seed` for call `call`: splitmix64 (G. Steele, D. Lea, C. Flood, 2014).
uint64_t Draw(uint64_t seed, uint64_t call) {
  uint64_t bits = seed + (call + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

// While a spec has a plan, one of so many calls that may be sampled is.
constexpr uint64_t kSampledPart = 4;

size_t BytesOf(const CodeEntry& entry, const ExecutionPlan& plan) {
  const EntryProfile* profile = entry.profile();
  return plan.bytes() + (profile != nullptr ? profile->bytes() : 0);
}

// Which the entry's calls had before there was a profile, the most called first.
std::vector<EntryProfile::CountedShape> EarlierShapes(const CodeEntry& entry) {
  std::vector<EntryProfile::CountedShape> shapes;
  if (entry.earlier() != nullptr) {
    for (const KnownShape& known : entry.earlier()->shapes) {
      std::optional<ExactShape> shape = ExactShape::Restore(known.numbers, entry.spec());
      if (shape) shapes.push_back({*std::move(shape), known.calls, known.exact});
    }
  }
  if (shapes.empty() && entry.shape()) shapes.push_back({*entry.shape(), 1, false});
  return shapes;
}

// One that calls may well have.
std::optional<ExactShape> LikelyShape(const CodeEntry& entry) {
  // Whatever was wrong, it shall not be wrong again because of what somebody called once, or a file said.
  if (entry.attempts() > 0) return std::nullopt;
  if (entry.profile() != nullptr) return entry.profile()->FrequentShape();
  const std::vector<EntryProfile::CountedShape> earlier = EarlierShapes(entry);
  return earlier.empty() ? std::nullopt : std::optional(earlier.front().shape);
}

}  // namespace

Tiers::Tiers(TierSettings settings, const std::vector<Method>& methods, bool writes_weights)
    : settings_(std::move(settings)),
      derived_(settings_.copies != nullptr ? settings_.copies : std::make_shared<DerivedConstantBudget>()),
      cache_(settings_.budget, methods.size(), settings_.cache) {
  for (const Method& method : methods) {
    names_.push_back(method.name);
    inputs_.push_back(method.baseline->inputs().size());
    compilers_.push_back(std::make_unique<PlanCompiler>(*method.baseline, method.name,
                                                        settings_.fail_guards.has_value(),
                                                        writes_weights ? nullptr : &derived_, method.effects,
                                                        totals_));
  }
  if (settings_.compiler != nullptr) client_.emplace(settings_.compiler);
}

Tiers::~Tiers() = default;

Tiers::Choice Tiers::Choose(size_t method, std::span<const c10::IValue> arguments,
                            std::optional<uint64_t> failing_guard) {
  const std::optional<ArgumentSpec> spec = ArgumentSpec::Of(arguments);
  if (!spec) return {};
  Choice choice;
  if (settings_.forced) {
    choice.plan = Force(method, *spec, arguments, &choice);
  } else {
    CodeCache::Found found = cache_.Lookup(method, *spec, arguments);
    if (found.due && !(client_ && client_->TryEnqueue(JobFor(found.entry)))) cache_.Postpone(*found.entry);
    if (found.entry != nullptr) HeedProfile(found, arguments, &choice);
    if (choice.observed == nullptr) choice.plan = std::move(found.plan);
    if (found.weight > 0) {
      calls_[choice.plan == nullptr ? 0 : choice.plan->tier()].fetch_add(found.weight, std::memory_order_relaxed);
    }
  }
  if (choice.plan != nullptr && settings_.fail_guards && choice.plan->num_guards() > 0) {
    if (!failing_guard) {
      failing_guard = Draw(*settings_.fail_guards, forced_calls_.fetch_add(1, std::memory_order_relaxed));
    }
    choice.failing_guard = static_cast<int32_t>(*failing_guard % choice.plan->num_guards());
  }
  return choice;
}

void Tiers::HeedProfile(const CodeCache::Found& found, std::span<const c10::IValue> arguments, Choice* choice) {
  CodeEntry& entry = *found.entry;
  EntryProfile* const profile = entry.profile();
  if (profile == nullptr || found.due) return;
  if (found.plan != nullptr) {
    found.plan->AddCalls(found.weight);
    const bool may_be_exact = found.plan->tier() == 1 && settings_.exact_after > 0 && client_;
    profile->CountShape(arguments, found.weight, may_be_exact ? settings_.exact_after : EntryProfile::kNever,
                        [&](const ExactShape& shape) {
                          return client_->TryEnqueue(JobOfShape(found.entry, shape, settings_.exact_after));
                        });
  }
  if (found.plan != nullptr && found.plan->IsMistaken()) {
    Withdraw(entry, *found.plan);
  } else if (found.plan != nullptr && found.plan->IsRefuted()) {
    profile->TryRefute(found.plan->Refuted(), [&] { return cache_.TryRetire(entry, *found.plan); });
  } else if (found.plan != nullptr && profile->TakeRipe()) {
    if (!client_ || !client_->TryEnqueue(JobOfProfile(found.entry))) profile->PutBack();
  } else if (found.plan == nullptr || entry.calls() % kSampledPart == 0) {
    choice->samples = profile->TakeSamples();
    if (choice->samples != nullptr) choice->observed = compilers_[entry.method()]->observed();
  }
}

void Tiers::Withdraw(CodeEntry& entry, const ExecutionPlan& plan) {
  if (!cache_.TryWithdraw(entry, plan)) return;
  invalidated_.fetch_add(1, std::memory_order_relaxed);
  const MemoryAccount::Scope nobody(nullptr);
  Log().warn("{}: the plan for {}{} raises where the model does not, and is not used any more", names_[entry.method()],
             entry.spec().ToString(), plan.shape().empty() ? "" : " of sizes " + plan.shape());
}

std::shared_ptr<const ExecutionPlan> Tiers::Force(size_t method, const ArgumentSpec& spec,
                                                  std::span<const c10::IValue> arguments, Choice* choice) {
  CodeCache::Found found = cache_.Lookup(method, spec, arguments);
  PlanRequest request{.spec = spec, .least_runs = 1};
  if (settings_.forced_profile && found.entry != nullptr) {
    if (found.due && found.entry->profile() == nullptr) Profile(*found.entry, 1);
    if (EntryProfile* profile = found.entry->profile()) {
      choice->samples = profile->TakeSamples();
      if (choice->samples != nullptr) {
        choice->observed = compilers_[method]->observed();
        if (found.due) cache_.Postpone(*found.entry);
        return nullptr;
      }
      request.profile = profile->Snapshot().seen;
    }
  }
  std::shared_ptr<const ExecutionPlan> plan = std::move(found.plan);
  if (plan == nullptr) {
    try {
      const std::optional<ExactShape> likely = ExactShape::Of(arguments);
      request.likely = likely ? &*likely : nullptr;
      plan = Compile(method, request, nullptr);
    } catch (...) {
      if (found.due) cache_.Fail(*found.entry);
      throw;
    }
    if (found.due) cache_.Install(*found.entry, plan, plan->bytes());
  }
  if (!settings_.forced_exact || plan->tier() == 2) return plan;
  const std::optional<ExactShape> shape = ExactShape::Of(arguments);
  if (!shape) return plan;
  request.shape = &*shape;
  request.likely = nullptr;
  plan = Compile(method, request, nullptr);
  if (found.entry != nullptr) cache_.InstallExact(*found.entry, *shape, plan, plan->bytes());
  return plan;
}

CompileJob Tiers::NewJob(const std::shared_ptr<CodeEntry>& entry) {
  CompileJob job;
  job.graph = names_[entry->method()];
  job.worth = [entry] { return static_cast<double>(entry->all_calls()); };
  return job;
}

CompileJob Tiers::JobFor(const std::shared_ptr<CodeEntry>& entry) {
  CompileJob job = NewJob(entry);
  job.run = [this, entry](CompileProgress& progress) {
    if (entry->profile() == nullptr && entry->earlier() != nullptr && entry->earlier()->profile) {
      Profile(*entry, settings_.profile_runs);
    }
    const auto plan = Compile(*entry, nullptr, &progress);
    if (entry->profile() == nullptr) Profile(*entry, plan->questions() > 0 ? settings_.profile_runs : 0);
    if (!cache_.Install(*entry, plan, BytesOf(*entry, *plan)) || settings_.exact_after == 0) return;
    size_t exact = 0;
    for (const EntryProfile::CountedShape& counted : entry->profile()->Shapes()) {
      if (!counted.taken || ++exact > CodeCache::kMaxExact) continue;
      if (!client_->Enqueue(JobOfShape(entry, counted.shape, counted.calls))) {
        entry->profile()->PutBackShape(counted.shape);
      }
    }
  };
  job.ended = [this, entry](CompileOutcome outcome) {
    if (outcome == CompileOutcome::kFailed) cache_.Fail(*entry);
    if (outcome == CompileOutcome::kDropped || outcome == CompileOutcome::kCancelled) cache_.Postpone(*entry);
  };
  return job;
}

CompileJob Tiers::JobOfProfile(const std::shared_ptr<CodeEntry>& entry) {
  CompileJob job = NewJob(entry);
  job.run = [this, entry](CompileProgress& progress) {
    const auto plan = Compile(*entry, nullptr, &progress);
    if (plan->takes_for_granted() && !plan->lacks_room()) cache_.Replace(*entry, plan, BytesOf(*entry, *plan));
  };
  job.ended = [entry](CompileOutcome outcome) {
    if (outcome == CompileOutcome::kDropped || outcome == CompileOutcome::kCancelled) entry->profile()->PutBack();
  };
  return job;
}

CompileJob Tiers::JobOfShape(const std::shared_ptr<CodeEntry>& entry, const ExactShape& shape, uint64_t calls) {
  CompileJob job = NewJob(entry);
  // Less than any that is called without a plan: this one has one for all shapes.
  job.worth = [calls] { return 1 - 1 / (static_cast<double>(calls) + 1); };
  job.run = [this, entry, shape](CompileProgress& progress) {
    const auto plan = Compile(*entry, &shape, &progress);
    if (!plan->lacks_room()) cache_.InstallExact(*entry, shape, plan, plan->bytes());
  };
  job.ended = [entry, shape](CompileOutcome outcome) {
    if (outcome == CompileOutcome::kDropped || outcome == CompileOutcome::kCancelled) {
      entry->profile()->PutBackShape(shape);
    }
  };
  return job;
}

void Tiers::Profile(CodeEntry& entry, uint32_t runs) {
  const PlanCompiler& compiler = *compilers_[entry.method()];
  compiler.Prepare();
  KnownProfile known;
  if (entry.earlier() != nullptr && entry.earlier()->profile) known = *entry.earlier()->profile;
  if (known.baseline != compiler.fingerprint()) known = {};
  const auto profile = std::make_shared<EntryProfile>(compiler.sites(), runs, settings_.max_retired, std::move(known));
  for (const EntryProfile::CountedShape& counted : EarlierShapes(entry)) {
    profile->Remember(counted.shape, counted.calls, counted.taken);
  }
  entry.SetProfile(profile);
}

std::shared_ptr<const ExecutionPlan> Tiers::Compile(CodeEntry& entry, const ExactShape* shape,
                                                    CompileProgress* progress) {
  const std::optional<ExactShape> likely = shape == nullptr ? LikelyShape(entry) : std::nullopt;
  PlanRequest request{.spec = entry.spec(), .shape = shape, .likely = likely ? &*likely : nullptr};
  if (EntryProfile* profile = entry.profile()) {
    KnownProfile known = profile->Snapshot();
    request.profile = std::move(known.seen);
    request.refuted = std::move(known.refuted);
    if (shape == nullptr && request.profile.runs >= settings_.profile_runs) profile->TakeRipe();
  }
  return Compile(entry.method(), request, progress);
}

std::shared_ptr<const ExecutionPlan> Tiers::Compile(size_t method, const PlanRequest& request,
                                                    CompileProgress* progress) const {
  std::unique_ptr<const ExecutionPlan> plan = compilers_[method]->Compile(request, progress);
  if (settings_.disposal == nullptr) return plan;
  return settings_.disposal->Own(std::move(plan));
}

bool Tiers::WaitUntilIdle(std::chrono::steady_clock::time_point deadline) const {
  return !client_ || client_->WaitUntilIdle(deadline);
}

std::shared_ptr<const void> Tiers::WhenWarm(std::function<void()> done) {
  if (!client_) {
    done();
    return nullptr;
  }
  {
    // What another one has taken here is asked for before it is waited for.
    const std::lock_guard lock(asking_);
    for (const std::shared_ptr<CodeEntry>& entry : cache_.TakeCold()) {
      if (!client_->Enqueue(JobFor(entry))) cache_.Postpone(*entry);
    }
  }
  return client_->WhenIdle(std::move(done));
}

std::vector<KnownArguments> Tiers::Known() const {
  std::vector<KnownArguments> known;
  for (const auto& entry : cache_.Entries()) {
    KnownArguments kind;
    const bool failed = entry->state() == CodeEntry::State::kFailed;
    const EntryProfile* made = entry->profile();
    if (made != nullptr) {
      kind.profile = made->Snapshot();
      kind.profile->baseline = compilers_[entry->method()]->fingerprint();
      if (kind.profile->seen.runs == 0 && kind.profile->refuted.empty()) kind.profile.reset();
    } else if (entry->earlier() != nullptr) {
      kind.profile = entry->earlier()->profile;
    }
    for (const EntryProfile::CountedShape& counted : made != nullptr ? made->Shapes() : EarlierShapes(*entry)) {
      const auto numbers = counted.shape.numbers();
      kind.shapes.push_back({{numbers.begin(), numbers.end()}, counted.calls, counted.taken});
    }
    if (entry->state() == CodeEntry::State::kCold && entry->earlier() == nullptr && !kind.profile) continue;
    std::optional<StoredSpec> spec = StoredSpec::Of(entry->spec());
    if (!spec) continue;
    kind.method = names_[entry->method()];
    kind.calls = failed ? 0 : entry->all_calls();
    kind.spec = *std::move(spec);
    known.push_back(std::move(kind));
  }
  return known;
}

size_t Tiers::Recall(std::vector<KnownArguments> known, const StoredSpec::FindClass& find_class) {
  if (!client_ && !settings_.forced_profile) return 0;
  size_t asked = 0;
  std::ranges::stable_sort(known, std::greater(), &KnownArguments::calls);
  for (KnownArguments& each : known) {
    const auto method = std::ranges::find(names_, each.method);
    const std::optional<ArgumentSpec> spec = each.spec.Restore(find_class);
    if (method == names_.end() || !spec) continue;
    if (client_) each.CountHalf();
    if (each.calls == 0) continue;
    const auto number = static_cast<size_t>(method - names_.begin());
    // A method's self is not in the spec.
    const size_t given = spec->Facts().size();
    if (given != inputs_[number] && given + 1 != inputs_[number]) continue;
    const auto entry = cache_.AddQueued(number, *spec, std::make_shared<const KnownArguments>(std::move(each)));
    if (entry == nullptr) continue;
    if (client_ && client_->Enqueue(JobFor(entry))) {
      ++asked;
    } else {
      if (!client_) Profile(*entry, 1);
      cache_.Postpone(*entry);
    }
  }
  return asked;
}

std::vector<BackgroundCompiler::Running> Tiers::compiling() const {
  return client_ ? client_->running() : std::vector<BackgroundCompiler::Running>();
}

Tiers::Counts Tiers::counts() const {
  Counts counts;
  counts.copied_bytes = derived_.bytes();
  counts.bailouts = totals_->bailouts.load(std::memory_order_relaxed);
  counts.guard_failures = totals_->guard_failures.load(std::memory_order_relaxed);
  counts.plan_exceptions = totals_->plan_exceptions.load(std::memory_order_relaxed);
  counts.invalidated = invalidated_.load(std::memory_order_relaxed);
  for (size_t tier = 0; tier < std::size(calls_); ++tier) {
    counts.calls[tier] = calls_[tier].load(std::memory_order_relaxed);
  }
  for (const auto& entry : cache_.Entries()) {
    ++counts.specs;
    if (entry->state() == CodeEntry::State::kFailed) ++counts.failed;
    for (const auto& plan : cache_.PlansOf(*entry)) {
      ++counts.plans[plan->tier() - 1];
      counts.bytes += plan->bytes();
    }
  }
  return counts;
}

std::vector<Tiers::Plan> Tiers::plans() const {
  std::vector<Plan> plans;
  for (const auto& entry : cache_.Entries()) {
    auto made = cache_.PlansOf(*entry);
    if (made.empty()) made.push_back(nullptr);
    for (auto& plan : made) {
      const uint64_t calls = plan == nullptr || plan->tier() == 1 ? entry->calls() : plan->calls();
      plans.push_back({names_[entry->method()], entry->spec().ToString(), entry->state(), calls, std::move(plan)});
    }
  }
  return plans;
}

}  // namespace hearth
