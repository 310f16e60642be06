#include "jit/executor/background_compiler.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/resource.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "jit/executor/held_compiler.h"
#include "jit/support/errors.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"
#include "jit/support/processor_time.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;
using Run = std::function<void(CompileProgress&)>;

CompileJob Job(Run run, double worth = 1, std::function<void(CompileOutcome)> ended = {}) {
  return {"graph", [worth] { return worth; }, {{"stage", std::move(run)}}, std::move(ended)};
}

class BackgroundCompilerTest : public testing::Test {
 protected:
  void Make(const BackgroundCompiler::Settings& settings) {
    client_.reset();
    compiler_ = std::make_shared<BackgroundCompiler>(settings);
    client_.emplace(compiler_);
  }
  void SetUp() override {
    SetLogSink(std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
    Make({});
  }
  void TearDown() override {
    client_.reset();
    compiler_.reset();
    SetLogSink(nullptr);
  }

  // A request would give up where this tries again: the compiler's threads may hold the lock for a moment.
  static void Enqueue(CompileClient& client, const std::function<CompileJob()>& job) {
    while (!client.TryEnqueue(job())) std::this_thread::yield();
  }
  void Enqueue(const std::function<CompileJob()>& job) { Enqueue(*client_, job); }
  void Finish() { ASSERT_TRUE(client_->WaitUntilIdle(Clock::time_point::max())); }
  // Until the one job that runs sleeps between its passes.
  void AwaitRest() const {
    for (;;) {
      const std::vector<BackgroundCompiler::Running> running = client_->running();
      if (running.size() == 1 && running[0].resting) return;
      std::this_thread::yield();
    }
  }

  std::ostringstream log_;
  std::shared_ptr<BackgroundCompiler> compiler_;
  std::optional<CompileClient> client_;
};

TEST_F(BackgroundCompilerTest, TheMostWorthwhileJobIsTakenFirstByWhatItIsWorthThen) {
  HeldCompiler held(compiler_);
  std::vector<int> order;
  std::atomic<double> rising{0};
  const auto record = [&](int number) { return [&order, number](CompileProgress&) { order.push_back(number); }; };
  Enqueue([&] { return Job(record(1), 1); });
  Enqueue([&] { return Job(record(2), 3); });
  Enqueue([&] { return CompileJob{"graph", [&] { return rising.load(); }, {{"stage", record(3)}}, {}}; });
  Enqueue([&] { return Job(record(4), 1); });
  EXPECT_EQ(compiler_->counters().queued, 4);
  rising = 2;
  held.Release();
  Finish();
  EXPECT_EQ(order, (std::vector<int>{2, 3, 1, 4}));
  EXPECT_EQ(compiler_->counters().done, 1 + 4);
}

TEST_F(BackgroundCompilerTest, AFullQueueKeepsTheMoreWorthwhile) {
  BackgroundCompiler::Settings settings;
  settings.max_queued = 2;
  Make(settings);
  HeldCompiler held(compiler_);
  std::mutex mutex;
  std::vector<std::pair<double, CompileOutcome>> ended;
  const auto job = [&](double worth) {
    return Job([](CompileProgress&) {}, worth,
               [&, worth](CompileOutcome outcome) {
                 std::lock_guard lock(mutex);
                 ended.emplace_back(worth, outcome);
               });
  };
  Enqueue([&] { return job(1); });
  Enqueue([&] { return job(3); });
  while (compiler_->counters().dropped == 0) EXPECT_FALSE(client_->TryEnqueue(job(1)));
  Enqueue([&] { return job(2); });
  EXPECT_EQ(compiler_->counters().queued, 2);
  held.Release();
  Finish();
  EXPECT_THAT(ended, testing::UnorderedElementsAre(std::pair(1.0, CompileOutcome::kDropped),
                                                   std::pair(3.0, CompileOutcome::kDone),
                                                   std::pair(2.0, CompileOutcome::kDone)));
  EXPECT_EQ(compiler_->counters().dropped, 2);
}

TEST_F(BackgroundCompilerTest, AJobThatThrowsIsCountedAndLoggedAndTheNextOneRuns) {
  std::vector<CompileOutcome> ended;
  const auto end = [&](CompileOutcome outcome) { ended.push_back(outcome); };
  Enqueue([&] {
    CompileJob job = Job(
        [](CompileProgress& progress) {
          progress.Begin("dead_code");
          progress.Begin("fuse");
          throw std::runtime_error("no such shape");
        },
        1, end);
    job.graph = "Net.forward";
    return job;
  });
  Finish();
  Enqueue([&] { return Job([](CompileProgress&) { throw 5; }, 1, end); });
  Finish();
  Enqueue([&] { return Job([](CompileProgress&) {}, 1, end); });
  Finish();
  EXPECT_EQ(ended, (std::vector{CompileOutcome::kFailed, CompileOutcome::kFailed, CompileOutcome::kDone}));
  EXPECT_EQ(compiler_->counters().failed, 2);
  EXPECT_THAT(log_.str(), testing::HasSubstr("compiling Net.forward failed in stage (fuse): no such shape"));
  EXPECT_THAT(log_.str(),
              testing::HasSubstr("compiling graph failed in stage (no pass yet): an exception of unknown type"));
}

TEST_F(BackgroundCompilerTest, AClientThatEndsStopsItsJobsAndNoOthers) {
  CompileClient other(compiler_);
  std::latch begun(1);
  std::vector<CompileOutcome> ended;
  auto held = std::make_shared<int>(1);
  const auto end = [&](CompileOutcome outcome) { ended.push_back(outcome); };
  Enqueue([&] {
    return Job(
        [&begun, held](CompileProgress& progress) {
          begun.count_down();
          while (!progress.token()->cancelled()) std::this_thread::yield();
          progress.Begin("pass");
          FAIL() << "it is not wanted any more";
        },
        1, end);
  });
  begun.wait();
  std::atomic<bool> other_ran{false};
  Enqueue([&] { return Job([held](CompileProgress&) { FAIL() << "it was pending"; }, 1, end); });
  Enqueue(other, [&] { return Job([&](CompileProgress&) { other_ran = true; }); });
  client_->Cancel();
  EXPECT_EQ(ended, (std::vector{CompileOutcome::kCancelled, CompileOutcome::kCancelled}));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(client_->TryEnqueue(Job([](CompileProgress&) {})));
  ASSERT_TRUE(other.WaitUntilIdle(Clock::time_point::max()));
  EXPECT_TRUE(other_ran);
  EXPECT_EQ(compiler_->counters().cancelled, 2);
}

TEST_F(BackgroundCompilerTest, ARunningJobSeesItsTokenWithoutReachingAPass) {
  std::latch begun(1);
  Enqueue([&] {
    return Job([&](CompileProgress& progress) {
      begun.count_down();
      while (!progress.token()->cancelled()) std::this_thread::yield();
    });
  });
  begun.wait();
  client_->Cancel();
  EXPECT_EQ(compiler_->counters().done, 1) << "it went on to its end all the same";
}

TEST_F(BackgroundCompilerTest, AJobMayHoldTheLastReferenceToItsClient) {
  auto client = std::make_unique<CompileClient>(compiler_);
  std::promise<CompileOutcome> ended;
  std::latch all_in(1);
  CompileClient& jobs = *client;
  Enqueue(jobs, [&] {
    return Job(
        [&](CompileProgress& progress) {
          all_in.wait();
          client.reset();
          progress.Begin("pass");
        },
        1, [&](CompileOutcome outcome) { ended.set_value(outcome); });
  });
  Enqueue(jobs, [&] { return Job([](CompileProgress&) { FAIL() << "its client has ended"; }, 0.5); });
  all_in.count_down();
  EXPECT_EQ(ended.get_future().get(), CompileOutcome::kCancelled);
}

TEST_F(BackgroundCompilerTest, AQueuedJobCanBeCancelled) {
  const HeldCompiler held(compiler_);
  Enqueue([&] { return Job([](CompileProgress&) {}); });
  EXPECT_FALSE(client_->WaitUntilIdle(Clock::now()));
  client_->Cancel();
  EXPECT_EQ(compiler_->counters().cancelled, 1);
}

TEST_F(BackgroundCompilerTest, ThoseWhoAreToldMayThrowAndTheNextJobRuns) {
  {
    HeldCompiler held(compiler_);
    Enqueue([&] { return Job([](CompileProgress&) {}, 1, [](CompileOutcome) { throw std::bad_alloc(); }); });
    const auto wait = client_->WhenIdle([] { throw std::runtime_error("no such call"); });
    held.Release();
    Finish();
  }
  std::atomic<bool> ran{false};
  Enqueue([&] { return Job([&](CompileProgress&) { ran = true; }, 1, [](CompileOutcome) { throw 5; }); });
  Finish();
  EXPECT_TRUE(ran);
  client_.reset();
  compiler_.reset();
  EXPECT_THAT(log_.str(), testing::HasSubstr("bad_alloc"));
  EXPECT_THAT(log_.str(), testing::HasSubstr("no such call"));
}

// A job of a compiler whose share is used up, by any job, for longer than a lifetime. Requests are served when the test
// says so.
class OwingJobTest : public BackgroundCompilerTest {
 protected:
  void SetUp() override {
    BackgroundCompilerTest::SetUp();
    BackgroundCompiler::Settings settings;
    settings.processor_share = 1e-9;
    settings.serving = [this] {
      ++asked_;
      return serving_.load();
    };
    Make(settings);
  }
  // Uses up the share when it is begun, and comes to its next pass.
  void Owe() {
    Enqueue([&] {
      return Job([&](CompileProgress& progress) {
        const auto start = ProcessorTimeOfThread();
        while (ProcessorTimeOfThread() - start < std::chrono::milliseconds(20)) {
        }
        progress.Begin("next");
        went_on_ = true;
      });
    });
  }
  // Until the compiler has been told thrice what is served, unless it goes on meanwhile: it has rested between.
  void AwaitQuestions() const {
    for (const int before = asked_; asked_ < before + 3 && !went_on_;) std::this_thread::yield();
  }

  std::atomic<int> asked_{0};
  std::atomic<bool> serving_{false};
  std::atomic<bool> went_on_{false};
};

TEST_F(OwingJobTest, RestsBeforeTheNextPass) {
  Owe();
  AwaitRest();
  EXPECT_EQ(client_->running()[0].graph, "graph");
  EXPECT_EQ(client_->running()[0].stage, "stage");
  EXPECT_EQ(client_->running()[0].pass, "next");
  EXPECT_THAT(CompileClient(compiler_).running(), testing::IsEmpty()) << "it is another one's";
  EXPECT_GT(compiler_->counters().processor_seconds, 0.015);
  client_->Cancel();
  EXPECT_FALSE(went_on_);
}

TEST_F(OwingJobTest, GoesOnWhileSomebodyWaits) {
  Owe();
  AwaitRest();
  Finish();
  EXPECT_TRUE(went_on_);
}

TEST_F(OwingJobTest, GoesOnWhileSomebodyIsToBeTold) {
  Owe();
  AwaitRest();
  std::promise<void> told;
  const auto wait = client_->WhenIdle([&] { told.set_value(); });
  told.get_future().wait();
  EXPECT_TRUE(went_on_);
}

TEST_F(OwingJobTest, RestsWhileRequestsAreServedWhoeverWaits) {
  serving_ = true;
  Owe();
  AwaitRest();
  std::promise<void> told;
  const auto wait = client_->WhenIdle([&] { told.set_value(); });
  AwaitQuestions();
  EXPECT_FALSE(went_on_);
  serving_ = false;
  told.get_future().wait();
  EXPECT_TRUE(went_on_);
}

TEST_F(OwingJobTest, OwesWhatItUsesWhileRequestsAreServedWhoeverWaits) {
  serving_ = true;
  HeldCompiler held(compiler_);
  Owe();
  std::promise<void> told;
  const auto wait = client_->WhenIdle([&] { told.set_value(); });
  held.Release();
  AwaitQuestions();
  EXPECT_FALSE(went_on_);
  serving_ = false;
  told.get_future().wait();
  EXPECT_TRUE(went_on_);
}

TEST_F(OwingJobTest, OwesNothingOfWhatItUsesForThoseWhoWaitWhileNobodyIsServed) {
  HeldCompiler held(compiler_);
  Owe();
  std::promise<void> told;
  const auto wait = client_->WhenIdle([&] { told.set_value(); });
  held.Release();
  told.get_future().wait();
  serving_ = true;
  Enqueue([&] { return Job([](CompileProgress& progress) { progress.Begin("pass"); }); });
  while (compiler_->counters().done < 1 + 2) std::this_thread::yield();
}

TEST_F(BackgroundCompilerTest, WhoeverAsksToBeToldIsToldOnceAndNotIfHeLeaves) {
  std::atomic<int> told{0};
  EXPECT_EQ(client_->WhenIdle([&] { ++told; }), nullptr) << "there is nothing to wait for";
  EXPECT_EQ(told, 1);
  HeldCompiler held(compiler_);
  Enqueue([&] { return Job([](CompileProgress&) {}); });
  Enqueue([&] { return Job([](CompileProgress&) { throw 5; }); });
  std::promise<void> last;
  const auto stays = client_->WhenIdle([&] {
    told += 10;
    last.set_value();
  });
  auto leaves = client_->WhenIdle([&] { told += 100; });
  leaves.reset();
  EXPECT_EQ(told, 1);
  held.Release();
  last.get_future().wait();
  Enqueue([&] { return Job([](CompileProgress&) {}); });
  Finish();
  EXPECT_EQ(told, 11);
}

TEST_F(BackgroundCompilerTest, TheEndOfAClientIsTheEndOfAllWaits) {
  const HeldCompiler held(compiler_);
  Enqueue([&] { return Job([](CompileProgress&) {}); });
  std::atomic<bool> told{false};
  const auto wait = client_->WhenIdle([&] { told = true; });
  client_->Cancel();
  EXPECT_TRUE(told);
}

TEST_F(BackgroundCompilerTest, JobsRunAtTheLeastOfTheUsualPrioritiesOnTheirOwnThreadOnly) {
  const int before = at::get_num_threads();
  Enqueue([&] {
    return Job([&](CompileProgress&) {
      EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
      EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 19);
      EXPECT_EQ(at::get_num_threads(), 1);
    });
  });
  Finish();
  EXPECT_EQ(at::get_num_threads(), before);
  std::thread([&] { EXPECT_EQ(at::get_num_threads(), before); }).join();
}

// How often the calling thread has left its processor of its own accord.
int64_t TimesLeft() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST_F(BackgroundCompilerTest, AJobThatWorkedForAWhileLeavesItsProcessorToOthersForAMoment) {
  BackgroundCompiler::Settings settings;
  settings.serving = [] { return true; };
  Make(settings);
  Enqueue([&] {
    return Job([&](CompileProgress& progress) {
      const auto work = [&](double seconds) {
        const auto until = ProcessorTimeOfThread() + std::chrono::duration<double>(seconds);
        while (ProcessorTimeOfThread() < until) continue;
        const int64_t before = TimesLeft();
        progress.Begin("pass");
        return TimesLeft() - before;
      };
      EXPECT_GE(work(2e-3), 1);
      EXPECT_GE(work(2e-3), 1);
    });
  });
  Finish();
}

TEST_F(BackgroundCompilerTest, AJobThatAsksForTooMuchMemoryFails) {
  BackgroundCompiler::Settings settings;
  settings.job_memory = 64 << 20;
  Make(settings);
  std::promise<CompileOutcome> ended;
  Enqueue([&] {
    return Job([](CompileProgress&) { MemoryAccount::RequireRoom(size_t{65} << 20); }, 1,
               [&](CompileOutcome outcome) { ended.set_value(outcome); });
  });
  EXPECT_EQ(ended.get_future().get(), CompileOutcome::kFailed);
}

TEST_F(BackgroundCompilerTest, AJobThatTakesTooLongFails) {
  BackgroundCompiler::Settings settings;
  settings.job_seconds = 0.02;
  Make(settings);
  std::promise<CompileOutcome> ended;
  const auto endless = [](CompileProgress& progress) {
    for (;;) progress.Begin("pass");
  };
  Enqueue([&] { return Job(endless, 1, [&](CompileOutcome outcome) { ended.set_value(outcome); }); });
  EXPECT_EQ(ended.get_future().get(), CompileOutcome::kFailed);
  EXPECT_THAT(log_.str(), testing::HasSubstr("failed in stage (pass): it took more than 0.02"));
}

TEST_F(BackgroundCompilerTest, StagesRunOneAfterTheOtherUntilOneFails) {
  std::vector<std::string> begun;
  const auto stage = [&](std::string name) {
    return CompileJob::Stage{name, [&, name](CompileProgress& progress) {
                               begun.push_back(name + " " + client_->running()[0].stage);
                               EXPECT_EQ(client_->running()[0].pass, "") << "a stage begins with no pass";
                               progress.Begin("pass");
                               if (name == "second") throw std::runtime_error("no");
                             }};
  };
  std::promise<CompileOutcome> ended;
  Enqueue([&] {
    return CompileJob{"graph",
                      [] { return 1.0; },
                      {stage("first"), stage("second"), stage("third")},
                      [&](CompileOutcome outcome) { ended.set_value(outcome); }};
  });
  EXPECT_EQ(ended.get_future().get(), CompileOutcome::kFailed);
  EXPECT_THAT(begun, testing::ElementsAre("first first", "second second"));
  EXPECT_THAT(log_.str(), testing::HasSubstr("compiling graph failed in second (pass): no"));
}

TEST_F(BackgroundCompilerTest, EnqueueingGivesUpWhereTheLockIsTaken) {
  std::latch asked(1), answer(1);
  std::once_flag once;
  HeldCompiler held(compiler_);
  const auto worth = [&] {
    std::call_once(once, [&] {
      asked.count_down();
      answer.wait();
    });
    return 1.0;
  };
  for (int i = 0; i < 2; ++i)
    Enqueue([&] { return CompileJob{"graph", worth, {{"stage", [](CompileProgress&) {}}}, {}}; });
  // The compiler's thread compares the jobs, under the lock.
  held.Release();
  asked.wait();
  EXPECT_FALSE(client_->TryEnqueue(Job([](CompileProgress&) {})));
  answer.count_down();
  Finish();
  EXPECT_GE(compiler_->counters().busy, 1);
}

// Clients come and go on several threads, and so do requests: every job that was taken ends once, and none runs after
// its client's end.
TEST_F(BackgroundCompilerTest, EveryJobThatWasTakenEndsOnceWhateverHappensAtTheSameTime) {
  BackgroundCompiler::Settings settings;
  settings.threads = 2;
  settings.max_queued = 8;
  settings.processor_share = 0.5;
  std::atomic<bool> serving{false};
  settings.serving = [&] { return serving.load(); };
  Make(settings);
  constexpr int kThreads = 3;
  std::atomic<int> taken{0};
  std::atomic<int> ended{0};
  std::atomic<int> late{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        for (int round = 0; round < 60; ++round) {
          auto alive = std::make_shared<std::atomic<bool>>(true);
          CompileClient client(compiler_);
          for (int i = 0; i < 10; ++i) {
            taken += client.TryEnqueue(Job(
                [&late, alive, i](CompileProgress& progress) {
                  if (!*alive) ++late;
                  progress.Begin("pass");
                  if (i % 4 == 0) throw CancelledError(CancelledError::Reason::kDeadline);
                },
                static_cast<double>(random() % 100), [&](CompileOutcome) { ++ended; }));
          }
          serving = random() % 2 == 0;
          if (random() % 4 == 0) client.running();
          if (random() % 2 == 0) client.WaitUntilIdle(Clock::now());
          client.Cancel();
          *alive = false;
        }
      });
    }
  }
  EXPECT_EQ(ended, taken);
  EXPECT_GT(taken, 0);
  EXPECT_EQ(late, 0);
  const BackgroundCompiler::Counters counters = compiler_->counters();
  EXPECT_EQ(counters.queued + counters.running, 0);
}

}  // namespace
}  // namespace hearth
