#include "jit/interpreter/interpreter.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <torch/library.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "jit/interpreter/code.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/ir/parser.h"
#include "jit/module/compilation_unit.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

using c10::IValue;
using ::testing::HasSubstr;

std::shared_ptr<const Code> Compile(const std::string& text, const ParseOptions& options = {}) {
  // Reports of failures show the text, which the Graph keeps.
  static std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(ParseGraph(text, options));
  return CompileCode(*graphs.back(), "__torch__.M.forward");
}

IValue RunText(const std::string& text, std::vector<IValue> arguments, const RunOptions& options = {}) {
  return hearth::Run(*Compile(text), std::move(arguments), options);
}

std::string ErrorOf(const std::string& text, std::vector<IValue> arguments) {
  try {
    RunText(text, std::move(arguments));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "no error";
}

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

TEST(InterpreterTest, ACancelledRunStops) {
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

TEST(InterpreterTest, ARunStopsAtItsDeadline) {
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

// Waits for many runs to end.
class Latch {
 public:
  explicit Latch(int count) : left_(count) {}
  void Down() {
    std::lock_guard lock(mutex_);
    if (--left_ == 0) done_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  int left_;
};

// A unit with classes and functions whose bodies are IR text.
class UnitTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.resolve_class = [this](const std::string& name) -> c10::TypePtr { return unit_->FindType(name); };
    options_.resolve_function = [this](const std::string& name) { return unit_->FindFunction(name); };
  }

  c10::ClassTypePtr AddClass(const std::string& name) {
    auto type = c10::ClassType::create(c10::QualifiedName(name), unit_->opaque(), /*is_module=*/false);
    unit_->AddType(type);
    return type;
  }

  std::unique_ptr<Function> Make(const std::string& name, const std::string& text) {
    graphs_.push_back(ParseGraph(text, options_));
    const Graph& graph = *graphs_.back();
    std::vector<c10::Argument> arguments;
    for (const Value* input : graph.inputs()) arguments.emplace_back(input->name(), input->type());
    c10::FunctionSchema schema(name, "", std::move(arguments), {c10::Argument("", graph.outputs()[0]->type())});
    auto function = std::make_unique<Function>(c10::QualifiedName(name), std::move(schema), nullptr);
    SetCode(*function, CompileCode(graph, name));
    return function;
  }
  Function* AddFunction(const std::string& name, const std::string& text) {
    return unit_->AddFunction(Make(name, text));
  }
  Function* AddMethod(const c10::ClassTypePtr& type, const std::string& name, const std::string& text) {
    return unit_->AddMethod(type, Make(type->name()->qualifiedName() + "." + name, text));
  }
  IValue NewObject(const c10::ClassTypePtr& type) {
    return c10::ivalue::Object::create(c10::StrongTypePtr(unit_->opaque(), type), type->numAttributes());
  }

  std::shared_ptr<CompilationUnit> unit_ = CompilationUnit::Create();
  ParseOptions options_;
  std::vector<std::unique_ptr<Graph>> graphs_;
};

TEST_F(UnitTest, CallsHaveFramesAndRecursionEndsInAnError) {
  AddFunction("__torch__.double", R"(graph(%x : int):
  %y : int = aten::add.int(%x, %x)
  return (%y)
)");
  Function* quadruple = AddFunction("__torch__.quadruple", R"(graph(%x : int):
  %y : int = prim::CallFunction[function=@__torch__.double](%x)
  %z : int = prim::CallFunction[function=@__torch__.double](%y)
  return (%z)
)");
  EXPECT_EQ(hearth::Run(*CodeOf(*quadruple), {5}).toInt(), 20);

  auto type = AddClass("__torch__.R");
  type->addMethod(unit_->AddAnonymous(std::make_unique<Function>(c10::QualifiedName("__torch__.R.again"),
                                                                 c10::FunctionSchema("again", "", {}, {}), nullptr)));
  const auto graph = ParseGraph(R"(graph(%self : __torch__.R):
  %y : int = prim::CallMethod[name="again"](%self)
  return (%y)
)",
                                options_);
  auto code = CompileCode(*graph, "__torch__.R.again");
  SetCode(static_cast<Function&>(*type->findMethod("again")), code);
  try {
    hearth::Run(*code, {NewObject(type)});
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.message(), "maximum recursion depth exceeded");
  }
}

TEST_F(UnitTest, ACalleesFailureShowsBothFrames) {
  AddFunction("__torch__.inner", R"(graph(%x : int):
  %zero : int = prim::Constant[value=0]()
  %y : int = aten::floordiv.int(%x, %zero)
  return (%y)
)");
  Function* outer = AddFunction("__torch__.outer", R"(graph(%x : int):
  %y : int = prim::CallFunction[function=@__torch__.inner](%x)
  return (%y)
)");
  try {
    hearth::Run(*CodeOf(*outer), {5});
    FAIL();
  } catch (const ModelError& error) {
    const std::string report = error.what();
    EXPECT_THAT(report, HasSubstr("in outer\n"));
    EXPECT_LT(report.find("in outer\n"), report.find("in inner\n"));
    EXPECT_EQ(error.message(), "division by 0");
  }
}

TEST_F(UnitTest, AttributesAreReadAndWritten) {
  auto type = AddClass("__torch__.Counter");
  type->addAttribute("n", c10::IntType::get());
  AddMethod(type, "bump", R"(graph(%self : __torch__.Counter, %by : int):
  %n : int = prim::GetAttr[name="n"](%self)
  %m : int = aten::add.int(%n, %by)
  prim::SetAttr[name="n"](%self, %m)
  return (%m)
)");
  const IValue counter = NewObject(type);
  counter.toObjectRef().setAttr("n", 5);
  torch::jit::Stack stack = {counter, 3};
  type->findMethod("bump")->run(stack);
  EXPECT_EQ(stack.at(0).toInt(), 8);
  EXPECT_EQ(counter.toObjectRef().getAttr("n").toInt(), 8);
}

TEST_F(UnitTest, ExitRunsForEveryEnteredObjectInnermostFirstWhenTheBodyRaises) {
  auto type = AddClass("__torch__.Manager");
  type->addAttribute("log", c10::ListType::create(c10::StringType::get()));
  type->addAttribute("name", c10::StringType::get());
  AddMethod(type, "__enter__", R"(graph(%self : __torch__.Manager):
  %log : List[str] = prim::GetAttr[name="log"](%self)
  %name : str = prim::GetAttr[name="name"](%self)
  %l : List[str] = aten::append.t(%log, %name)
  return (%name)
)");
  AddMethod(type, "__exit__", R"(graph(%self : __torch__.Manager, %a : Any, %b : Any, %c : Any):
  %log : List[str] = prim::GetAttr[name="log"](%self)
  %name : str = prim::GetAttr[name="name"](%self)
  %bang : str = prim::Constant[value="!"]()
  %text : str = aten::add.str(%name, %bang)
  %l : List[str] = aten::append.t(%log, %text)
  %none : NoneType = prim::Constant[value=None]()
  return (%none)
)");
  c10::List<std::string> log;
  const auto manager = [&](const char* name) {
    IValue object = NewObject(type);
    object.toObjectRef().setAttr("log", log);
    object.toObjectRef().setAttr("name", name);
    return object;
  };
  const auto code = Compile(R"(graph(%p : __torch__.Manager, %q : __torch__.Manager, %d : int):
  %one : int = prim::Constant[value=1]()
  %r : int = prim::With(%p)
    block0(%n : str):
      %s : int = prim::With(%q)
        block0(%m : str):
          %v : int = aten::floordiv.int(%one, %d)
          -> (%v)
      -> (%s)
  return (%r)
)",
                            options_);
  EXPECT_EQ(hearth::Run(*code, {manager("p"), manager("q"), 1}).toInt(), 1);
  EXPECT_EQ(log.vec(), (std::vector<std::string>{"p", "q", "q!", "p!"}));
  log.clear();
  EXPECT_THROW(hearth::Run(*code, {manager("p"), manager("q"), 0}), ModelError);
  EXPECT_EQ(log.vec(), (std::vector<std::string>{"p", "q", "q!", "p!"}));
}

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

TEST_F(UnitTest, ForksNestAThousandDeepOnTwoThreads) {
  // Each level forks the next and waits for it: without suspending, two threads would be stuck at the second level.
  const c10::FunctionSchema schema("nest", "", {c10::Argument("n", c10::IntType::get())},
                                   {c10::Argument("", c10::IntType::get())});
  Function* nest =
      unit_->AddFunction(std::make_unique<Function>(c10::QualifiedName("__torch__.nest"), schema, nullptr));
  graphs_.push_back(ParseGraph(R"(graph(%n : int):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %deeper : bool = aten::gt.int(%n, %zero)
  %r : int = prim::If(%deeper)
    block0():
      %f : Future[int] = prim::fork(%n)
        block0(%m : int):
          %inner_one : int = prim::Constant[value=1]()
          %less : int = aten::sub.int(%m, %inner_one)
          %s : int = prim::CallFunction[function=@__torch__.nest](%less)
          -> (%s)
      %t : int = aten::wait(%f)
      %u : int = aten::add.int(%t, %one)
      -> (%u)
    block1():
      -> (%zero)
  return (%r)
)",
                               options_));
  const auto code = CompileCode(*graphs_.back(), "__torch__.nest");
  SetCode(*nest, code);
  EXPECT_EQ(hearth::Run(*code, {1000}).toInt(), 1000);
  ThreadPool pool(2);
  RunOptions options;
  options.pool = &pool;
  EXPECT_EQ(hearth::Run(*code, {1000}, options).toInt(), 1000);
  Latch latch(8);
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    RunAsync(code, {1000 + i}, options, [&, i](IValue result, std::exception_ptr error) {
      if (!error && result.toInt() == 1000 + i) ++right;
      latch.Down();
    });
  }
  latch.Wait();
  EXPECT_EQ(right, 8);
}

TEST(ForkTest, AThousandForksAreWaitedForInOneRun) {
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
  EXPECT_EQ(hearth::Run(*code, {1000}, options).toInt(), 332833500);
  Latch latch(1);
  int64_t answer = 0;
  RunAsync(code, {1000}, options, [&](IValue result, std::exception_ptr) {
    answer = result.toInt();
    latch.Down();
  });
  latch.Wait();
  EXPECT_EQ(answer, 332833500);
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

}  // namespace
}  // namespace hearth
