#include "jit/executor/shadow_runs.h"

#include <ATen/ATen.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <cmath>
#include <latch>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/executor/code_builder.h"
#include "jit/executor/copied_values.h"
#include "jit/executor/model_executor.h"
#include "jit/executor/value_difference.h"
#include "jit/interpreter/code.h"
#include "jit/ir/parser.h"
#include "jit/tools/ir_file.h"

namespace hearth {
namespace {

using c10::IValue;
using testing::HasSubstr;
using testing::StartsWith;

struct Gate {
  std::latch entered{1};
  std::latch open{1};
};
Gate* gate = nullptr;

at::Tensor PassGate(const at::Tensor& x) {
  gate->entered.count_down();
  gate->open.wait();
  return x.clone();
}

TORCH_LIBRARY(hearth_shadow_test, library) { library.def("pass_gate(Tensor x) -> Tensor", PassGate); }

constexpr char kCounter[] = R"(
class __torch__.M:
  calls : int = 0
  def increment:
    graph(%self : __torch__.M, %x : Tensor):
      %one : int = prim::Constant[value=1]()
      %y : Tensor = aten::add_.Scalar(%x, %one, %one)
      return (%y)
  def count:
    graph(%self : __torch__.M, %x : Tensor):
      %one : int = prim::Constant[value=1]()
      %n : int = prim::GetAttr[name="calls"](%self)
      %m : int = aten::add.int(%n, %one)
      prim::SetAttr[name="calls"](%self, %m)
      return (%x)
  def draw:
    graph(%self : __torch__.M, %x : Tensor):
      %none : NoneType = prim::Constant[value=None]()
      %y : Tensor = aten::rand_like(%x, %none, %none, %none, %none, %none)
      return (%y)
  def say:
    graph(%self : __torch__.M, %x : Tensor):
      %text : str = prim::Constant[value="said"]()
      prim::Print(%text)
      return (%x)
  def raise:
    graph(%self : __torch__.M, %x : Tensor):
      %message : str = prim::Constant[value="no"]()
      prim::RaiseException(%message)
      return (%x)
  def fused:
    graph(%self : __torch__.M, %x : Tensor):
      %zero : int = prim::Constant[value=0]()
      %none : NoneType = prim::Constant[value=None]()
      %tanh : Tensor = aten::tanh(%x)
      %relu : Tensor = aten::relu(%tanh)
      %sum : Tensor = aten::cumsum(%relu, %zero, %none)
      %exp : Tensor = aten::exp(%sum)
      %y : Tensor = aten::neg(%exp)
      return (%y)
  def wait:
    graph(%self : __torch__.M, %x : Tensor):
      %y : Tensor = hearth_shadow_test::pass_gate(%x)
      return (%y)

graph(%self : __torch__.M):
  return (%self)
)";

class ShadowRunsTest : public testing::Test {
 protected:
  explicit ShadowRunsTest(std::shared_ptr<fuser::KernelSource> kernels = nullptr)
      : file_(std::make_shared<const Source>(kCounter, "model.ir")), self_(file_.MakeSelf()) {
    ShadowRuns::Settings settings;
    settings.share = 1;
    settings.max_waiting = 2;
    shadow_ = std::make_shared<ShadowRuns>(settings);
    const std::shared_ptr<CompilationUnit> unit(std::shared_ptr<void>(), const_cast<CompilationUnit*>(&file_.unit()));
    CodeBuilder builder(*unit, std::nullopt);
    TierSettings tiers;
    tiers.budget = std::make_shared<CodeCacheBudget>(CodeCacheLimits{64, size_t{1} << 24});
    tiers.cache.compile_after = 1;
    tiers.forced = true;
    tiers.shadow = shadow_;
    tiers.kernels = std::move(kernels);
    executor_ = std::make_shared<ModelExecutor>(unit, self_, builder, std::make_shared<TurnList>(), &pool_, tiers);
  }
  ~ShadowRunsTest() override { shadow_->Close(); }

  // Of a method that a plan answers.
  std::optional<IValue> Call(const char* method, at::Tensor x) {
    std::optional<IValue> answer;
    std::latch done(1);
    executor_->RunAsync(*executor_->Find(method), {self_, std::move(x)}, {},
                        [&](const IValue& value, const std::exception_ptr& error) {
                          if (!error) answer = value;
                          done.count_down();
                        });
    done.wait();
    return answer;
  }

  // As if the plan of a method had answered this.
  void Answer(const char* method, const at::Tensor& x, const IValue& value) {
    const std::vector<IValue> arguments = {self_, x};
    const auto* called = executor_->Find(method);
    shadow_->Watch({method, called->code, executor_, std::nullopt}, arguments, 1,
                   [](const IValue&, const std::exception_ptr&) {})(value, nullptr);
  }

  uint64_t Runs() {
    shadow_->WaitUntilIdle();
    return shadow_->counters().runs;
  }

  const IrFile file_;
  const c10::intrusive_ptr<c10::ivalue::Object> self_;
  ThreadPool pool_{1};
  std::shared_ptr<ShadowRuns> shadow_;
  std::shared_ptr<ModelExecutor> executor_;
};

TEST_F(ShadowRunsTest, AnswersOfPlansAreCheckedOnArgumentsAsTheyWereBefore) {
  const at::Tensor x = at::ones({3});
  Call("increment", x);
  EXPECT_EQ(Runs(), 1);
  Call("increment", at::full({5}, 7.0));
  EXPECT_EQ(Runs(), 2);
  EXPECT_EQ(shadow_->counters().differences, 0);
  EXPECT_EQ(x[0].item<float>(), 2);
}

TEST_F(ShadowRunsTest, AnAnswerThatIsNotTheBaselinesIsCounted) {
  Answer("increment", at::ones({3}), at::full({3}, 2.0));
  EXPECT_EQ(Runs(), 1);
  EXPECT_EQ(shadow_->counters().differences, 0);
  Answer("increment", at::ones({3}), at::full({3}, 2.01));
  EXPECT_EQ(Runs(), 2);
  EXPECT_EQ(shadow_->counters().differences, 1);
  Answer("raise", at::ones({3}), at::ones({3}));
  EXPECT_EQ(Runs(), 3);
  EXPECT_EQ(shadow_->counters().differences, 2);
}

// Code of one loop, which goes from the only operand's elements to the only result's.
class FakeKernels : public fuser::KernelSource {
 public:
  std::shared_ptr<const fuser::KernelCode> Get(const std::string& text, const std::function<void()>& rest) override {
    return Find(text).value();
  }
  std::optional<std::shared_ptr<const fuser::KernelCode>> Find(const std::string& text) override {
    const auto found = kernels_.try_emplace(text).first;
    if (found->second == nullptr) {
      auto code = std::make_shared<fuser::KernelCode>();
      code->sizes = [](const int64_t* symbols, int64_t* out) {
        out[0] = symbols[0];
        out[1] = 1;
        out[2] = 0;
      };
      code->loops = {wrong.empty() || text.find(wrong) == std::string::npos ? Right : Wrong};
      found->second = std::move(code);
    }
    return found->second->set_aside ? nullptr : std::optional(found->second);
  }
  void SetAside(const std::string& text, const std::string& reason) override {
    kernels_.at(text)->set_aside = true;
    set_aside.push_back(text);
    reasons.push_back(reason);
  }

  std::string wrong;  // what is in the text of those that give wrong results
  std::vector<std::string> set_aside, reasons;

 private:
  // Of exp and neg, and of tanh and relu for what is positive and so large that tanh gives 1.
  static void Right(void* const* buffers, const int64_t*, int64_t begin, int64_t end, void*) {
    const auto* x = static_cast<const float*>(buffers[0]);
    auto* y = static_cast<float*>(buffers[1]);
    for (int64_t i = begin; i < end; ++i) y[i] = x[i] > 50 ? 1 : -std::exp(x[i]);
  }
  static void Wrong(void* const* buffers, const int64_t*, int64_t begin, int64_t end, void*) {
    for (int64_t i = begin; i < end; ++i) static_cast<float*>(buffers[1])[i] = 7;
  }

  std::map<std::string, std::shared_ptr<const fuser::KernelCode>> kernels_;
};

class WrongKernelsTest : public ShadowRunsTest {
 protected:
  explicit WrongKernelsTest(const std::shared_ptr<FakeKernels>& kernels = std::make_shared<FakeKernels>())
      : ShadowRunsTest(kernels), kernels_(kernels) {}

  at::Tensor Fused() { return Call("fused", at::full({2, 3}, 100.0))->toTensor(); }

  const std::shared_ptr<FakeKernels> kernels_;
  const at::Tensor expected_ = -at::exp(at::tensor({1.0F, 1.0F, 1.0F, 2.0F, 2.0F, 2.0F}).view({2, 3}));
};

TEST_F(WrongKernelsTest, TheOneThatGaveAWrongAnswerIsSetAsideAndRunsDoWithoutIt) {
  kernels_->wrong = "tanh";
  EXPECT_FALSE(at::allclose(Fused(), expected_));
  EXPECT_EQ(Runs(), 1);
  EXPECT_EQ(shadow_->counters().differences, 1);
  ASSERT_EQ(kernels_->set_aside.size(), 1);
  EXPECT_THAT(kernels_->set_aside[0], HasSubstr("tanh"));
  EXPECT_THAT(kernels_->reasons[0], HasSubstr("fused"));
  EXPECT_TRUE(at::allclose(Fused(), expected_));
}

TEST_F(WrongKernelsTest, KernelsThatAreRightStay) {
  EXPECT_TRUE(at::allclose(Fused(), expected_));
  EXPECT_EQ(Runs(), 1);
  EXPECT_EQ(shadow_->counters().differences, 0);
  EXPECT_THAT(kernels_->set_aside, testing::IsEmpty());
}

TEST_F(ShadowRunsTest, RunsWithEffectsAndFailedOnesAreNotRepeated) {
  for (const char* method : {"count", "draw", "say", "raise"}) Call(method, at::ones({3}));
  EXPECT_EQ(Runs(), 0);
  EXPECT_EQ(self_->getAttr("calls").toInt(), 1);
}

TEST_F(ShadowRunsTest, WhatDoesNotFitTheQueueIsNotChecked) {
  Gate own;
  gate = &own;
  Answer("wait", at::ones({1}), at::ones({1}));
  own.entered.wait();
  EXPECT_TRUE(shadow_->Draw());
  for (int i = 0; i < 5; ++i) Answer("increment", at::ones({1}), at::full({1}, 2.0));
  EXPECT_FALSE(shadow_->Draw());
  own.open.count_down();
  EXPECT_EQ(Runs(), 3);
}

TEST_F(ShadowRunsTest, ClosingForgetsWhatWaits) {
  Gate own;
  gate = &own;
  Answer("wait", at::ones({1}), at::ones({1}));
  own.entered.wait();
  Answer("increment", at::ones({1}), at::full({1}, 2.0));
  own.open.count_down();
  shadow_->Close();
  Answer("increment", at::ones({1}), at::full({1}, 2.0));
  EXPECT_LE(shadow_->counters().runs, 1);
}

// ---- A device with streams, which notes what they are asked ----

struct Events {
  std::vector<std::string> texts;
  std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> copy;
};
Events* events = nullptr;

// As LibTorch's devices have them; each thread keeps which stream is current.
class NotingDevice final : public c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::XPU> {
 public:
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return StreamOf(9); }
  c10::Stream getStream(c10::Device) const noexcept override { return StreamOf(current); }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return StreamOf(std::exchange(current, stream.id()));
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    const bool held = events->copy && !events->copy->expired();
    events->texts.push_back("waits for stream " + std::to_string(stream.id()) + (held ? ", the copy is there" : ""));
  }

  static c10::Stream StreamOf(c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kXPU, 0), id);
  }
  static inline thread_local c10::StreamId current = 0;
};
C10_REGISTER_GUARD_IMPL(XPU, NotingDevice);

at::Tensor Note(const at::Tensor& x) {
  events->texts.push_back("runs on stream " + std::to_string(NotingDevice::current));
  events->copy.emplace(x.storage().getWeakStorageImpl());
  return x.clone();
}

TORCH_LIBRARY_FRAGMENT(hearth_shadow_test, library) { library.def("note(Tensor x) -> Tensor", Note); }

class ShadowStreamsTest : public testing::TestWithParam<const char*> {
 protected:
  ShadowStreamsTest() { events = &events_; }
  ~ShadowStreamsTest() override { events = nullptr; }
  Events events_;
};

// `%x` is used for the last time where it is noted.
TEST_P(ShadowStreamsTest, ARunWaitsForTheCallAndItsCopiesLiveUntilItsOwnStreamIsIdle) {
  ShadowRuns::Settings settings;
  settings.share = 1;
  settings.streams = std::make_shared<StreamPool>(c10::Device(c10::kXPU, 0));
  ShadowRuns shadow(settings);
  const auto graph = ParseGraph(std::string(R"(graph(%x : Tensor):
  %y : Tensor = hearth_shadow_test::note(%x)
)") + GetParam() + "  return (%y)\n");
  const at::Tensor x = at::ones({3});
  shadow.Watch({"f", CompileCode(*graph, "f"), nullptr, NotingDevice::StreamOf(7)}, {x}, 0,
               [](const IValue&, const std::exception_ptr&) {})(at::ones({3}), nullptr);
  shadow.WaitUntilIdle();
  shadow.Close();
  EXPECT_THAT(events_.texts,
              testing::ElementsAre("waits for stream 7", "runs on stream 9", "waits for stream 9, the copy is there"));
  EXPECT_TRUE(events_.copy->expired());
  EXPECT_EQ(shadow.counters().runs, 1);
}

INSTANTIATE_TEST_SUITE_P(Runs, ShadowStreamsTest, testing::Values("", R"(  %message : str = prim::Constant[value="no"]()
  prim::RaiseException(%message)
)"),
                         [](const auto& info) { return info.index == 0 ? "ThatAnswer" : "ThatRaise"; });

TEST(CopyDeepTest, CopiesShareMemoryAsTheValuesDo) {
  const at::Tensor base = at::arange(12, at::kFloat).view({3, 4});
  const IValue list = c10::List<at::Tensor>({base.t(), base.select(0, 1)});
  const auto copies = CopyDeep(std::vector<IValue>{base, list, list, 3, "text"}, 1 << 10);
  ASSERT_TRUE(copies);
  const at::Tensor copy = (*copies)[0].toTensor();
  EXPECT_FALSE(copy.is_alias_of(base));
  EXPECT_TRUE(copy.equal(base));
  const at::Tensor transposed = (*copies)[1].toTensorList().get(0);
  EXPECT_EQ(transposed.strides(), base.t().strides());
  copy.fill_(7);
  EXPECT_EQ((*copies)[1].toTensorList().get(1)[2].item<float>(), 7);
  EXPECT_EQ(transposed[3][2].item<float>(), 7);
  EXPECT_TRUE((*copies)[1].is((*copies)[2]));
  EXPECT_EQ(base[0][0].item<float>(), 0);
}

TEST(CopyDeepTest, WhatCannotBeCopiedIsRefused) {
  const auto refused = [](const IValue& value) { return !CopyDeep(std::vector<IValue>{value}, 1 << 10); };
  EXPECT_TRUE(refused(at::ones({1 << 10})));
  EXPECT_TRUE(refused(at::ones({2}).to_sparse()));
  EXPECT_TRUE(refused(at::ones({2}).requires_grad_()));
  EXPECT_TRUE(refused(c10::List<at::Tensor>({at::ones({1 << 10})})));
  EXPECT_FALSE(refused(at::ones({4})));
}

TEST(ValueDifferenceTest, WhatDiffersIsSaidWithItsPlace) {
  const at::Tensor x = at::rand({3, 4});
  const float infinite = std::numeric_limits<float>::infinity();
  const auto tuple = [](const at::Tensor& tensor) { return IValue(c10::ivalue::Tuple::create({1, tensor})); };
  EXPECT_EQ(ValueDifference(tuple(x), tuple(x + 1e-6)), "");
  EXPECT_THAT(ValueDifference(tuple(x), tuple(x + 1e-2)), StartsWith("result.1: elements differ by up to"));
  EXPECT_THAT(ValueDifference(x, x.to(at::kDouble)), HasSubstr("dtype"));
  EXPECT_THAT(ValueDifference(x, x.t().contiguous().t()), HasSubstr("strides"));
  EXPECT_THAT(ValueDifference(x, x.slice(0, 0, 2)), HasSubstr("sizes"));
  EXPECT_THAT(ValueDifference(x, 1), HasSubstr("expected Tensor, got Int"));
  EXPECT_EQ(ValueDifference(at::full({2}, NAN), at::full({2}, NAN)), "");
  EXPECT_NE(ValueDifference(at::full({2}, NAN), at::full({2}, 1.0)), "");
  EXPECT_NE(ValueDifference(at::full({2}, 1.0), at::full({2}, NAN)), "");
  EXPECT_EQ(ValueDifference(at::full({2}, infinite), at::full({2}, infinite)), "");
  EXPECT_NE(ValueDifference(at::full({2}, infinite), at::full({2}, -infinite)), "");
  EXPECT_THAT(ValueDifference(at::arange(3), at::arange(1, 4)), HasSubstr("not the same"));
  EXPECT_THAT(ValueDifference(c10::List<int64_t>({1, 2}), c10::List<int64_t>({1})), HasSubstr("2 elements, got 1"));
  EXPECT_THAT(ValueDifference("a", "b"), StartsWith("result: expected a"));
}

}  // namespace
}  // namespace hearth
