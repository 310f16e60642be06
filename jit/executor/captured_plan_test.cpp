// On a device of the test's own, whose recordings run their work again when they are launched.
#include "jit/executor/captured_plan.h"

#include <ATen/ATen.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "jit/interpreter/test_support.h"

namespace hearth {
namespace {

using c10::IValue;

struct StreamedDevice final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::HPU> {
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return Of(1); }
  c10::Stream getStream(c10::Device) const noexcept override { return Of(current); }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return Of(std::exchange(current, stream.id()));
  }
  void synchronizeStream(const c10::Stream&) const override {}
  static c10::Stream Of(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kHPU, 0), id); }
  static inline thread_local c10::StreamId current = 0;
};
C10_REGISTER_GUARD_IMPL(HPU, StreamedDevice);

struct Log {
  int recorded = 0;
  int launched = 0;
  int used_by = 0;  // between Begin and End
  bool overlapped = false;
  std::string refuses;
  size_t bytes = 1000;
};

class RepeatedGraph final : public RecordedGraph {
 public:
  RepeatedGraph(std::function<void(const c10::Stream&)> work, Log& log) : work_(std::move(work)), log_(log) {}
  void Begin(const c10::Stream&) override { log_.overlapped |= log_.used_by++ > 0; }
  void Launch(const c10::Stream& stream) override {
    ++log_.launched;
    work_(stream);
  }
  void End(const c10::Stream&) override { --log_.used_by; }
  size_t num_operations() const override { return 7; }
  size_t bytes() const override { return log_.bytes; }

 private:
  const std::function<void(const c10::Stream&)> work_;
  Log& log_;
};

class RepeatingGpu final : public Gpu {
 public:
  explicit RepeatingGpu(Log& log) : log_(log) {}
  std::unique_ptr<RecordedGraph> Record(const std::function<void(const c10::Stream&)>& work) override {
    ++log_.recorded;
    TORCH_CHECK(log_.refuses.empty(), log_.refuses);
    work(StreamedDevice::Of(5));
    // `work` refers to what is there as long as the recording only while it is recorded.
    return std::make_unique<RepeatedGraph>(repeat, log_);
  }
  c10::Device device() const override { return {c10::kHPU, 0}; }
  std::string architecture() const override { return "none"; }
  std::string library_folder() const override { return {}; }
  uint32_t multiprocessors() const override { return 1; }
  uint32_t most_shared_bytes() const override { return 0; }
  std::shared_ptr<const GpuCode> Load(const std::string&, std::span<const std::string>) override { return nullptr; }
  at::Tensor OpenSharedMemory(const std::string&, int64_t) override { return {}; }
  std::function<void(const c10::Stream&)> repeat;

 private:
  Log& log_;
};

class CapturedPlanTest : public testing::Test {
 protected:
  CapturedPlanTest() : gpu_(std::make_shared<RepeatingGpu>(log_)) {
    settings_.gpu = gpu_;
    settings_.streams = std::make_shared<StreamPool>(c10::Device(c10::kHPU, 0));
    settings_.most_copies = 1;
    gpu_->repeat = [this](const c10::Stream&) { answer_.copy_(input_ * 2); };
  }

  // Remembers the recording's memory: its own arguments and the answer that it made last.
  IValue Double(std::vector<IValue> arguments, const c10::Stream& stream) {
    input_ = arguments[1].toTensor();
    answer_ = input_ * 2;
    ran_on_.push_back(stream.id());
    return c10::ivalue::Tuple::create({answer_, arguments[2]});
  }
  CapturedPlan::PlanRun run() {
    return [this](std::vector<IValue> arguments, const c10::Stream& stream) {
      return Double(std::move(arguments), stream);
    };
  }
  // The model, a tensor, and a number.
  static std::vector<IValue> Arguments(at::Tensor x, int64_t n) { return {IValue(), std::move(x), n}; }

  Log log_;
  std::shared_ptr<RepeatingGpu> gpu_;
  CaptureSettings settings_;
  at::Tensor input_, answer_;
  std::vector<c10::StreamId> ran_on_;
};

TEST_F(CapturedPlanTest, ARecordingAnswersWithWhatItIsGiven) {
  CapturedPlan plan(settings_);
  EXPECT_FALSE(plan.ready());
  EXPECT_EQ(plan.Replay(Arguments(at::ones({2}), 3), StreamedDevice::Of(2)), std::nullopt);
  EXPECT_TRUE(plan.TakeTurn());
  EXPECT_FALSE(plan.TakeTurn());
  plan.Record(run(), Arguments(at::ones({2}), 3), 1, StreamedDevice::Of(2));
  ASSERT_TRUE(plan.ready());
  EXPECT_EQ(ran_on_, (std::vector<c10::StreamId>{1, 5}));

  const std::optional<IValue> answer = plan.Replay(Arguments(at::full({2}, 5.), 3), StreamedDevice::Of(2));
  ASSERT_TRUE(answer);
  const at::Tensor doubled = answer->toTupleRef().elements()[0].toTensor();
  EXPECT_TRUE(at::equal(doubled, at::full({2}, 10.)));
  EXPECT_EQ(answer->toTupleRef().elements()[1].toInt(), 3);
  // The next run writes into the recording's memory, not into an answer that was given.
  plan.Replay(Arguments(at::zeros({2}), 3), StreamedDevice::Of(2));
  EXPECT_TRUE(at::equal(doubled, at::full({2}, 10.)));
  EXPECT_EQ(ran_on_.size(), 2u);
  EXPECT_EQ(plan.Describe().operations, 7u);
}

TEST_F(CapturedPlanTest, AnAnswerThatIsPartOfATensorIsDense) {
  CapturedPlan plan(settings_);
  const auto part = [this](std::vector<IValue> arguments, const c10::Stream&) -> IValue {
    input_ = arguments[1].toTensor();
    answer_ = (input_ * 2).slice(1, 1);
    return answer_;
  };
  gpu_->repeat = [this](const c10::Stream&) { answer_.copy_((input_ * 2).slice(1, 1)); };
  plan.Record(part, Arguments(at::ones({2, 3}), 0), 1, StreamedDevice::Of(2));
  ASSERT_TRUE(plan.ready()) << plan.Describe().refused;
  const std::optional<IValue> answer = plan.Replay(Arguments(at::full({2, 3}, 5.), 0), StreamedDevice::Of(2));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(at::equal(answer->toTensor(), at::full({2, 2}, 10.)));
  EXPECT_EQ(answer->toTensor().strides(), (std::vector<int64_t>{2, 1}));
  EXPECT_FALSE(answer->toTensor().is_alias_of(answer_));
}

TEST_F(CapturedPlanTest, OtherArgumentsThanTheRecordedAreLeftToTheCode) {
  CapturedPlan plan(settings_);
  plan.Record(run(), Arguments(at::ones({2}), 3), 1, StreamedDevice::Of(2));
  const int launched = log_.launched;
  const auto replays = [&](at::Tensor x, int64_t n) {
    return plan.Replay(Arguments(std::move(x), n), StreamedDevice::Of(2)).has_value();
  };
  EXPECT_FALSE(replays(at::ones({2}), 4));
  EXPECT_FALSE(replays(at::ones({3}), 3));
  EXPECT_FALSE(replays(at::ones({2}, at::kDouble), 3));
  EXPECT_FALSE(replays(at::ones({2, 2}).select(1, 0), 3));
  EXPECT_FALSE(replays(at::Tensor(), 3));
  EXPECT_EQ(log_.launched, launched);
  EXPECT_TRUE(replays(at::ones({2}), 3));
}

TEST_F(CapturedPlanTest, WhatCannotBeRecordedNeverIs) {
  log_.refuses = "it copies between the host and the GPU";
  CapturedPlan plan(settings_);
  ASSERT_TRUE(plan.TakeTurn());
  plan.Record(run(), Arguments(at::ones({2}), 3), 1, StreamedDevice::Of(2));
  EXPECT_FALSE(plan.ready());
  EXPECT_FALSE(plan.TakeTurn());
  EXPECT_EQ(plan.Describe().refused, "it copies between the host and the GPU");
}

TEST_F(CapturedPlanTest, ARunThatRaisesIsNotRecorded) {
  CapturedPlan plan(settings_);
  const auto raise = [](std::vector<IValue>, const c10::Stream&) -> IValue { throw std::runtime_error("no"); };
  plan.Record(raise, Arguments(at::ones({2}), 3), 1, StreamedDevice::Of(2));
  EXPECT_FALSE(plan.ready());
  EXPECT_EQ(log_.recorded, 0);
  EXPECT_EQ(plan.Describe().refused, "no");
}

TEST_F(CapturedPlanTest, ARecordingThatAnswersOtherwiseIsNotUsed) {
  gpu_->repeat = [this](const c10::Stream&) { answer_.copy_(input_ * 3); };
  CapturedPlan plan(settings_);
  plan.Record(run(), Arguments(at::ones({2}), 3), 1, StreamedDevice::Of(2));
  EXPECT_FALSE(plan.ready());
  EXPECT_NE(plan.Describe().refused.find("otherwise than the plan"), std::string::npos) << plan.Describe().refused;
}

TEST_F(CapturedPlanTest, ARunThatIsToldToStopMayBeTakenUpByAnother) {
  CapturedPlan plan(settings_);
  ASSERT_TRUE(plan.TakeTurn());
  const auto stop = [](std::vector<IValue>, const c10::Stream&) -> IValue {
    throw CancelledError(CancelledError::Reason::kCancelled);
  };
  EXPECT_THROW(plan.Record(stop, Arguments(at::ones({2}), 3), 1, StreamedDevice::Of(2)), CancelledError);
  plan.PutBack();
  EXPECT_TRUE(plan.TakeTurn());
}

TEST_F(CapturedPlanTest, ThereAreAsManyCopiesAsTheirMemoryAllows) {
  settings_.most_copies = 4;
  settings_.most_bytes = 2500;
  CapturedPlan plan(settings_);
  plan.Record(run(), Arguments(at::ones({2}), 3), 1, StreamedDevice::Of(2));
  EXPECT_EQ(plan.Describe().copies, 3u);
  EXPECT_EQ(plan.Describe().bytes, 3000u);
}

TEST_F(CapturedPlanTest, ACopyIsOneRunsAtATime) {
  CapturedPlan plan(settings_);
  plan.Record(run(), Arguments(at::ones({2}), 3), 1, StreamedDevice::Of(2));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        const double x = thread * 1000 + i;
        const auto answer = plan.Replay(Arguments(at::full({2}, x), 3), StreamedDevice::Of(2));
        wrong += !at::equal(answer->toTupleRef().elements()[0].toTensor(), at::full({2}, 2 * x));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(log_.overlapped);
}

}  // namespace
}  // namespace hearth
