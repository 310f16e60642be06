// Forks, waits and awaitables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/interpreter/test_support.h"
#include "jit/interpreter/thread_pool.h"

namespace hearth {
namespace {

using c10::IValue;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr const char* kForkAndWait = R"(graph(%x : int, %y : int):
  %f : Future[int] = prim::fork(%x, %y)
    block0(%a : int, %b : int):
      %q : int = aten::floordiv.int(%a, %b)
      -> (%q)
  %one : int = prim::Constant[value=1]()
  %r : int = aten::wait(%f)
  %s : int = aten::add.int(%r, %one)
  return (%s)
)";

TEST(ForkTest, AForksResultReachesItsWaitWithAndWithoutAPool) {
  const auto code = Compile(kForkAndWait);
  EXPECT_EQ(hearth::Run(*code, {42, 2}).toInt(), 22);
  ThreadPool pool(2);
  RunOptions options;
  options.pool = &pool;
  EXPECT_EQ(hearth::Run(*code, {42, 2}, options).toInt(), 22);
}

TEST(ForkTest, AForksFailureReachesItsWaitWithBothReports) {
  const auto code = Compile(kForkAndWait);
  ThreadPool pool(2);
  RunOptions with_pool;
  with_pool.pool = &pool;
  for (const RunOptions& options : {RunOptions(), with_pool}) {
    try {
      hearth::Run(*code, {1, 0}, options);
      FAIL();
    } catch (const ModelError& error) {
      const std::string report = error.what();
      EXPECT_THAT(report, HasSubstr("RuntimeError: The following operation failed in the TorchScript interpreter."));
      EXPECT_THAT(report, HasSubstr("in <forked function>"));
      EXPECT_THAT(report, HasSubstr("RuntimeError: division by 0"));
    }
  }
}

// Forks that each fork the next and wait for it, %n deep; the last one divides by %d.
class NestedForksTest : public UnitTest {
 protected:
  void SetUp() override {
    UnitTest::SetUp();
    const c10::FunctionSchema schema("nest", "",
                                     {c10::Argument("n", c10::IntType::get()), c10::Argument("d", c10::IntType::get())},
                                     {c10::Argument("", c10::IntType::get())});
    Function* nest =
        unit_->AddFunction(std::make_unique<Function>(c10::QualifiedName("__torch__.nest"), schema, nullptr));
    graphs_.push_back(ParseGraph(R"(graph(%n : int, %d : int):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %deeper : bool = aten::gt.int(%n, %zero)
  %r : int = prim::If(%deeper)
    block0():
      %f : Future[int] = prim::fork(%n, %d)
        block0(%m : int, %e : int):
          %inner_one : int = prim::Constant[value=1]()
          %less : int = aten::sub.int(%m, %inner_one)
          %s : int = prim::CallFunction[function=@__torch__.nest](%less, %e)
          -> (%s)
      %t : int = aten::wait(%f)
      %u : int = aten::add.int(%t, %one)
      -> (%u)
    block1():
      %last : int = aten::floordiv.int(%zero, %d)
      -> (%last)
  return (%r)
)",
                                 options_));
    code_ = CompileCode(*graphs_.back(), "__torch__.nest");
    SetCode(*nest, code_);
    on_two_threads_.pool = &pool_;
  }

  static constexpr int64_t kDeep = 10000;

  std::shared_ptr<const Code> code_;
  ThreadPool pool_{2};
  RunOptions on_two_threads_;
};

// Without suspending, two threads would be stuck at the second level.
TEST_F(NestedForksTest, RunTenThousandDeepOnTwoThreads) {
  EXPECT_EQ(hearth::Run(*code_, {kDeep, 1}).toInt(), kDeep);
  EXPECT_EQ(hearth::Run(*code_, {kDeep, 1}, on_two_threads_).toInt(), kDeep);
  Latch latch(8);
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    RunAsync(code_, {kDeep + i, 1}, on_two_threads_, [&, i](IValue result, std::exception_ptr error) {
      if (!error && result.toInt() == kDeep + i) ++right;
      latch.Down();
    });
  }
  latch.Wait();
  EXPECT_EQ(right, 8);
}

TEST_F(NestedForksTest, AReportOfTenThousandEndsInWhatWentWrong) {
  for (const RunOptions& options : {RunOptions(), on_two_threads_}) {
    try {
      hearth::Run(*code_, {kDeep, 0}, options);
      FAIL();
    } catch (const ModelError& error) {
      EXPECT_THAT(error.what(), EndsWith("RuntimeError: division by 0\n"));
    }
  }
}

TEST(ForkTest, TenThousandForksAreWaitedForInOneRun) {
  const auto code = Compile(R"(graph(%n : int):
  %true : bool = prim::Constant[value=True]()
  %zero : int = prim::Constant[value=0]()
  %futures : List[Future[int]] = prim::ListConstruct()
  %a : int = prim::Loop(%n, %true, %zero)
    block0(%i : int, %x : int):
      %f : Future[int] = prim::fork(%i)
        block0(%k : int):
          %sq : int = aten::mul.int(%k, %k)
          -> (%sq)
      %l : List[Future[int]] = aten::append.t(%futures, %f)
      -> (%true, %x)
  %sum : int = prim::Loop(%n, %true, %zero)
    block0(%j : int, %acc : int):
      %g : Future[int] = aten::__getitem__.t(%futures, %j)
      %v : int = aten::wait(%g)
      %next : int = aten::add.int(%acc, %v)
      -> (%true, %next)
  return (%sum)
)");
  ThreadPool pool(2);
  RunOptions options;
  options.pool = &pool;
  EXPECT_EQ(hearth::Run(*code, {10000}, options).toInt(), 333283335000);
  Latch latch(1);
  int64_t answer = 0;
  RunAsync(code, {10000}, options, [&](IValue result, std::exception_ptr) {
    answer = result.toInt();
    latch.Down();
  });
  latch.Wait();
  EXPECT_EQ(answer, 333283335000);
}

// What a test does where a graph calls a function.
class Act final : public Executable {
 public:
  explicit Act(std::function<void()> act) : act_(std::move(act)) {}
  void Run(torch::jit::Stack& stack) override {
    act_();
    stack.emplace_back(1);
  }

 private:
  std::function<void()> act_;
};

class OrderTest : public UnitTest {
 protected:
  // Tells "run" when `graph` has given 22 for 42 and 2.
  void Start(const char* graph, bool begin_here) {
    graphs_.push_back(ParseGraph(graph, options_));
    RunOptions options;
    options.pool = &pool_;
    options.begin_here = begin_here;
    RunAsync(CompileCode(*graphs_.back(), "__torch__.M.forward"), {42, 2}, options, [&](IValue result, auto error) {
      EXPECT_TRUE(!error && result.toInt() == 22);
      Tell("run");
    });
  }
  void AddAct(const std::string& name, std::function<void()> act) {
    const c10::FunctionSchema schema(name, "", {}, {c10::Argument("", c10::IntType::get())});
    auto function = std::make_unique<Function>(c10::QualifiedName("__torch__." + name), schema, nullptr);
    function->SetExecutable(std::make_unique<Act>(std::move(act)));
    unit_->AddFunction(std::move(function));
  }
  void Tell(const char* what) {
    const std::lock_guard lock(mutex_);
    told_.emplace_back(what);
  }
  void HoldThePool() {
    pool_.Post([&] { let_go_.Wait(); });
  }
  void PostAnother() {
    pool_.Post([&] {
      Tell("another");
      another_.Down();
    });
  }
  std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

  std::mutex mutex_;
  std::vector<std::string> told_;
  Latch let_go_{1};
  Latch another_{1};
  ThreadPool pool_{1};
};

TEST_F(OrderTest, ARunThatWaitsForItsForkGoesBeforeWhatCameAfterIt) {
  HoldThePool();
  Start(kForkAndWait, false);
  PostAnother();
  let_go_.Down();
  another_.Wait();
  EXPECT_THAT(told(), ElementsAre("run", "another"));
}

TEST_F(OrderTest, TheThreadThatBeginsARunRunsAForkThatNoOtherHasTaken) {
  HoldThePool();
  Start(kForkAndWait, true);
  EXPECT_THAT(told(), ElementsAre("run"));
  let_go_.Down();
}

TEST_F(OrderTest, WhoHasWaitedForAForkGoesOnAtOnceWhereThatEnds) {
  Latch begun(1);
  AddAct("begin_and_hold", [&] {
    begun.Down();
    let_go_.Wait();
  });
  AddAct("until_begun", [&] { begun.Wait(); });
  // The fork has the pool's only thread when it is waited for.
  Start(R"(graph(%x : int, %y : int):
  %f : Future[int] = prim::fork(%x, %y)
    block0(%a : int, %b : int):
      %h : int = prim::CallFunction[function=@__torch__.begin_and_hold]()
      %q : int = aten::floordiv.int(%a, %b)
      %r : int = aten::add.int(%q, %h)
      -> (%r)
  %u : int = prim::CallFunction[function=@__torch__.until_begun]()
  %s : int = aten::wait(%f)
  return (%s)
)",
        true);
  EXPECT_THAT(told(), ElementsAre());
  PostAnother();
  let_go_.Down();
  another_.Wait();
  EXPECT_THAT(told(), ElementsAre("run", "another"));
}

TEST(AsyncTest, AFailureReachesTheCompletion) {
  const auto code = Compile(kForkAndWait);
  ThreadPool pool(1);
  RunOptions options;
  options.pool = &pool;
  Latch latch(1);
  std::exception_ptr failure;
  RunAsync(code, {1, 0}, options, [&](IValue, std::exception_ptr error) {
    failure = error;
    latch.Down();
  });
  latch.Wait();
  EXPECT_THROW(std::rethrow_exception(failure), ModelError);
}

TEST(AsyncTest, AnAwaitableRunsOnceAndOnlyWhenWaitedFor) {
  const std::string graph = R"(graph(%log : List[int], %wait : bool):
  %a : Await[int] = prim::awaitable(%log)
    block0(%l : List[int]):
      %one : int = prim::Constant[value=1]()
      %m : List[int] = aten::append.t(%l, %one)
      %n : int = aten::len.t(%l)
      -> (%n)
  %zero : int = prim::Constant[value=0]()
  %r : int = prim::If(%wait)
    block0():
      %x : int = prim::awaitable_wait(%a)
      %y : int = prim::awaitable_wait(%a)
      %s : int = aten::add.int(%x, %y)
      -> (%s)
    block1():
      -> (%zero)
  return (%r)
)";
  c10::List<int64_t> log;
  EXPECT_EQ(RunText(graph, {log, false}).toInt(), 0);
  EXPECT_EQ(log.size(), 0u);
  EXPECT_EQ(RunText(graph, {log, true}).toInt(), 2);
  EXPECT_EQ(log.size(), 1u);
}

TEST(AsyncTest, AWaitInsideAnAwaitableFreesTheThread) {
  // One thread: the awaitable waits for a fork that needs it.
  const std::string graph = R"(graph(%x : int):
  %f : Future[int] = prim::fork(%x)
    block0(%k : int):
      %sq : int = aten::mul.int(%k, %k)
      -> (%sq)
  %a : Await[int] = prim::awaitable(%f)
    block0(%g : Future[int]):
      %v : int = aten::wait(%g)
      -> (%v)
  %r : int = prim::awaitable_wait(%a)
  %s : int = prim::awaitable_wait(%a)
  %t : int = aten::add.int(%r, %s)
  return (%t)
)";
  const auto code = Compile(graph);
  EXPECT_EQ(hearth::Run(*code, {6}).toInt(), 72);
  ThreadPool pool(1);
  RunOptions options;
  options.pool = &pool;
  Latch latch(1);
  int64_t answer = 0;
  RunAsync(code, {6}, options, [&](IValue result, std::exception_ptr) {
    answer = result.toInt();
    latch.Down();
  });
  latch.Wait();
  EXPECT_EQ(answer, 72);
}

TEST(AsyncTest, AnAwaitablesFailureReachesItsWaitEachTime) {
  const std::string error = ErrorOf(R"(graph(%x : int):
  %a : Await[int] = prim::awaitable(%x)
    block0(%k : int):
      %zero : int = prim::Constant[value=0]()
      %v : int = aten::floordiv.int(%k, %zero)
      -> (%v)
  %r : int = prim::awaitable_wait(%a)
  return (%r)
)",
                                    {1});
  EXPECT_THAT(error, HasSubstr("in <awaitable function>"));
  EXPECT_THAT(error, HasSubstr("RuntimeError: division by 0"));
}

}  // namespace
}  // namespace hearth
