#include "jit/executor/tiers.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "jit/interpreter/code.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

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

// Of a call; nobody's memory.
std::optional<ExactShape> ShapeOf(std::span<const c10::IValue> arguments) {
  const MemoryAccount::Scope nobody(nullptr);
  return ExactShape::Of(arguments);
}

}  // namespace

Tiers::Tiers(TierSettings settings, const std::vector<Method>& methods, bool writes_weights)
    : settings_(std::move(settings)), cache_(settings_.budget, methods.size(), settings_.cache) {
  for (const Method& method : methods) {
    names_.push_back(method.name);
    inputs_.push_back(method.baseline->inputs().size());
    compilers_.push_back(std::make_unique<PlanCompiler>(
        *method.baseline, method.name, settings_.fail_guards.has_value(), writes_weights ? nullptr : &derived_));
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
    if (found.due && !(client_ && client_->TryEnqueue(JobFor(found.entry, ShapeOf(arguments))))) {
      cache_.Postpone(*found.entry);
    }
    if (found.entry != nullptr) HeedProfile(found, arguments, &choice);
    if (choice.observed == nullptr) choice.plan = std::move(found.plan);
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
    if (found.plan->tier() == 1 && settings_.exact_after > 0 && client_) {
      profile->CountShape(arguments, found.weight, settings_.exact_after,
                          [&](const ExactShape& shape) { return client_->TryEnqueue(JobOfShape(found.entry, shape)); });
    }
  }
  if (found.plan != nullptr && found.plan->IsRefuted()) {
    profile->TryRefute(found.plan->Refuted(), [&] { return cache_.TryRetire(entry, *found.plan); });
  } else if (found.plan != nullptr && profile->TakeRipe()) {
    if (!client_ || !client_->TryEnqueue(JobOfProfile(found.entry))) profile->PutBack();
  } else if (found.plan == nullptr || entry.calls() % kSampledPart == 0) {
    choice->samples = profile->TakeSamples();
    if (choice->samples != nullptr) choice->observed = compilers_[entry.method()]->observed();
  }
}

std::shared_ptr<const ExecutionPlan> Tiers::Force(size_t method, const ArgumentSpec& spec,
                                                  std::span<const c10::IValue> arguments, Choice* choice) {
  CodeCache::Found found = cache_.Lookup(method, spec, arguments);
  PlanRequest request{.spec = spec, .least_runs = 1};
  if (settings_.forced_profile && found.entry != nullptr) {
    if (found.due && found.entry->profile() == nullptr) Profile(*found.entry, 1, std::nullopt);
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
      plan = compilers_[method]->Compile(request, nullptr);
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
  plan = compilers_[method]->Compile(request, nullptr);
  if (found.entry != nullptr) cache_.InstallExact(*found.entry, *shape, plan, plan->bytes());
  return plan;
}

CompileJob Tiers::NewJob(const std::shared_ptr<CodeEntry>& entry) {
  CompileJob job;
  job.graph = names_[entry->method()];
  job.worth = [entry] { return static_cast<double>(entry->calls() + entry->earlier_calls()); };
  return job;
}

CompileJob Tiers::JobFor(const std::shared_ptr<CodeEntry>& entry, std::optional<ExactShape> likely,
                         std::optional<KnownProfile> known) {
  CompileJob job = NewJob(entry);
  job.run = [this, entry, likely = std::move(likely), known = std::move(known)](CompileProgress& progress) {
    if (known && entry->profile() == nullptr) Profile(*entry, settings_.profile_runs, known);
    const auto plan = Compile(*entry, nullptr, likely ? &*likely : nullptr, &progress);
    if (entry->profile() == nullptr) Profile(*entry, plan->questions() > 0 ? settings_.profile_runs : 0, std::nullopt);
    cache_.Install(*entry, plan, BytesOf(*entry, *plan));
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
    const std::optional<ExactShape> likely = entry->profile()->FrequentShape();
    const auto plan = Compile(*entry, nullptr, likely ? &*likely : nullptr, &progress);
    if (plan->takes_for_granted()) cache_.Replace(*entry, plan, BytesOf(*entry, *plan));
  };
  job.ended = [entry](CompileOutcome outcome) {
    if (outcome == CompileOutcome::kDropped || outcome == CompileOutcome::kCancelled) entry->profile()->PutBack();
  };
  return job;
}

CompileJob Tiers::JobOfShape(const std::shared_ptr<CodeEntry>& entry, const ExactShape& shape) {
  CompileJob job = NewJob(entry);
  job.run = [this, entry, shape](CompileProgress& progress) {
    const auto plan = Compile(*entry, &shape, nullptr, &progress);
    cache_.InstallExact(*entry, shape, plan, plan->bytes());
  };
  job.ended = [entry, shape](CompileOutcome outcome) {
    if (outcome == CompileOutcome::kDropped || outcome == CompileOutcome::kCancelled) {
      entry->profile()->PutBackShape(shape);
    }
  };
  return job;
}

void Tiers::Profile(CodeEntry& entry, uint32_t runs, std::optional<KnownProfile> known) {
  const PlanCompiler& compiler = *compilers_[entry.method()];
  compiler.Prepare();
  if (!known || known->baseline != compiler.fingerprint()) known.emplace();
  entry.SetProfile(std::make_shared<EntryProfile>(compiler.sites(), runs, settings_.max_retired, *std::move(known)));
}

std::shared_ptr<const ExecutionPlan> Tiers::Compile(CodeEntry& entry, const ExactShape* shape, const ExactShape* likely,
                                                    CompileProgress* progress) {
  PlanRequest request{.spec = entry.spec(), .shape = shape, .likely = likely};
  if (EntryProfile* profile = entry.profile()) {
    KnownProfile known = profile->Snapshot();
    request.profile = std::move(known.seen);
    request.refuted = std::move(known.refuted);
    if (shape == nullptr && request.profile.runs >= settings_.profile_runs) profile->TakeRipe();
  }
  return compilers_[entry.method()]->Compile(request, progress);
}

bool Tiers::WaitUntilIdle(std::chrono::steady_clock::time_point deadline) const {
  return !client_ || client_->WaitUntilIdle(deadline);
}

std::shared_ptr<const void> Tiers::WhenWarm(std::function<void()> done) {
  if (!client_) {
    done();
    return nullptr;
  }
  for (const std::shared_ptr<CodeEntry>& entry : cache_.TakeCold()) {
    if (!client_->Enqueue(JobFor(entry))) cache_.Postpone(*entry);
  }
  return client_->WhenIdle(std::move(done));
}

std::vector<KnownArguments> Tiers::Known() const {
  std::vector<KnownArguments> known;
  for (const auto& entry : cache_.Entries()) {
    if (entry->state() == CodeEntry::State::kFailed) continue;
    std::optional<KnownProfile> profile;
    if (entry->profile() != nullptr) {
      profile = entry->profile()->Snapshot();
      profile->baseline = compilers_[entry->method()]->fingerprint();
      if (profile->seen.runs == 0 && profile->refuted.empty()) profile.reset();
    }
    if (entry->state() == CodeEntry::State::kCold && !profile) continue;
    if (std::optional<StoredSpec> spec = StoredSpec::Of(entry->spec())) {
      known.push_back(
          {names_[entry->method()], entry->calls() + entry->earlier_calls(), *std::move(spec), std::move(profile)});
    }
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
    // Half, so that what is not called any more is forgotten.
    const uint64_t calls = client_ ? each.calls / 2 : each.calls;
    if (method == names_.end() || !spec || calls == 0) continue;
    const auto number = static_cast<size_t>(method - names_.begin());
    // A method's self is not in the spec.
    const size_t given = spec->Facts().size();
    if (given != inputs_[number] && given + 1 != inputs_[number]) continue;
    const auto entry = cache_.AddQueued(number, *spec, calls);
    if (entry == nullptr) continue;
    if (client_ && client_->Enqueue(JobFor(entry, std::nullopt, std::move(each.profile)))) {
      ++asked;
    } else {
      if (!client_) Profile(*entry, 1, std::move(each.profile));
      cache_.Postpone(*entry);
    }
  }
  return asked;
}

Tiers::Counts Tiers::counts() const {
  Counts counts;
  for (const auto& entry : cache_.Entries()) {
    ++counts.specs;
    if (entry->state() == CodeEntry::State::kFailed) ++counts.failed;
    for (const auto& plan : cache_.PlansOf(*entry)) {
      ++counts.plans[plan->tier() - 1];
      counts.bytes += plan->bytes();
      counts.bailouts += plan->bailouts();
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
