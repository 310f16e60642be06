// Plans that leave for the baseline, at every guard of random programs.
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/analysis/anchors.h"
#include "jit/executor/plan_compiler.h"
#include "jit/interpreter/code.h"
#include "jit/interpreter/interpreter.h"
#include "jit/interpreter/plan_executable.h"
#include "jit/interpreter/random_graphs.h"
#include "jit/interpreter/test_support.h"
#include "jit/ir/parser.h"
#include "jit/ir/printer.h"
#include "jit/ir/symbols.h"
#include "jit/ir/verifier.h"
#include "jit/operators/registry.h"
#include "jit/passes/pass_table.h"
#include "jit/passes/pipelines.h"
#include "jit/support/memory_account.h"
#include "jit/support/resource_error.h"

namespace hearth {
namespace {

using c10::IValue;
using testing::HasSubstr;

// `optimise` changes the plan before it gets its guards.
std::unique_ptr<const PlanExecutable> CompileGuarded(const Graph& baseline, void (*optimise)(Compilation&),
                                                     std::shared_ptr<BailoutTotals> totals = nullptr) {
  const std::vector<ResumePlace> anchors = FindAnchors(baseline, Liveness(*baseline.block()));
  const auto resumable = CompileResumable(baseline, "f", anchors);
  CompilationInputs inputs;
  inputs.anchors = &anchors;
  Compilation compilation(baseline, inputs);
  BuildPlan(compilation);
  Verify(compilation.source());
  optimise(compilation);
  Verify(compilation.source());
  compilation.Run(PassName("guard_everywhere").pass());
  Verify(compilation.source());
  return CompilePlan(compilation.TakeGraph(), "f", resumable, std::move(totals));
}

void RemoveDeadCode(Compilation& plan) { plan.Run(PassName("dead_plan_code").pass()); }

// The answer and what was appended to the list; the list is the last argument.
std::pair<IValue, IValue> AnswerAndLog(const Code& code, bool flag, int32_t failing_guard,
                                       std::shared_ptr<RunSamples> samples = nullptr) {
  const c10::List<std::string> log;
  RunOptions options;
  options.failing_guard = failing_guard;
  options.samples = std::move(samples);
  options.token = std::make_shared<CancellationToken>();
  options.token->SetDeadline(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  const std::vector<IValue> strings = {"ab", "xyz"};
  IValue answer = hearth::Run(code, {2, -5, strings[0], strings[1], flag, log}, options);
  if (options.samples != nullptr) return {std::move(answer), log};  // they hold strings too
  for (const IValue& string : strings) {
    const auto is_it = [&](const IValue& value) { return value.is(string); };
    const auto held = std::ranges::count_if(answer.toTupleRef().elements(), is_it) +
                      std::ranges::count_if(IValue(log).toListRef(), is_it);
    EXPECT_EQ(string.use_count(), 1 + static_cast<size_t>(held)) << "a register still holds an argument";
  }
  return {std::move(answer), log};
}

// How many bailouts there were.
size_t FailEveryGuard(void (*optimise)(Compilation&)) {
  const auto totals = std::make_shared<BailoutTotals>();
  for (uint32_t seed = 0; seed < 600; ++seed) {
    const std::unique_ptr<Graph> graph = GraphGenerator(seed, true).Generate();
    const auto baseline = CompileCode(*graph, "f");
    const auto plan = CompileGuarded(*graph, optimise, totals);
    const auto explain = [&] {
      return "seed " + std::to_string(seed) + "\n" + PrintGraph(plan->graph()) + DumpCode(*baseline) +
             DumpCode(*plan->entry());
    };
    for (const bool flag : {false, true}) {
      const auto expected = AnswerAndLog(*baseline, flag, -1);
      const uint64_t before = totals->bailouts;
      EXPECT_EQ(AnswerAndLog(*plan->entry(), flag, -1), expected) << explain();
      EXPECT_EQ(totals->bailouts, before) << "without a failing guard the plan runs to its end";
      for (uint32_t guard = 0; guard < plan->bailouts().guards().size(); ++guard) {
        EXPECT_EQ(AnswerAndLog(*plan->entry(), flag, static_cast<int32_t>(guard)), expected)
            << "guard " << guard << ", " << explain();
        if (testing::Test::HasFailure()) return totals->bailouts;
      }
    }
  }
  EXPECT_EQ(totals->guard_failures, totals->bailouts);
  return totals->bailouts;
}

TEST(BailoutTest, EveryGuardOfRandomProgramsMayFailAndNothingChanges) {
  // The others stand in branches that these arguments do not take.
  EXPECT_GT(FailEveryGuard(RemoveDeadCode), 10000u);
}

TEST(BailoutTest, EveryGuardOfOptimisedRandomProgramsMayFailAndNothingChanges) {
  EXPECT_GT(FailEveryGuard(OptimizePlan), 10000u);
}

// Plans made of what one run showed, which another run shows to be wrong.
TEST(BailoutTest, WhatAProfileAssumedIsGivenUpWhereItDoesNotHold) {
  size_t claims = 0;
  size_t claims_of_none = 0;
  size_t bailouts = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    const std::unique_ptr<Graph> graph = GraphGenerator(seed, true).Generate();
    const auto baseline = CompileCode(*graph, "f");
    const PlanCompiler compiler(*graph, "f", /*guard_everywhere=*/true, nullptr, {}, nullptr);
    const ArgumentSpec spec =
        ArgumentSpec::Of(std::vector<IValue>{2, -5, "ab", "xyz", true, c10::List<std::string>()}).value();
    compiler.Compile({.spec = spec}, nullptr);
    PlanRequest request{.spec = spec, .least_runs = 1};
    const auto samples = std::make_shared<RunSamples>(compiler.sites().size(), seed);
    ASSERT_EQ(AnswerAndLog(*compiler.observed(), true, -1, samples), AnswerAndLog(*baseline, true, -1))
        << "seed " << seed;
    request.profile.Join(*samples, compiler.sites());
    const auto plan = compiler.Compile(request, nullptr);
    const PlanExecutable& executable = plan->executable();
    Verify(executable.graph());
    for (const bool flag : {true, false}) {
      const auto expected = AnswerAndLog(*baseline, flag, -1);
      const auto explain = [&] { return "seed " + std::to_string(seed) + "\n" + PrintGraph(executable.graph()); };
      const uint64_t before = executable.bailouts().count();
      ASSERT_EQ(AnswerAndLog(*executable.entry(), flag, -1), expected) << explain();
      if (flag) {
        ASSERT_EQ(executable.bailouts().count(), 0u) << "what the profile saw holds; " << explain();
      }
      bailouts += executable.bailouts().count() - before;
      for (uint32_t guard = 0; guard < plan->num_guards(); ++guard) {
        ASSERT_EQ(AnswerAndLog(*executable.entry(), flag, static_cast<int32_t>(guard)), expected)
            << "guard " << guard << ", " << explain();
      }
    }
    for (const ExecutionPlan::Guard& guard : plan->guards()) {
      claims += guard.claim.empty() ? 0 : 1;
      claims_of_none += guard.claim.ends_with("None") ? 1 : 0;
    }
  }
  EXPECT_GT(claims, 500u);
  EXPECT_GT(claims_of_none, 50u);
  EXPECT_GT(bailouts, 20u);
}

TEST(BailoutTest, SizesThatWereEqualInAllRunsAreAssumedUntilTheyTurnOutNotToBe) {
  const std::unique_ptr<Graph> graph = ParseGraph(R"(graph(%l : List[Tensor]):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %x : Tensor = aten::__getitem__.t(%l, %0)
  %y : Tensor = aten::__getitem__.t(%l, %1)
  %z : Tensor = aten::mul.Tensor(%x, %y)
  %rows : int = aten::size.int(%z, %0)
  %t : Tuple[Tensor, int] = prim::TupleConstruct(%z, %rows)
  return (%t)
)");
  const auto baseline = CompileCode(*graph, "f");
  const PlanCompiler compiler(*graph, "f", /*guard_everywhere=*/false, nullptr, {}, nullptr);
  const auto lists = [](int64_t first, int64_t second) {
    const c10::List<at::Tensor> list({at::zeros({first, 3}), at::zeros({second, 3})});
    return std::vector<IValue>{list};
  };
  const ArgumentSpec spec = ArgumentSpec::Of(lists(2, 4)).value();
  PlanRequest request{.spec = spec};
  compiler.Prepare();
  for (int64_t run = 0; run < 16; ++run) {
    RunOptions options;
    options.samples = std::make_shared<RunSamples>(compiler.sites().size(), run);
    hearth::Run(*compiler.observed(), lists(2 + run % 3, 2 + run % 3), options);
    request.profile.Join(*options.samples, compiler.sites());
  }
  const auto plan = compiler.Compile(request, nullptr);
  ASSERT_EQ(plan->guards().size(), 1u) << PrintGraph(plan->executable().graph());
  EXPECT_EQ(plan->guards()[0].claim, "size 0 of y equals size 0 of x");
  const auto answer = [](const Code& code, std::vector<IValue> arguments) {
    const IValue value = hearth::Run(code, std::move(arguments));
    return std::pair(value.toTupleRef().elements()[0].toTensor().sizes().vec(),
                     value.toTupleRef().elements()[1].toInt());
  };
  EXPECT_EQ(answer(*plan->executable().entry(), lists(7, 7)), answer(*baseline, lists(7, 7)));
  EXPECT_EQ(plan->executable().bailouts().count(), 0u);
  EXPECT_ANY_THROW(answer(*baseline, lists(3, 7)));
  EXPECT_ANY_THROW(answer(*plan->executable().entry(), lists(3, 7)));
  EXPECT_EQ(plan->executable().bailouts().count(), 1u);
  for (const size_t number : plan->FailedSites()) request.deoptimised.insert(number);
  EXPECT_TRUE(compiler.Compile(request, nullptr)->guards().empty());
}

class CallsTest : public UnitTest {};

// How often loops go round and what is None, wrong in the first round or in the middle, behind calls that act.
TEST_F(CallsTest, WhatCallsDidBeforeAGuardFailedIsNotDoneAgain) {
  AddFunction("__torch__.record", R"(graph(%log : List[str], %text : str):
  %same : List[str] = aten::append.t(%log, %text)
  %length : int = aten::len.t(%log)
  return (%length)
)");
  const auto graph = ParseGraph(R"(graph(%x : Tensor, %c : List[int], %l : List[Optional[str]], %log : List[str]):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=True]()
  %none : NoneType = prim::Constant[value=None]()
  %round : str = prim::Constant[value="round"]()
  %inner : str = prim::Constant[value="inner"]()
  %nothing : str = prim::Constant[value="nothing"]()
  %begun : int = prim::CallFunction[function=@__torch__.record](%log, %round)
  %rounds : int = aten::__getitem__.t(%c, %0)
  %sum : int = prim::Loop(%rounds, %true, %begun)
    block0(%i : int, %before : int):
      %dim : int = aten::dim(%x)
      %length : int = prim::CallFunction[function=@__torch__.record](%log, %round)
      %many : int = aten::__getitem__.t(%c, %1)
      %inside : int = prim::Loop(%many, %true, %length)
        block0(%j : int, %carried : int):
          %dim2 : int = aten::dim(%x)
          %so_far : int = prim::CallFunction[function=@__torch__.record](%log, %inner)
          -> (%true, %so_far)
      %o : Optional[str] = aten::__getitem__.t(%l, %i)
      %there : bool = aten::__isnot__(%o, %none)
      %text : str = prim::If(%there)
        block0():
          %sure : str = prim::unchecked_cast(%o)
          -> (%sure)
        block1():
          %unset : int = prim::CallFunction[function=@__torch__.record](%log, %nothing)
          -> (%nothing)
      %last : int = prim::CallFunction[function=@__torch__.record](%log, %text)
      %after : int = aten::add.int(%before, %inside)
      -> (%true, %after)
  return (%sum)
)",
                                options_);
  const auto baseline = CompileCode(*graph, "f");
  using Optionals = std::vector<std::optional<std::string>>;
  const at::Tensor x = at::zeros({2});
  const auto run = [&](const Code& code, const std::vector<int64_t>& counts, const Optionals& optionals,
                       std::shared_ptr<RunSamples> samples = nullptr) {
    const c10::List<std::string> log;
    c10::List<std::optional<std::string>> list;
    for (const auto& each : optionals) list.push_back(each);
    RunOptions options;
    options.samples = std::move(samples);
    const IValue answer = hearth::Run(code, {x, counts, list, log}, options);
    return std::pair(answer.toInt(), log.vec());
  };
  const PlanCompiler compiler(*graph, "f", /*guard_everywhere=*/false, nullptr, {}, nullptr);
  c10::List<std::optional<std::string>> two;
  two.resize(2);
  const ArgumentSpec spec =
      ArgumentSpec::Of(std::vector<IValue>{x, std::vector<int64_t>(2), two, c10::List<std::string>()}).value();
  compiler.Compile({.spec = spec}, nullptr);
  PlanRequest request{.spec = spec, .least_runs = 1};
  const auto samples = std::make_shared<RunSamples>(compiler.sites().size(), 1);
  run(*compiler.observed(), {2, 3}, {"a", "b"}, samples);
  request.profile.Join(*samples, compiler.sites());
  const auto plan = compiler.Compile(request, nullptr);
  struct Case {
    std::vector<int64_t> counts;
    Optionals optionals;
    std::string wrong;
  };
  const std::vector<Case> cases = {{{2, 3}, {"c", "d"}, ""},
                                   {{1, 3}, {"a", "b"}, "rounds is 2"},
                                   {{0, 3}, {"a", "b"}, "rounds is 2"},
                                   {{2, 4}, {"a", "b"}, "many is 3"},
                                   {{2, 3}, {std::nullopt, "b"}, "o is not None"},
                                   {{2, 3}, {"a", std::nullopt}, "o is not None"}};
  for (const Case& each : cases) {
    const auto before = plan->guards();
    EXPECT_EQ(run(*plan->executable().entry(), each.counts, each.optionals),
              run(*baseline, each.counts, each.optionals));
    std::string failed;
    for (size_t i = 0; i < before.size(); ++i) {
      if (plan->guards()[i].failures > before[i].failures) failed += plan->guards()[i].claim;
    }
    EXPECT_EQ(failed, each.wrong);
  }
}

// So that a plan does something more than the model, which may raise.
void MultiplyFirst(Compilation& compilation) {
  Graph& plan = compilation.graph();
  static const Symbol kMultiply = Symbol::fromQualString("aten::mm");
  Node* first = plan.block()->param_node()->next();
  while (first->kind() == sym::kFrameState) first = first->next();
  Value* x = plan.inputs()[0];
  const InsertionGuard before(&plan, first);
  plan.Insert(plan.Create(kMultiply, {x, x}))->SetOperator(OperatorRegistry::Global().Find(kMultiply, ""));
}

TEST(BailoutTest, APlanThatRaisesWhereTheModelDoesNotSaysWhereAndWhy) {
  const auto graph = ParseGraph("graph(%x : Tensor):\n  %y : Tensor = aten::neg(%x)\n  return (%y)\n");
  const auto totals = std::make_shared<BailoutTotals>();
  const auto plan = CompileGuarded(*graph, MultiplyFirst, totals);
  const BailoutRecord& bailouts = plan->bailouts();
  const auto run = [&](int64_t columns, int32_t failing_guard) {
    RunOptions options;
    options.failing_guard = failing_guard;
    EXPECT_EQ(hearth::Run(*plan->entry(), {at::zeros({2, columns})}, options).toTensor().size(1), columns);
    return std::pair(bailouts.count(), bailouts.plan_exceptions());
  };
  EXPECT_EQ(run(2, -1), std::pair(uint64_t{0}, uint64_t{0}));
  EXPECT_EQ(run(2, 0), std::pair(uint64_t{1}, uint64_t{0})) << "a guard that fails is no exception";
  EXPECT_EQ(run(3, -1), std::pair(uint64_t{2}, uint64_t{1}));
  EXPECT_EQ(run(4, -1), std::pair(uint64_t{3}, uint64_t{2}));
  EXPECT_EQ(bailouts.guard_failures(), 1u);
  EXPECT_EQ(bailouts.model_exceptions(), 0u);
  ASSERT_EQ(bailouts.exceptions().size(), 1u);
  const BailoutRecord::PlanException exception = bailouts.exceptions()[0];
  EXPECT_EQ(exception.op, "aten::mm");
  EXPECT_THAT(exception.node, HasSubstr("= aten::mm(%x, %x)"));
  EXPECT_EQ(exception.text, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)") << "of the first run";
  EXPECT_EQ(exception.runs, 2u);
  EXPECT_EQ(totals->bailouts, 3u);
  EXPECT_EQ(totals->guard_failures, 1u);
  EXPECT_EQ(totals->plan_exceptions, 2u);
}

TEST(BailoutTest, ARunThatStaysInItsPlanFailsWithWhatThePlanRaises) {
  const auto graph = ParseGraph("graph(%x : Tensor):\n  %y : Tensor = aten::neg(%x)\n  return (%y)\n");
  const auto plan = CompileGuarded(*graph, MultiplyFirst);
  RunOptions options;
  options.stays_in_plan = true;
  EXPECT_EQ(hearth::Run(*plan->entry(), {at::zeros({2, 2})}, options).toTensor().size(1), 2);
  try {
    hearth::Run(*plan->entry(), {at::zeros({2, 3})}, options);
    ADD_FAILURE() << "the plan's product cannot be";
  } catch (const ModelError& error) {
    EXPECT_THAT(error.message(), HasSubstr("mat1 and mat2 shapes cannot be multiplied"));
  }
  EXPECT_EQ(plan->bailouts().count(), 0u);
}

TEST(BailoutTest, APlanThatRaisesAsTheModelDoesIsNotToBlame) {
  const auto graph = ParseGraph("graph(%x : Tensor):\n  %y : Tensor = aten::mm(%x, %x)\n  return (%y)\n");
  const auto plan = CompileGuarded(*graph, MultiplyFirst);
  EXPECT_THROW(hearth::Run(*plan->entry(), {at::zeros({2, 3})}, RunOptions()), std::exception);
  EXPECT_EQ(plan->bailouts().count(), 1u);
  EXPECT_EQ(plan->bailouts().model_exceptions(), 1u);
  EXPECT_EQ(plan->bailouts().plan_exceptions(), 0u);
}

TEST(BailoutTest, TheTextOfAnExceptionIsOneShortLine) {
  const auto text = [](const std::string& what) {
    return ExceptionText(std::make_exception_ptr(std::runtime_error(what)));
  };
  EXPECT_EQ(text("no\tgood\nat all"), "no\\tgood");
  EXPECT_LT(text(std::string(100000, '\x01')).size(), 400u);
}

TEST(BailoutTest, ARunThatHasUsedUpItsMemoryBeginsNothingAgain) {
  const std::unique_ptr<Graph> graph = ParseGraph(R"(graph(%n : int, %s : str, %log : List[str]):
  %true : bool = prim::Constant[value=True]()
  %last : str = prim::Loop(%n, %true, %s)
    block0(%i : int, %t : str):
      %same : List[str] = aten::append.t(%log, %t)
      %next : str = aten::add.str(%t, %s)
      -> (%true, %next)
  return (%last)
)");
  const auto plan = CompileGuarded(*graph, RemoveDeadCode);
  RunOptions options;
  options.memory = std::make_shared<MemoryAccount>(4 << 20);
  EXPECT_THROW(hearth::Run(*plan->entry(), {1000000, "text", c10::List<std::string>()}, options), ResourceError);
  EXPECT_EQ(plan->bailouts().count(), 0u);
}

}  // namespace
}  // namespace hearth
