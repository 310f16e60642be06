#include "server/scheduling/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <future>
#include <string>
#include <thread>

#include "server/repository/fake_runtime.h"
#include "server/scheduling/trust.h"

namespace hearth::server {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;

void RunHere(const std::function<void()>& work) { work(); }

// A model whose calls wait while its gate is shut; what it admitted is reported as answered.
class DispatcherTest : public ::testing::Test {
 protected:
  DispatcherTest() {
    auto servable = std::make_shared<Servable>();
    servable->name = "m";
    servable->model = std::make_shared<FakeModel>("yes", &gate_);
    servable->statistics = std::make_shared<ModelStatistics>();
    servable_ = servable;
    changeable_ = servable.get();
  }

  absl::StatusOr<std::shared_ptr<CallHandle>> Dispatch(Dispatcher& dispatcher, DispatchedCall call = {}) {
    call.on_start = [this] { started_.set_value(); };
    started_ = {};
    auto handle =
        dispatcher.Dispatch(servable_, std::move(call), [this](absl::StatusOr<c10::IValue> result, const Execution&) {
          servable_->statistics->Succeeded({}, 1, 1);
          std::lock_guard lock(mutex_);
          results_.push_back(std::move(result));
        });
    if (handle.ok()) started_.get_future().wait();
    return handle;
  }

  bool Drained(Dispatcher& dispatcher) {
    return dispatcher.WaitUntilIdle(steady_clock::now() + std::chrono::seconds(60));
  }

  Gate gate_;
  ServablePtr servable_;
  Servable* changeable_;
  std::promise<void> started_;
  std::mutex mutex_;
  std::vector<absl::StatusOr<c10::IValue>> results_;
};

TEST_F(DispatcherTest, ACallIsAnsweredAndCounted) {
  Dispatcher dispatcher({}, RunHere);
  gate_.Shut();
  ASSERT_TRUE(Dispatch(dispatcher).ok());
  EXPECT_EQ(dispatcher.in_flight(), 1);
  gate_.Open();
  ASSERT_TRUE(Drained(dispatcher));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0]->toStringRef(), "yes");
  EXPECT_EQ(servable_->statistics->snapshot().pending, 0);
}

TEST_F(DispatcherTest, WorkForARequestThatIsNotYetDispatchedIsUnderWayUntilItEnds) {
  std::function<void()> posted;
  Dispatcher dispatcher({.max_in_flight = 1}, [&](std::function<void()> work) { posted = std::move(work); });
  int runs = 0;
  ASSERT_TRUE(dispatcher.Post(WorkLength::kShort, [&] { ++runs; }).ok());
  EXPECT_EQ(dispatcher.in_flight(), 1);
  EXPECT_EQ(dispatcher.Post(WorkLength::kShort, [&] { ++runs; }).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(dispatcher.WaitUntilIdle(steady_clock::now()));
  posted();
  EXPECT_TRUE(Drained(dispatcher));
  EXPECT_EQ(runs, 1);
  dispatcher.StopAccepting();
  EXPECT_EQ(dispatcher.Post(WorkLength::kShort, [&] { ++runs; }).code(), absl::StatusCode::kUnavailable);
}

TEST_F(DispatcherTest, OfWorkThatTakesLongSomeIsDoneAtATimeInOrder) {
  std::deque<std::function<void()>> posted;
  Dispatcher dispatcher({.max_in_flight = 6, .max_long_works = 2},
                        [&](std::function<void()> work) { posted.push_back(std::move(work)); });
  std::string done;
  const auto post = [&](WorkLength length, char name) {
    return dispatcher.Post(length, [&done, name] { done += name; }).ok();
  };
  const auto run_first = [&] {
    const auto work = std::move(posted.front());
    posted.pop_front();
    work();
  };
  for (const char name : {'a', 'b', 'c', 'd'}) ASSERT_TRUE(post(WorkLength::kLong, name));
  EXPECT_EQ(posted.size(), 2U);
  ASSERT_TRUE(post(WorkLength::kShort, 's'));
  EXPECT_EQ(posted.size(), 3U);
  EXPECT_EQ(dispatcher.in_flight(), 5);
  run_first();
  EXPECT_EQ(posted.size(), 3U);  // 'c' has taken the place of 'a'
  while (!posted.empty()) run_first();
  EXPECT_EQ(done, "abscd");
  EXPECT_TRUE(Drained(dispatcher));
  for (const char name : {'e', 'f', 'g'}) ASSERT_TRUE(post(WorkLength::kLong, name));
  EXPECT_EQ(posted.size(), 2U);
  while (!posted.empty()) run_first();
  EXPECT_TRUE(Drained(dispatcher));
}

TEST_F(DispatcherTest, AFullServerRefusesAtOnce) {
  Dispatcher dispatcher({.max_in_flight = 2}, RunHere);
  gate_.Shut();
  ASSERT_TRUE(Dispatch(dispatcher).ok());
  ASSERT_TRUE(Dispatch(dispatcher).ok());
  const auto refused = Dispatch(dispatcher);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  gate_.Open();
  ASSERT_TRUE(Drained(dispatcher));
  EXPECT_TRUE(Dispatch(dispatcher).ok());
  ASSERT_TRUE(Drained(dispatcher));
}

// Runs of a model, in which the test says when they end.
class NamedRuns : public FakeModel {
 public:
  struct Run {
    std::string model;
    CallOptions options;
    Callback callback;
  };
  NamedRuns(std::string name, std::deque<Run>& runs) : FakeModel(name, nullptr), name_(std::move(name)), runs_(runs) {}

  bool RunsOnCaller(std::string_view) const override { return runs_on_caller; }
  std::shared_ptr<CallHandle> CallAsync(std::string_view, Arguments, KeywordArguments, CallOptions options,
                                        Callback callback) override {
    if (options.on_start) options.on_start();
    runs_.push_back({name_, std::move(options), std::move(callback)});
    return nullptr;
  }

  bool runs_on_caller = false;

 private:
  const std::string name_;
  std::deque<Run>& runs_;
};

class SharedSlotsTest : public ::testing::Test {
 protected:
  explicit SharedSlotsTest(const DispatcherOptions& options = {.max_runs = 2}) : dispatcher_(options, RunHere) {}

  std::shared_ptr<Servable> Serve(const std::string& name) {
    auto servable = std::make_shared<Servable>();
    servable->name = name;
    servable->model = std::make_shared<NamedRuns>(name, runs_);
    servable->statistics = std::make_shared<ModelStatistics>();
    return servable;
  }
  void Ask(const std::shared_ptr<Servable>& servable, int times = 1) {
    for (int i = 0; i < times; ++i) {
      const auto handle = dispatcher_.Dispatch(
          servable, {},
          [this, servable](const absl::StatusOr<c10::IValue>&, const Execution&) { answered_ += servable->name; });
      ASSERT_TRUE(handle.ok());
    }
  }
  void EndOldestRun() {
    ASSERT_FALSE(runs_.empty());
    const NamedRuns::Run run = std::move(runs_.front());
    runs_.pop_front();
    run.callback(c10::IValue());
  }
  void EndAllRuns() {
    while (!runs_.empty()) EndOldestRun();
  }

  std::deque<NamedRuns::Run> runs_;
  std::string answered_;
  Dispatcher dispatcher_;
};

TEST_F(SharedSlotsTest, AModelThatComesToAFloodOfAnotherIsServedNext) {
  const auto flood = Serve("f");
  const auto other = Serve("o");
  Ask(flood, 10);
  EXPECT_EQ(runs_.size(), 2U);
  EndOldestRun();
  Ask(other);
  EndOldestRun();
  ASSERT_EQ(runs_.size(), 2U);
  EXPECT_EQ(runs_[0].model, "f");
  EXPECT_EQ(runs_[1].model, "o") << "and not behind the eight that came before";
  EndAllRuns();
  EXPECT_EQ(answered_, "fffofffffff");
  EXPECT_TRUE(dispatcher_.WaitUntilIdle(steady_clock::now()));
}

TEST_F(SharedSlotsTest, AModelHasNoMoreRunsAtOnceThanItsOwnLimitAndLeavesTheRestToOthers) {
  const auto limited = Serve("l");
  limited->queue_settings.LimitRuns(1);
  const auto other = Serve("o");
  Ask(limited, 3);
  EXPECT_EQ(runs_.size(), 1U);
  Ask(other);
  EXPECT_EQ(runs_.size(), 2U);
  EndOldestRun();
  EXPECT_EQ(runs_.size(), 2U);
  EndAllRuns();
  EXPECT_EQ(answered_, "loll");
}

TEST_F(SharedSlotsTest, ACallThatNeedsNoThreadOfThePoolWaitsForNoSlot) {
  Ask(Serve("f"), 3);
  const auto quick = Serve("q");
  quick->short_runs = kMostTrust;
  auto& model = static_cast<NamedRuns&>(*quick->model);
  Ask(quick);
  EXPECT_EQ(runs_.size(), 2U) << "its method may have loops";
  model.runs_on_caller = true;
  Ask(quick);
  ASSERT_EQ(runs_.size(), 3U);
  EXPECT_TRUE(runs_.back().options.may_run_here);
  EndAllRuns();
}

TEST_F(SharedSlotsTest, ACallThatWaitsForASlotCanBeCancelledAndEndsAtItsDeadline) {
  const auto model = Serve("f");
  Ask(model, 2);
  std::promise<absl::StatusCode> cancelled, late;
  const auto code_to = [](std::promise<absl::StatusCode>& told) {
    return [&told](const absl::StatusOr<c10::IValue>& answer, const Execution&) {
      told.set_value(answer.status().code());
    };
  };
  auto handle = dispatcher_.Dispatch(model, {}, code_to(cancelled));
  ASSERT_TRUE(handle.ok());
  (*handle)->Cancel();
  EXPECT_EQ(cancelled.get_future().get(), absl::StatusCode::kCancelled);
  DispatchedCall call;
  call.deadline = steady_clock::now() + std::chrono::milliseconds(20);
  ASSERT_TRUE(dispatcher_.Dispatch(model, std::move(call), code_to(late)).ok());
  EXPECT_EQ(late.get_future().get(), absl::StatusCode::kDeadlineExceeded);
  EndAllRuns();
  EXPECT_EQ(answered_, "ff");
}

class CachedAnswersTest : public SharedSlotsTest {
 protected:
  CachedAnswersTest() : SharedSlotsTest({.cache_bytes = 1 << 20}) {}

  std::shared_ptr<Servable> ServeCached(const std::string& name) {
    auto servable = Serve(name);
    servable->config.mutable_response_cache()->set_enable(true);
    return servable;
  }
  // Whether an answer came without a run; what is run is answered with the argument doubled.
  bool IsCached(const std::shared_ptr<Servable>& servable, int64_t argument, const std::string& method = "forward") {
    DispatchedCall call;
    call.arguments.args = {argument};
    call.method = method;
    std::optional<int64_t> answer;
    const auto handle = dispatcher_.Dispatch(
        servable, std::move(call), [&](const absl::StatusOr<c10::IValue>& told, const Execution& execution) {
          answer = told->toInt();
          servable->statistics->Began();
          servable->statistics->Succeeded({}, 1, execution.counts ? std::optional(1) : std::nullopt);
        });
    EXPECT_TRUE(handle.ok());
    const bool cached = answer.has_value();
    if (!cached) std::exchange(runs_, {}).front().callback(2 * argument);
    EXPECT_EQ(answer, 2 * argument);
    EXPECT_EQ(dispatcher_.in_flight(), 0);
    return cached;
  }
};

TEST_F(CachedAnswersTest, TheSameArgumentsAreAnsweredWithoutARun) {
  const auto model = ServeCached("m");
  EXPECT_FALSE(IsCached(model, 1));
  EXPECT_TRUE(IsCached(model, 1));
  EXPECT_FALSE(IsCached(model, 2));
  const StatisticsSnapshot counted = model->statistics->snapshot();
  EXPECT_EQ(counted.cache_hit.count, 1U);
  EXPECT_EQ(counted.cache_miss.count, 2U);
  EXPECT_EQ(counted.execution_count, 2U);
  EXPECT_EQ(counted.success.count, 3U);
}

TEST_F(CachedAnswersTest, AnotherLoadOfTheModelAnswersForItself) {
  EXPECT_FALSE(IsCached(ServeCached("m"), 1));
  EXPECT_FALSE(IsCached(ServeCached("m"), 1));
}

TEST_F(CachedAnswersTest, WhatTheConfigurationOrTheModelDoesNotAllowIsRun) {
  const auto not_asked = Serve("m");
  const auto draws = ServeCached("d");
  static_cast<NamedRuns&>(*draws->model).not_repeatable = "draws random numbers";
  const auto has_methods = ServeCached("n");
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(IsCached(not_asked, 1));
    EXPECT_FALSE(IsCached(draws, 1));
    EXPECT_FALSE(IsCached(has_methods, 1, "other"));
  }
}

TEST_F(DispatcherTest, AModelsOwnBoundIsKeptAndNamed) {
  changeable_->queue_settings.levels[0].max_waiting = 1;
  Dispatcher dispatcher({}, RunHere);
  // One that waits: admitted by hand, as if no thread had taken it up.
  ASSERT_TRUE(servable_->statistics->Admit(1));
  const auto refused = Dispatch(dispatcher);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("model 'm' is full: 1 requests wait"));
  EXPECT_EQ(dispatcher.in_flight(), 0);
}

TEST_F(DispatcherTest, ADrainingServerRefusesButAnswersWhatIsInFlight) {
  Dispatcher dispatcher({}, RunHere);
  gate_.Shut();
  ASSERT_TRUE(Dispatch(dispatcher).ok());
  dispatcher.StopAccepting();
  EXPECT_EQ(Dispatch(dispatcher).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(dispatcher.WaitUntilIdle(steady_clock::now()));
  gate_.Open();
  EXPECT_TRUE(Drained(dispatcher));
  EXPECT_TRUE(results_.at(0).ok());
}

TEST_F(DispatcherTest, ARequestWhoseDeadlineHasPassedIsNotRun) {
  Dispatcher dispatcher({}, RunHere);
  DispatchedCall call;
  call.deadline = steady_clock::now() - std::chrono::milliseconds(1);
  EXPECT_EQ(Dispatch(dispatcher, std::move(call)).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(DispatcherTest, ACallCanBeCancelled) {
  Dispatcher dispatcher({}, RunHere);
  gate_.Shut();
  auto handle = Dispatch(dispatcher);
  ASSERT_TRUE(handle.ok());
  (*handle)->Cancel();
  gate_.Open();
  ASSERT_TRUE(Drained(dispatcher));
  EXPECT_EQ(results_.at(0).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(DispatcherTest, OnlySmallRequestsOfAModelThatHasLongBeenQuickMayRunOnTheirCallersThread) {
  Dispatcher dispatcher({}, RunHere);
  const auto allowed = [&](size_t bytes) {
    DispatchedCall call;
    call.bytes = bytes;
    EXPECT_TRUE(Dispatch(dispatcher, std::move(call)).ok());
    EXPECT_TRUE(Drained(dispatcher));
    return static_cast<const FakeModel&>(*servable_->model).allowed_here();
  };
  servable_->short_runs = 15;
  EXPECT_FALSE(allowed(100));
  servable_->short_runs = 16;
  EXPECT_TRUE(allowed(100));
  servable_->short_runs = 16;
  EXPECT_FALSE(allowed(1 << 20));

  // Runs that are not short cost it.
  servable_->short_runs = 16;
  gate_.Shut();
  ASSERT_TRUE(Dispatch(dispatcher).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // how long the run takes
  gate_.Open();
  ASSERT_TRUE(Drained(dispatcher));
  EXPECT_LE(servable_->short_runs, 8);
}

TEST(Trust, OneThatIsNotQuickCostsSomeAndOneThatIsSlowAll) {
  constexpr QuickTimes kTimes{.quick = std::chrono::microseconds(50), .slow = std::chrono::milliseconds(20)};
  const auto after = [&](int trust, std::chrono::microseconds time) { return TrustAfter(trust, time, kTimes); };
  EXPECT_EQ(after(0, std::chrono::microseconds(50)), 1);
  EXPECT_EQ(after(kMostTrust, std::chrono::microseconds(1)), kMostTrust);
  EXPECT_EQ(after(3, std::chrono::microseconds(51)), 0);
  EXPECT_EQ(after(kMostTrust, std::chrono::milliseconds(20)), 0);
  // A model that is known as quick keeps its place when a thread is put aside for once or twice.
  EXPECT_GE(after(after(kMostTrust, std::chrono::milliseconds(19)), std::chrono::milliseconds(4)), kEnoughTrust);
}

TEST_F(DispatcherTest, AThreadThatOthersWaitForRunsModelsWhoseAnswersAreQuick) {
  Dispatcher dispatcher({}, RunHere);
  servable_->short_runs = 16;
  const auto allowed = [&](size_t bytes) {
    DispatchedCall call;
    call.bytes = bytes;
    call.caller = CallerThread::kOnlyOne;
    EXPECT_TRUE(Dispatch(dispatcher, std::move(call)).ok());
    EXPECT_TRUE(Drained(dispatcher));
    return static_cast<const FakeModel&>(*servable_->model).allowed_here();
  };
  servable_->quick_requests = 15;
  EXPECT_FALSE(allowed(100));
  servable_->quick_requests = 16;
  EXPECT_TRUE(allowed(100));
  servable_->quick_requests = 16;
  EXPECT_FALSE(allowed(1 << 20));

  const auto after = [&](std::chrono::milliseconds run) {
    servable_->quick_requests = 32;
    gate_.Shut();
    EXPECT_TRUE(Dispatch(dispatcher).ok());
    std::this_thread::sleep_for(run);
    gate_.Open();
    EXPECT_TRUE(Drained(dispatcher));
    return servable_->quick_requests.load();
  };
  // One that is slow for once costs as many as eight quick ones give, or all if it is slow by orders of magnitude.
  EXPECT_LE(after(std::chrono::milliseconds(1)), 24);
  EXPECT_EQ(after(std::chrono::milliseconds(10)), 0);
}

}  // namespace
}  // namespace hearth::server
