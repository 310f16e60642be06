#include "jit/spread_model.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <optional>

#include "jit/device/device.h"

namespace hearth {
namespace {

std::optional<c10::Device> DeviceOfInputs(const Arguments& args, const KeywordArguments& kwargs) {
  for (const c10::IValue& value : args) {
    if (const auto device = DeviceIn(value)) return device;
  }
  for (const auto& [name, value] : kwargs) {
    if (const auto device = DeviceIn(value)) return device;
  }
  return std::nullopt;
}

// Calls that count as one.
class Handles final : public CallHandle {
 public:
  void Add(std::shared_ptr<CallHandle> handle) { handles_.push_back(std::move(handle)); }
  void Cancel() override {
    for (const auto& handle : handles_) handle->Cancel();
  }

 private:
  std::vector<std::shared_ptr<CallHandle>> handles_;
};

// The answers of a warm-up: the first error, if there is one, else the first copy's.
struct WarmUpAnswers {
  std::mutex mutex;
  size_t left;
  absl::StatusOr<c10::IValue> answer;
  Callback callback;

  void Take(size_t copy, absl::StatusOr<c10::IValue> one) {
    {
      const std::lock_guard lock(mutex);
      if (answer.ok() && (copy == 0 || !one.ok())) answer = std::move(one);
      if (--left > 0) return;
    }
    callback(std::move(answer));
  }
};

}  // namespace

// How many calls each copy has, and who is next where that is the same.
class SpreadModel::Turns {
 public:
  explicit Turns(size_t copies) : under_way_(copies) {}

  size_t Take(const std::vector<Copy>& copies, std::optional<c10::Device> device) {
    const std::lock_guard lock(mutex_);
    std::optional<size_t> best;
    for (size_t i = 0; i < copies.size(); ++i) {
      const size_t copy = (next_ + i) % copies.size();
      if (copies[copy].health != nullptr && copies[copy].health->failed()) continue;
      if (device && copies[copy].device == *device) {
        best = copy;
        break;
      }
      if (!best || under_way_[copy] < under_way_[*best]) best = copy;
    }
    const size_t taken = best.value_or(0);
    ++under_way_[taken];
    next_ = (taken + 1) % copies.size();
    return taken;
  }
  void GiveBack(size_t copy) {
    const std::lock_guard lock(mutex_);
    --under_way_[copy];
  }

 private:
  std::mutex mutex_;
  std::vector<size_t> under_way_;
  size_t next_ = 0;
};

// One of a copy's calls.
class SpreadModel::Turn {
 public:
  Turn(std::shared_ptr<Turns> turns, size_t copy) : turns_(std::move(turns)), copy_(copy) {}
  ~Turn() { turns_->GiveBack(copy_); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  size_t copy() const { return copy_; }

 private:
  const std::shared_ptr<Turns> turns_;
  const size_t copy_;
};

SpreadModel::SpreadModel(std::vector<Copy> copies)
    : copies_(std::move(copies)), turns_(std::make_shared<Turns>(copies_.size())) {}

std::shared_ptr<const SpreadModel::Turn> SpreadModel::Choose(const Arguments& args,
                                                             const KeywordArguments& kwargs) const {
  return std::make_shared<const Turn>(turns_, turns_->Take(copies_, DeviceOfInputs(args, kwargs)));
}

std::shared_ptr<CallHandle> SpreadModel::CallAsync(std::string_view method, Arguments args, KeywordArguments kwargs,
                                                   CallOptions options, Callback callback) {
  if (options.is_warmup) return WarmUp(method, args, kwargs, options, std::move(callback));
  std::shared_ptr<const Turn> turn = Choose(args, kwargs);
  Model& model = *copies_[turn->copy()].model;
  return model.CallAsync(
      method, std::move(args), std::move(kwargs), std::move(options),
      [turn = std::move(turn), callback = std::move(callback)](absl::StatusOr<c10::IValue> answer) mutable {
        turn.reset();
        callback(std::move(answer));
      });
}

std::shared_ptr<CallHandle> SpreadModel::WarmUp(std::string_view method, const Arguments& args,
                                                const KeywordArguments& kwargs, const CallOptions& options,
                                                Callback callback) {
  const auto answers = std::make_shared<WarmUpAnswers>();
  answers->left = copies_.size();
  answers->answer = c10::IValue();
  answers->callback = std::move(callback);
  auto handles = std::make_shared<Handles>();
  for (size_t i = 0; i < copies_.size(); ++i) {
    CallOptions own = options;
    // What a caller is told of its call is what the first one did.
    if (i > 0) {
      own.on_start = nullptr;
      own.report = nullptr;
      own.tier = nullptr;
    }
    handles->Add(copies_[i].model->CallAsync(
        method, args, kwargs, std::move(own),
        [answers, i](absl::StatusOr<c10::IValue> answer) { answers->Take(i, std::move(answer)); }));
  }
  return handles;
}

absl::StatusOr<c10::IValue> SpreadModel::Call(std::string_view method, Arguments args, KeywordArguments kwargs,
                                              CallOptions options) {
  const auto turn = Choose(args, kwargs);
  return copies_[turn->copy()].model->Call(method, std::move(args), std::move(kwargs), std::move(options));
}

absl::StatusOr<c10::IValue> SpreadModel::CallModule(Arguments args, KeywordArguments kwargs, CallOptions options) {
  const auto turn = Choose(args, kwargs);
  return copies_[turn->copy()].model->CallModule(std::move(args), std::move(kwargs), std::move(options));
}

std::vector<PlanInfo> SpreadModel::plans(bool with_graphs) const {
  std::vector<PlanInfo> all;
  for (const Copy& copy : copies_) std::ranges::move(copy.model->plans(with_graphs), std::back_inserter(all));
  return all;
}

std::vector<FrequentCall> SpreadModel::frequent_calls(size_t most) const {
  std::vector<FrequentCall> all;
  for (const Copy& copy : copies_) {
    for (FrequentCall& call : copy.model->frequent_calls(most)) {
      const auto same = std::ranges::find_if(
          all, [&](const FrequentCall& known) { return known.method == call.method && known.sizes == call.sizes; });
      if (same == all.end()) {
        all.push_back(std::move(call));
      } else {
        same->calls += call.calls;
      }
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &FrequentCall::calls);
  if (all.size() > most) all.resize(most);
  return all;
}

std::vector<CompilationInfo> SpreadModel::compilations() const {
  std::vector<CompilationInfo> all;
  for (const Copy& copy : copies_) std::ranges::move(copy.model->compilations(), std::back_inserter(all));
  return all;
}

PlanCounts SpreadModel::plan_counts() const {
  PlanCounts all;
  for (const Copy& copy : copies_) {
    const PlanCounts one = copy.model->plan_counts();
    for (const auto count :
         {&PlanCounts::specs, &PlanCounts::failed, &PlanCounts::specialised, &PlanCounts::exact, &PlanCounts::bytes,
          &PlanCounts::copied_bytes, &PlanCounts::recorded_bytes, &PlanCounts::bailouts, &PlanCounts::guard_failures,
          &PlanCounts::plan_exceptions, &PlanCounts::invalidated}) {
      all.*count += one.*count;
    }
    for (size_t tier = 0; tier < std::size(all.calls); ++tier) all.calls[tier] += one.calls[tier];
  }
  return all;
}

std::shared_ptr<const void> SpreadModel::WhenWarm(std::function<void()> done) {
  const auto left = std::make_shared<std::atomic<size_t>>(copies_.size());
  const auto one_is_warm = [left, done = std::move(done)] {
    if (left->fetch_sub(1) == 1) done();
  };
  auto waits = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (const Copy& copy : copies_) waits->push_back(copy.model->WhenWarm(one_is_warm));
  return waits;
}

uint64_t SpreadModel::weight_bytes() const {
  uint64_t bytes = 0;
  for (const Copy& copy : copies_) bytes += copy.model->weight_bytes();
  return bytes;
}

uint64_t SpreadModel::code_bytes() const {
  uint64_t bytes = 0;
  for (const Copy& copy : copies_) bytes += copy.model->code_bytes();
  return bytes;
}

MemoryUse SpreadModel::memory_use() const {
  MemoryUse use;
  for (const Copy& copy : copies_) use += copy.model->memory_use();
  return use;
}

}  // namespace hearth
