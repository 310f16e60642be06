#include "jit/interpreter/interpreter.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include "jit/interpreter/test_support.h"
#include "jit/interpreter/thread_pool.h"

namespace hearth {
namespace {

using c10::IValue;
using ::testing::HasSubstr;

TEST(InterpreterTest, AForLoopSumsItsCounter) {
  const std::string sum = R"(graph(%n : int):
  %true : bool = prim::Constant[value=True]()
  %zero : int = prim::Constant[value=0]()
  %s : int = prim::Loop(%n, %true, %zero)
    block0(%i : int, %acc : int):
      %next : int = aten::add.int(%acc, %i)
      -> (%true, %next)
  return (%s)
)";
  EXPECT_EQ(RunText(sum, {10}).toInt(), 45);
  EXPECT_EQ(RunText(sum, {0}).toInt(), 0);
  EXPECT_EQ(RunText(sum, {-3}).toInt(), 0);
}

TEST(InterpreterTest, ALoopCarriedValueStaysInItsRegister) {
  const std::string listing = DumpCode(*Compile(R"(graph(%n : int, %x : int):
  %true : bool = prim::Constant[value=True]()
  %r : int = prim::Loop(%n, %true, %x)
    block0(%i : int, %acc : int):
      %next : int = aten::add.int(%acc, %i)
      -> (%true, %next)
  return (%r)
)"));
  // The counter's start is the only move.
  EXPECT_EQ(listing.find("Move"), listing.rfind("Move")) << listing;
}

TEST(InterpreterTest, CarriedValuesThatChangePlacesAreMovedAllAtOnce) {
  const std::string fibonacci = R"(graph(%n : int):
  %true : bool = prim::Constant[value=True]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %a : int, %b : int, %c : int = prim::Loop(%n, %true, %zero, %one, %one)
    block0(%i : int, %x : int, %y : int, %unused : int):
      %z : int = aten::add.int(%x, %y)
      -> (%true, %y, %z, %x)
  %t : Tuple[int, int, int] = prim::TupleConstruct(%a, %b, %c)
  return (%t)
)";
  const IValue result = RunText(fibonacci, {10});
  EXPECT_EQ(result.toTupleRef().elements()[0].toInt(), 55);
  EXPECT_EQ(result.toTupleRef().elements()[1].toInt(), 89);
  EXPECT_EQ(result.toTupleRef().elements()[2].toInt(), 34);

  const std::string swap = R"(graph(%n : int, %p : Tensor, %q : Tensor):
  %true : bool = prim::Constant[value=True]()
  %a : Tensor, %b : Tensor = prim::Loop(%n, %true, %p, %q)
    block0(%i : int, %x : Tensor, %y : Tensor):
      -> (%true, %y, %x)
  %t : Tuple[Tensor, Tensor] = prim::TupleConstruct(%a, %b)
  return (%t)
)";
  const at::Tensor p = at::ones({1});
  const at::Tensor q = at::ones({2});
  const IValue odd = RunText(swap, {3, p, q});
  EXPECT_TRUE(odd.toTupleRef().elements()[0].toTensor().is_same(q));
  EXPECT_TRUE(odd.toTupleRef().elements()[1].toTensor().is_same(p));
}

TEST(InterpreterTest, AWhileLoopStopsWhenItsConditionFails) {
  const std::string collatz = R"(graph(%n : int):
  %max : int = prim::Constant[value=9223372036854775807]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %three : int = prim::Constant[value=3]()
  %zero : int = prim::Constant[value=0]()
  %go : bool = aten::ne.int(%n, %one)
  %last : int, %steps : int = prim::Loop(%max, %go, %n, %zero)
    block0(%i : int, %m : int, %s : int):
      %rest : int = aten::remainder.int(%m, %two)
      %even : bool = aten::eq.int(%rest, %zero)
      %next : int = prim::If(%even)
        block0():
          %half : int = aten::floordiv.int(%m, %two)
          -> (%half)
        block1():
          %triple : int = aten::mul.int(%m, %three)
          %up : int = aten::add.int(%triple, %one)
          -> (%up)
      %count : int = aten::add.int(%s, %one)
      %more : bool = aten::ne.int(%next, %one)
      -> (%more, %next, %count)
  return (%steps)
)";
  EXPECT_EQ(RunText(collatz, {27}).toInt(), 111);
  EXPECT_EQ(RunText(collatz, {1}).toInt(), 0);
}

TEST(InterpreterTest, AValueThatDiesInsideIsReleasedBeforeTheEnd) {
  // The tensor is used by one branch only; in the other it must be gone when the rest runs.
  const auto code = Compile(R"(graph(%x : Tensor, %c : bool, %probe : List[int]):
  %r : int = prim::If(%c)
    block0():
      %d : int = aten::dim(%x)
      -> (%d)
    block1():
      %l : int = aten::len.t(%probe)
      -> (%l)
  %out : List[int] = aten::append.t(%probe, %r)
  return (%r)
)");
  at::Tensor x = at::ones({2, 2});
  const auto weak = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>(x.getIntrusivePtr());
  EXPECT_EQ(hearth::Run(*code, {std::move(x), false, c10::List<int64_t>()}).toInt(), 0);
  EXPECT_TRUE(weak.expired());
}

TEST(InterpreterTest, ARunKeepsNothingAlive) {
  const auto code = Compile(R"(graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=True]()
  %one : int = prim::Constant[value=1]()
  %l : List[Tensor] = prim::ListConstruct(%x)
  %a : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %y : Tensor):
      %k : List[Tensor] = aten::append.t(%l, %y)
      %z : Tensor = aten::add.Scalar(%y, %one, %one)
      -> (%true, %z)
  %len : int = aten::len.t(%l)
  return (%len)
)");
  at::Tensor x = at::ones({3});
  EXPECT_EQ(hearth::Run(*code, {x, 5}).toInt(), 6);
  EXPECT_EQ(x.use_count(), 1u);
}

TEST(InterpreterTest, AFailingOperatorsReportNamesTheLineAndTheMessage) {
  const std::string error = ErrorOf(R"(graph(%a : Tensor, %b : Tensor):
  %c : Tensor = aten::mm(%a, %b)
  return (%c)
)",
                                    {at::ones({2, 3}), at::ones({2, 3})});
  EXPECT_THAT(error, HasSubstr("The following operation failed in the TorchScript interpreter.\n"
                               "Traceback of TorchScript (most recent call last):\n"));
  EXPECT_THAT(error, HasSubstr("line 2, in forward\n"));
  EXPECT_THAT(error, HasSubstr("~~~~~~"));
  EXPECT_THAT(error, HasSubstr("<--- HERE\n"));
  EXPECT_THAT(error, HasSubstr("\nRuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)\n"));
}

TEST(InterpreterTest, ARaisedExceptionKeepsItsClass) {
  try {
    RunText(R"(graph():
  %m : str = prim::Constant[value="bad thing"]()
  %c : str = prim::Constant[value="builtins.ValueError"]()
  prim::RaiseException(%m, %c)
  %n : NoneType = prim::Constant[value=None]()
  return (%n)
)",
            {});
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.class_name(), "builtins.ValueError");
    EXPECT_EQ(error.message(), "bad thing");
    EXPECT_THAT(error.what(), HasSubstr("builtins.ValueError: bad thing\n"));
  }
}

TEST(InterpreterTest, ArgumentsThatDoNotFitAreTheCallersMistake) {
  EXPECT_THROW(RunText("graph(%x : int):\n  return (%x)\n", {}), ArgumentError);
}

TEST(InterpreterTest, GradientsAreOffInARunAndTheThreadsModeIsItsOwn) {
  const std::string graph = R"(graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::add.Scalar(%x, %one, %one)
  %g : bool = aten::is_grad_enabled()
  %t : Tuple[Tensor, bool] = prim::TupleConstruct(%y, %g)
  return (%t)
)";
  const at::Tensor x = at::ones({2}).set_requires_grad(true);
  const IValue without = RunText(graph, {x});
  EXPECT_FALSE(without.toTupleRef().elements()[0].toTensor().requires_grad());
  EXPECT_FALSE(without.toTupleRef().elements()[1].toBool());
  EXPECT_TRUE(c10::GradMode::is_enabled());
  RunOptions options;
  options.gradients = true;
  EXPECT_TRUE(RunText(graph, {x}, options).toTupleRef().elements()[0].toTensor().requires_grad());
}

TEST(InterpreterTest, CodeThatSwitchesGradientsOnGetsThemUntilItsRunEnds) {
  const IValue result = RunText(R"(graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %on : bool = prim::Constant[value=True]()
  aten::set_grad_enabled(%on)
  %y : Tensor = aten::add.Scalar(%x, %one, %one)
  return (%y)
)",
                                {at::ones({2}).set_requires_grad(true)});
  EXPECT_TRUE(result.toTensor().requires_grad());
  RunText("graph():\n  %off : bool = prim::Constant[value=False]()\n  aten::set_grad_enabled(%off)\n  return (%off)\n",
          {});
  EXPECT_TRUE(c10::GradMode::is_enabled());
}

TEST(AsyncTest, ManyRunsShareOneCode) {
  const auto code = Compile(R"(graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=True]()
  %one : int = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %a : Tensor):
      %b : Tensor = aten::add.Scalar(%a, %i, %one)
      -> (%true, %b)
  return (%y)
)");
  ThreadPool pool(4);
  RunOptions options;
  options.pool = &pool;
  constexpr int kRuns = 200;
  Latch latch(kRuns);
  std::atomic<int> right{0};
  for (int i = 0; i < kRuns; ++i) {
    RunAsync(code, {at::ones({4}), i % 20}, options, [&, i](IValue result, std::exception_ptr error) {
      const int n = i % 20;
      if (!error && result.toTensor().equal(at::full({4}, 1.0f + static_cast<float>(n * (n - 1) / 2)))) ++right;
      latch.Down();
    });
  }
  latch.Wait();
  EXPECT_EQ(right, kRuns);
}

// A device that this library has no code for, whose streams are numbers that each thread keeps.
using FakeDevice = c10::impl::FakeGuardImpl<c10::DeviceType::XPU>;
C10_REGISTER_GUARD_IMPL(XPU, FakeDevice);
TORCH_LIBRARY(hearth_interpreter_test, m) {
  m.def("stream(int unused) -> int",
        [](int64_t) { return static_cast<int64_t>(FakeDevice::getCurrentStreamIdFor(0)); });
}

TEST(AsyncTest, ARunAndItsForksHaveItsStreamAndTheThreadKeepsItsOwn) {
  const auto code = Compile(R"(graph(%x : int):
  %before : int = hearth_interpreter_test::stream(%x)
  %f : Future[int] = prim::fork(%x)
    block0(%y : int):
      %inside : int = hearth_interpreter_test::stream(%y)
      -> (%inside)
  %forked : int = aten::wait(%f)
  %after : int = hearth_interpreter_test::stream(%x)
  %t : Tuple[int, int, int] = prim::TupleConstruct(%before, %forked, %after)
  return (%t)
)");
  ThreadPool pool(2);
  constexpr int kRuns = 50;
  Latch latch(kRuns);
  std::atomic<int> right{0};
  for (int i = 1; i <= kRuns; ++i) {
    RunOptions options;
    options.pool = &pool;
    options.stream = c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kXPU, 0), i);
    RunAsync(code, {0}, options, [&, i](IValue result, std::exception_ptr error) {
      const auto stream = [&](size_t place) { return result.toTupleRef().elements()[place].toInt(); };
      const bool own = !error && stream(0) == i && stream(1) == i && stream(2) == i;
      if (own && FakeDevice::getCurrentStreamIdFor(0) == 0) ++right;
      latch.Down();
    });
  }
  latch.Wait();
  EXPECT_EQ(right, kRuns);
}

}  // namespace
}  // namespace hearth
