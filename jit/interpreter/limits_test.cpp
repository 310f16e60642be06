// What ends a run from outside: cancelling, deadlines, a memory limit, too many forks, waits that cannot end.
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "jit/interpreter/test_support.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/interpreter/traceback.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/resource_error.h"

namespace hearth {
namespace {

using c10::IValue;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEndless = R"(graph():
  %max : int = prim::Constant[value=9223372036854775807]()
  %true : bool = prim::Constant[value=True]()
  %zero : int = prim::Constant[value=0]()
  %r : int = prim::Loop(%max, %true, %zero)
    block0(%i : int, %acc : int):
      %next : int = aten::add.int(%acc, %i)
      -> (%true, %next)
  return (%r)
)";

TEST(LimitsTest, ACancelledRunStops) {
  RunOptions options;
  options.token = std::make_shared<CancellationToken>();
  std::thread canceller([token = options.token] { token->Cancel(); });
  try {
    RunText(kEndless, {}, options);
    FAIL();
  } catch (const CancelledError& error) {
    EXPECT_EQ(error.reason(), CancelledError::Reason::kCancelled);
  }
  canceller.join();
}

TEST(LimitsTest, ARunStopsAtItsDeadline) {
  RunOptions options;
  options.token = std::make_shared<CancellationToken>();
  options.token->SetDeadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
  try {
    RunText(kEndless, {}, options);
    FAIL();
  } catch (const CancelledError& error) {
    EXPECT_EQ(error.reason(), CancelledError::Reason::kDeadline);
  }
}

TEST(LimitsTest, ARunStopsWhenItHasTakenAsLongAsItMay) {
  RunOptions options;
  options.token = std::make_shared<CancellationToken>();
  options.token->SetDeadline(CancellationToken::Clock::now() + std::chrono::hours(1));
  options.on_start = [token = options.token] { token->LimitRun(std::chrono::milliseconds(5)); };
  try {
    RunText(kEndless, {}, options);
    FAIL();
  } catch (const CancelledError& error) {
    EXPECT_EQ(error.reason(), CancelledError::Reason::kDeadline);
  }
  EXPECT_TRUE(options.token->limited());
}

TEST(LimitsTest, ADeadlineThatComesBeforeTheEndOfARunsTimeStays) {
  CancellationToken token;
  const auto deadline = CancellationToken::Clock::now() + std::chrono::seconds(1);
  token.SetDeadline(deadline);
  token.LimitRun(std::chrono::hours(1));
  EXPECT_EQ(token.deadline(), deadline);
  EXPECT_FALSE(token.limited());
}

// What a run on a pool ends with.
struct Ending {
  IValue value;
  std::exception_ptr error;
};

Ending EndOf(const std::string& text, std::vector<IValue> arguments, const RunOptions& options) {
  Ending ending;
  Latch latch(1);
  RunAsync(Compile(text), std::move(arguments), options, [&](IValue value, std::exception_ptr error) {
    ending = {std::move(value), std::move(error)};
    latch.Down();
  });
  latch.Wait();
  return ending;
}

std::string MessageOf(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::exception& failed) {
    return failed.what();
  }
  return "no error";
}

// A fork that waits for itself: the future comes to it in a list.
constexpr const char* kWaitsForItsOwnFuture = R"(graph():
  %futures : List[Future[int]] = prim::ListConstruct()
  %f : Future[int] = prim::fork(%futures)
    block0(%all : List[Future[int]]):
      %max : int = prim::Constant[value=9223372036854775807]()
      %zero : int = prim::Constant[value=0]()
      %n : int = aten::len.t(%all)
      %empty : bool = aten::eq.int(%n, %zero)
      prim::Loop(%max, %empty)
        block0(%i : int):
          %m : int = aten::len.t(%all)
          %still : bool = aten::eq.int(%m, %zero)
          -> (%still)
      %own : Future[int] = aten::__getitem__.t(%all, %zero)
      %v : int = aten::wait(%own)
      -> (%v)
  %l : List[Future[int]] = aten::append.t(%futures, %f)
  %r : int = aten::wait(%f)
  return (%r)
)";

TEST(LimitsTest, AForkThatWaitsForItselfIsToldSo) {
  ThreadPool pool(2);
  RunOptions options;
  options.pool = &pool;
  const Ending ending = EndOf(kWaitsForItsOwnFuture, {}, options);
  EXPECT_THROW(std::rethrow_exception(ending.error), ModelError);
  EXPECT_THAT(MessageOf(ending.error), HasSubstr("this wait can never end"));
}

// Waits for a future that another part of the process will complete, or never.
constexpr const char* kWaitsForAGivenFuture = R"(graph(%f : Future[int]):
  %g : Future[int] = prim::fork(%f)
    block0(%h : Future[int]):
      %v : int = aten::wait(%h)
      -> (%v)
  %r : int = aten::wait(%g)
  return (%r)
)";

TEST(LimitsTest, CancellingReachesARunAndItsForksThatWait) {
  ThreadPool pool(1);
  RunOptions options;
  options.pool = &pool;
  options.token = std::make_shared<CancellationToken>();
  const auto never = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  // The one thread gets to this when the run and its fork have both left it.
  Latch cancelled(1);
  options.on_start = [&] {
    pool.Post([&] {
      pool.Post([&] {
        options.token->Cancel();
        cancelled.Down();
      });
    });
  };
  const Ending ending = EndOf(kWaitsForAGivenFuture, {never}, options);
  cancelled.Wait();
  EXPECT_THROW(std::rethrow_exception(ending.error), CancelledError);
}

TEST(LimitsTest, ADeadlineReachesARunAndItsForksThatWait) {
  ThreadPool pool(2);
  RunOptions options;
  options.pool = &pool;
  options.token = std::make_shared<CancellationToken>();
  options.token->SetDeadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
  const auto never = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  const Ending ending = EndOf(kWaitsForAGivenFuture, {never}, options);
  EXPECT_THROW(std::rethrow_exception(ending.error), CancelledError);
  // The same where the calling thread itself blocks.
  options.token = std::make_shared<CancellationToken>();
  options.token->SetDeadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
  EXPECT_THROW(hearth::Run(*Compile(kWaitsForAGivenFuture), {never}, options), CancelledError);
}

// A fork that nobody waits for, and that waits for a future.
constexpr const char* kLeavesAForkBehind = R"(graph(%f : Future[int]):
  %g : Future[int] = prim::fork(%f)
    block0(%h : Future[int]):
      %v : int = aten::wait(%h)
      -> (%v)
  %n : NoneType = prim::Constant[value=None]()
  return (%n)
)";

// The token's deadline when the run has ended and its fork waits.
std::optional<CancellationToken::Clock::time_point> DeadlineOfAForkLeftBehind(
    std::optional<CancellationToken::Clock::time_point> deadline, std::chrono::nanoseconds run_time = {}) {
  const auto never = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  ThreadPool pool(1);
  RunOptions options;
  options.pool = &pool;
  options.token = std::make_shared<CancellationToken>();
  if (deadline) options.token->SetDeadline(*deadline);
  if (run_time.count() > 0) options.on_start = [&] { options.token->LimitRun(run_time); };
  EXPECT_EQ(EndOf(kLeavesAForkBehind, {never}, options).error, nullptr);
  // The one thread gets to this when it is through with the run.
  Latch through(1);
  pool.Post([&] { through.Down(); });
  through.Wait();
  const auto left = options.token->deadline();
  options.token->Cancel();
  return left;
}

TEST(LimitsTest, ForksThatOutliveTheirRunGetAMinuteIfTheyHaveNoDeadline) {
  constexpr std::chrono::seconds kMinute{60};
  const auto before = CancellationToken::Clock::now();
  const auto deadline = DeadlineOfAForkLeftBehind(std::nullopt);
  ASSERT_TRUE(deadline);
  EXPECT_GE(*deadline, before + kMinute);
  EXPECT_LE(*deadline, CancellationToken::Clock::now() + kMinute);
  const auto own = before + std::chrono::hours(1);
  EXPECT_EQ(DeadlineOfAForkLeftBehind(own), own);
}

TEST(LimitsTest, ForksThatOutliveTheirRunGetAMinuteOfARunsTimeAndNoMore) {
  const auto before = CancellationToken::Clock::now();
  const auto of_an_hour = DeadlineOfAForkLeftBehind(std::nullopt, std::chrono::hours(1));
  ASSERT_TRUE(of_an_hour);
  EXPECT_LE(*of_an_hour, CancellationToken::Clock::now() + std::chrono::seconds(60));
  EXPECT_GE(*of_an_hour, before + std::chrono::seconds(60));
  const auto of_half_a_minute = DeadlineOfAForkLeftBehind(std::nullopt, std::chrono::seconds(30));
  ASSERT_TRUE(of_half_a_minute);
  EXPECT_LE(*of_half_a_minute, CancellationToken::Clock::now() + std::chrono::seconds(30));
  const auto own = before + std::chrono::hours(1);
  EXPECT_EQ(DeadlineOfAForkLeftBehind(own, std::chrono::hours(2)), own);
}

TEST(LimitsTest, AWaitForAFutureThatIsNotTheRunsOwnIsNotTakenForACycle) {
  ThreadPool pool(1);
  RunOptions options;
  options.pool = &pool;
  const auto later = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  options.on_start = [&] { pool.Post([&] { pool.Post([&] { later->markCompleted(7); }); }); };
  EXPECT_EQ(EndOf(kWaitsForAGivenFuture, {later}, options).value.toInt(), 7);
}

constexpr const char* kGrowsAList = R"(graph():
  %max : int = prim::Constant[value=9223372036854775807]()
  %true : bool = prim::Constant[value=True]()
  %list : List[int] = prim::ListConstruct()
  prim::Loop(%max, %true)
    block0(%i : int):
      %l : List[int] = aten::append.t(%list, %i)
      -> (%true)
  return (%list)
)";

TEST(LimitsTest, AListThatGrowsWithoutEndMeetsTheMemoryLimit) {
  RunOptions options;
  options.memory = std::make_shared<MemoryAccount>(1 << 20);
  try {
    RunText(kGrowsAList, {}, options);
    FAIL();
  } catch (const ResourceError& error) {
    EXPECT_EQ(error.class_name(), "MemoryError");
    EXPECT_THAT(error.message(), HasSubstr("beyond its memory limit of 1048576 bytes"));
    EXPECT_THAT(error.what(), HasSubstr("aten::append.t(%list, %i)"));
  }
  EXPECT_LT(options.memory->held(), 100000) << "what the run held is given back";
}

TEST(LimitsTest, TensorsOfARunMeetItsMemoryLimit) {
  InstallCountingAllocator();
  RunOptions options;
  options.memory = std::make_shared<MemoryAccount>(1 << 20);
  const std::string doubles = R"(graph(%x : Tensor):
  %max : int = prim::Constant[value=9223372036854775807]()
  %true : bool = prim::Constant[value=True]()
  %zero : int = prim::Constant[value=0]()
  %y : Tensor = prim::Loop(%max, %true, %x)
    block0(%i : int, %a : Tensor):
      %both : List[Tensor] = prim::ListConstruct(%a, %a)
      %b : Tensor = aten::cat(%both, %zero)
      -> (%true, %b)
  return (%y)
)";
  EXPECT_THROW(RunText(doubles, {at::ones({100})}, options), ResourceError);
}

TEST(LimitsTest, AForksMemoryCountsForItsRun) {
  ThreadPool pool(2);
  RunOptions options;
  options.pool = &pool;
  options.memory = std::make_shared<MemoryAccount>(1 << 20);
  const std::string fork = R"(graph():
  %f : Future[List[int]] = prim::fork()
    block0():
      %max : int = prim::Constant[value=9223372036854775807]()
      %true : bool = prim::Constant[value=True]()
      %list : List[int] = prim::ListConstruct()
      prim::Loop(%max, %true)
        block0(%i : int):
          %l : List[int] = aten::append.t(%list, %i)
          -> (%true)
      -> (%list)
  %r : List[int] = aten::wait(%f)
  return (%r)
)";
  const Ending ending = EndOf(fork, {}, options);
  EXPECT_THROW(std::rethrow_exception(ending.error), ResourceError);
  EXPECT_THAT(MessageOf(ending.error), HasSubstr("beyond its memory limit"));
}

TEST_F(UnitTest, AForkBombEndsAtTheBoundOfForks) {
  const c10::FunctionSchema schema("bomb", "", {c10::Argument("n", c10::IntType::get())},
                                   {c10::Argument("", c10::IntType::get())});
  Function* bomb =
      unit_->AddFunction(std::make_unique<Function>(c10::QualifiedName("__torch__.bomb"), schema, nullptr));
  graphs_.push_back(ParseGraph(R"(graph(%n : int):
  %f : Future[int] = prim::fork(%n)
    block0(%m : int):
      %s : int = prim::CallFunction[function=@__torch__.bomb](%m)
      -> (%s)
  %g : Future[int] = prim::fork(%n)
    block0(%k : int):
      %t : int = prim::CallFunction[function=@__torch__.bomb](%k)
      -> (%t)
  %a : int = aten::wait(%f)
  %b : int = aten::wait(%g)
  return (%a)
)",
                               options_));
  const auto code = CompileCode(*graphs_.back(), "__torch__.bomb");
  SetCode(*bomb, code);
  std::exception_ptr error;
  {
    ThreadPool pool(2);
    RunOptions options;
    options.pool = &pool;
    Latch latch(1);
    RunAsync(code, {1}, options, [&](IValue, std::exception_ptr failure) {
      error = std::move(failure);
      latch.Down();
    });
    latch.Wait();
    // Ending the pool waits for what the bomb has left.
  }
  EXPECT_THROW(std::rethrow_exception(error), ResourceError);
  EXPECT_THAT(MessageOf(error), HasSubstr("forks under way at once"));
}

TEST_F(UnitTest, AReportOfManyFramesNamesTheFirstAndTheLast) {
  const c10::FunctionSchema schema("again", "", {c10::Argument("n", c10::IntType::get())},
                                   {c10::Argument("", c10::IntType::get())});
  Function* again =
      unit_->AddFunction(std::make_unique<Function>(c10::QualifiedName("__torch__.again"), schema, nullptr));
  graphs_.push_back(ParseGraph(R"(graph(%n : int):
  %r : int = prim::CallFunction[function=@__torch__.again](%n)
  return (%r)
)",
                               options_));
  const auto code = CompileCode(*graphs_.back(), "__torch__.again");
  SetCode(*again, code);
  try {
    hearth::Run(*code, {1});
    FAIL();
  } catch (const ModelError& error) {
    const std::string report = error.what();
    EXPECT_THAT(report, HasSubstr("calls more"));
    EXPECT_LT(report.size(), 100000u);
    EXPECT_EQ(error.message(), "maximum recursion depth exceeded");
  }
}

constexpr size_t kMessageBytes = 1 << 20;

constexpr const char* kRaises = R"(graph(%m : str):
  %c : str = prim::Constant[value="builtins.ValueError"]()
  prim::RaiseException(%m, %c)
  %n : NoneType = prim::Constant[value=None]()
  return (%n)
)";

TEST(LimitsTest, ARaisedMessageIsCutAtAMebibyteAndSaysHowMuchIsLeftOut) {
  const auto message_of = [](size_t bytes) {
    try {
      RunText(kRaises, {std::string(bytes, 'm')});
    } catch (const ModelError& error) {
      return error.message();
    }
    return std::string("no error");
  };
  const std::string whole(kMessageBytes, 'm');
  EXPECT_TRUE(message_of(kMessageBytes) == whole);
  EXPECT_TRUE(message_of(kMessageBytes + 17) == whole + " ... (17 bytes more)");
}

TEST(LimitsTest, AForksReportIsCutWithinItsWaiters) {
  constexpr size_t kReportBytes = 64 << 10;
  ThreadPool pool(1);
  RunOptions options;
  options.pool = &pool;
  const std::string waits = R"(graph(%m : str):
  %f : Future[NoneType] = prim::fork(%m)
    block0(%a : str):
      %c : str = prim::Constant[value="builtins.ValueError"]()
      prim::RaiseException(%a, %c)
      %n : NoneType = prim::Constant[value=None]()
      -> (%n)
  %r : NoneType = aten::wait(%f)
  return (%r)
)";
  const auto report_of = [&](size_t bytes) {
    return MessageOf(EndOf(waits, {"begin" + std::string(bytes, 'm') + "end"}, options).error);
  };
  EXPECT_THAT(report_of(kReportBytes / 2), Not(HasSubstr("bytes more")));
  const std::string report = report_of(kMessageBytes / 2);
  EXPECT_THAT(report, HasSubstr("in <forked function>"));
  EXPECT_THAT(report, HasSubstr("builtins.ValueError: begin"));
  EXPECT_THAT(report, HasSubstr("bytes more) ...\n"));
  EXPECT_THAT(report, HasSubstr("mmmend\n"));
  EXPECT_LT(report.size(), kReportBytes + 2000);
}

TEST(LimitsTest, AGpuWithoutMemoryIsALimitThatWasPassed) {
  const auto refused = std::make_exception_ptr(c10::OutOfMemoryError({"f", "file", 1}, "CUDA out of memory."));
  try {
    std::rethrow_exception(WithTraceback(refused, {}));
    FAIL();
  } catch (const ResourceError& error) {
    EXPECT_EQ(error.class_name(), "OutOfMemoryError");
    EXPECT_THAT(error.message(), HasSubstr("CUDA out of memory."));
  }
}

}  // namespace
}  // namespace hearth
