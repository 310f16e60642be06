// A Batcher with a clock, threads and runs that the test moves by hand.
#pragma once

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/repository/fake_runtime.h"
#include "server/scheduling/batcher.h"

namespace hearth::server {

// A run under way: the test answers it.
struct RunUnderWay {
  Arguments args;
  CallOptions options;
  Callback callback;
  std::shared_ptr<CallHandle> handle;

  const at::Tensor& x() const { return args[0].toTensor(); }
};

struct Cancellable : CallHandle {
  void Cancel() override { cancelled = true; }
  bool cancelled = false;
};

class RunsByHand : public FakeModel {
 public:
  explicit RunsByHand(std::deque<RunUnderWay>* runs) : FakeModel("", nullptr), runs_(*runs) {}

  std::shared_ptr<CallHandle> CallAsync(std::string_view, Arguments args, KeywordArguments, CallOptions options,
                                        Callback callback) override {
    if (options.on_start) options.on_start();
    auto handle = std::make_shared<Cancellable>();
    runs_.push_back({std::move(args), std::move(options), std::move(callback), handle});
    if (meanwhile) meanwhile();
    return handle;
  }

  std::function<void()> meanwhile;  // done while a call is being started

 private:
  std::deque<RunUnderWay>& runs_;
};

class FakeHost : public BatcherHost {
 public:
  TimePoint now() const override { return time; }
  void RunElsewhere(std::function<void()> work) override { posted.push_back(std::move(work)); }
  void CallAt(TimePoint at, std::function<void()> alarm) override { alarms.emplace(at, std::move(alarm)); }
  std::shared_ptr<CallHandle> RunCall(ServablePtr servable, DispatchedCall call, DispatchCallback callback) override {
    CallOptions options;
    options.deadline = call.deadline;
    if (!call.has_begun) options.on_start = std::move(call.on_start);
    const Execution execution{.rows = call.rows, .counts = true};
    return servable->model->CallAsync(
        call.method, std::move(call.arguments.args), std::move(call.arguments.kwargs), std::move(options),
        [this, callback = std::move(callback), execution](absl::StatusOr<c10::IValue> answer) {
          callback(std::move(answer), execution);
          ++calls_ended;
        });
  }
  void CallsBegan(int64_t count) override { calls_began += static_cast<int>(count); }
  void CallEnded() override { ++calls_ended; }
  void WorkBegan() override { ++works; }
  void WorkEnded() override { --works; }
  std::optional<RunSlot> TakeSlot(ModelShare& share, const std::shared_ptr<SlotWaiter>& waiter) override {
    auto slot = shares.Take(share, time);
    if (!slot && waiter != nullptr) shares.Wait(share, waiter);
    return slot;
  }
  void FreeSlot(const RunSlot& slot) override {
    shares.Free(slot, time);
    while (auto grant = shares.Next(time)) {
      if (!grant->waiter->UseSlot(grant->slot)) shares.GiveBack(grant->slot);
    }
  }
  int64_t most_batches() const override { return 1; }
  std::chrono::milliseconds longest_wait() const override { return wait_bound; }
  int64_t most_runs() const override { return 3; }
  bool pads_batches() const override { return pads; }

  // Does what is posted until nothing is.
  void Work() {
    while (!posted.empty()) {
      const auto work = std::move(posted.front());
      posted.pop_front();
      work();
    }
  }
  void Pass(std::chrono::microseconds by) {
    time += by;
    while (!alarms.empty() && alarms.begin()->first <= time) {
      const auto alarm = std::move(alarms.begin()->second);
      alarms.erase(alarms.begin());
      alarm();
    }
    Work();
  }

  bool pads = false;
  TimePoint time{std::chrono::hours(1)};
  FairShares shares{4};
  std::chrono::milliseconds wait_bound{0};
  std::deque<std::function<void()>> posted;
  std::multimap<TimePoint, std::function<void()>> alarms;
  int works = 0;
  int calls_began = 0;  // parts beyond the first
  int calls_ended = 0;
};

class BatcherTest : public ::testing::Test {
 protected:
  BatcherTest() {
    settings().max_rows = 8;
    servable_->name = "m";
    servable_->model = std::make_shared<RunsByHand>(&runs_);
    servable_->statistics = std::make_shared<ModelStatistics>();
  }
  ~BatcherTest() override {
    EXPECT_EQ(host_.works, 0) << "what was begun has ended";
    EXPECT_EQ(host_.calls_ended, accepted_ + host_.calls_began) << "each call ended once";
  }

  QueueSettings& settings() { return servable_->queue_settings; }

  // A call of `rows` rows of `value`, whose answer is noted under that name. What it waits for is done.
  absl::StatusOr<std::shared_ptr<CallHandle>> Add(float value, DispatchedCall call = {}, int64_t rows = 1,
                                                  int64_t columns = 2) {
    if (batcher_ == nullptr) batcher_ = std::make_shared<Batcher>(settings(), share_, host_);
    call.arguments.args = {at::full({rows, columns}, value)};
    call.rows = rows;
    servable_->statistics->Admit(1000);
    auto handle = batcher_->Add(servable_, std::move(call),
                                [this, value](absl::StatusOr<c10::IValue> answer, const Execution& execution) {
                                  order_.push_back(value);
                                  started_before_answer_ |= !host_.posted.empty() || !runs_.empty();
                                  answers_.emplace(value, std::move(answer));
                                  executions_.emplace(value, execution);
                                });
    if (handle.ok()) ++accepted_;
    host_.Work();
    return handle;
  }
  absl::StatusOr<std::shared_ptr<CallHandle>> AddWithPriority(float value, uint64_t priority) {
    DispatchedCall call;
    call.queue.priority = priority;
    return Add(value, std::move(call));
  }
  static DispatchedCall WithDeadline(BatcherHost::TimePoint deadline) {
    DispatchedCall call;
    call.deadline = deadline;
    return call;
  }

  // Ends the oldest run.
  void Answer(absl::StatusOr<c10::IValue> answer) {
    ASSERT_FALSE(runs_.empty());
    const RunUnderWay run = std::move(runs_.front());
    runs_.pop_front();
    run.callback(std::move(answer));
    host_.Work();
  }
  void AnswerDoubled() { Answer(c10::IValue(runs_.at(0).x() * 2)); }
  // The first column of the oldest run's tensor: who is in it.
  std::vector<float> InRun() const {
    const at::Tensor column = runs_.at(0).x().select(1, 0).contiguous();
    return {column.const_data_ptr<float>(), column.const_data_ptr<float>() + column.numel()};
  }
  float AnswerTo(float value) { return answers_.at(value)->toTensor()[0][0].item<float>(); }

  std::shared_ptr<Servable> servable_ = std::make_shared<Servable>();
  std::deque<RunUnderWay> runs_;
  FakeHost host_;
  ModelShare& share_ = host_.shares.ShareOf("m", 1);
  std::shared_ptr<Batcher> batcher_;
  int accepted_ = 0;
  std::vector<float> order_;
  bool started_before_answer_ = false;  // another run, before a call was answered
  std::map<float, absl::StatusOr<c10::IValue>> answers_;
  std::map<float, Execution> executions_;
};

}  // namespace hearth::server
