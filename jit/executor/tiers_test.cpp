// What a model's tiers know of their calls, as the next load of the archive has it restored.
#include "jit/executor/tiers.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <future>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "jit/analysis/effects.h"
#include "jit/definitions/node_effects.h"
#include "jit/executor/held_compiler.h"
#include "jit/interpreter/code.h"
#include "jit/ir/parser.h"
#include "jit/ir/printer.h"
#include "jit/ir/symbols.h"
#include "jit/libraries/convolution.h"
#include "jit/libraries/product.h"
#include "jit/passes/pipelines.h"
#include "jit/tools/ir_file.h"

namespace hearth {
namespace {

using c10::IValue;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;
using Clock = std::chrono::steady_clock;

constexpr char kScaled[] = R"(graph(%x : Tensor):
  %0 : int = prim::Constant[value=0]()
  %size : int = aten::size.int(%x, %0)
  %y : Tensor = aten::mul.Scalar(%x, %size)
  return (%y)
)";

std::vector<IValue> Matrix(int64_t rows) { return {at::zeros({rows, 3})}; }
std::vector<IValue> TensorOfSize(int64_t size) { return {at::zeros({size})}; }

class TiersTest : public testing::Test {
 protected:
  TiersTest() : graph_(ParseGraph(kScaled)) {
    settings_.compiler = std::make_shared<BackgroundCompiler>(BackgroundCompiler::Settings());
    settings_.budget = std::make_shared<CodeCacheBudget>(CodeCacheLimits{1000, size_t{1} << 30});
    settings_.exact_after = 10;
    // A thread that is only beginning may hold the lock before which calls give way, and then a call counts later.
    const HeldCompiler has_begun(settings_.compiler);
  }

  std::unique_ptr<Tiers> Load() const { return Load(*graph_); }
  std::unique_ptr<Tiers> Load(const Graph& graph) const {
    return std::make_unique<Tiers>(settings_, std::vector<ModelPlans::Method>{{"f", &graph}}, StateWrites());
  }

  // `calls` of these, and whatever is compiled after each. Up to CodeCache::kExactCalls, every one is counted.
  static void Call(Tiers& tiers, const std::vector<IValue>& arguments, int calls) {
    for (int i = 0; i < calls; ++i) {
      tiers.Choose(0, arguments);
      EXPECT_TRUE(tiers.WaitUntilIdle(Clock::time_point::max()));
    }
  }

  static size_t Restore(Tiers& tiers, const std::vector<SpecProfile>& known) {
    return tiers.RestoreProfiles(known, [](const std::string&) { return nullptr; });
  }

  // As a run does it where a plan raises and the baseline does not.
  static void Raise(const ExecutionPlan& plan) {
    BailoutRecord& bailouts = plan.executable().bailouts();
    bailouts.CountBailout();
    bailouts.CountPlanException(*plan.executable().graph().block()->param_node()->next(),
                                std::make_exception_ptr(std::runtime_error("no")));
  }

  // "Float[2: *, *] [2, 3]" of a plan of tier 2, "Float[2: *, *]" of one of tier 1.
  static std::vector<std::string> Plans(const Tiers& tiers) {
    std::vector<std::string> plans;
    for (const ListedPlan& plan : tiers.plans()) {
      if (plan.plan == nullptr) continue;
      const std::string spec = plan.spec.substr(0, plan.spec.find(" cpu"));
      plans.push_back(plan.plan->tier() == 1 ? spec : spec + " " + plan.plan->shape());
    }
    return plans;
  }

  const std::unique_ptr<Graph> graph_;
  TierSettings settings_;
};

TEST_F(TiersTest, TheNextLoadHasThePlansOfShapesBeforeItIsCalled) {
  std::vector<SpecProfile> known;
  {
    const auto tiers = Load();
    Call(*tiers, Matrix(2), 40);
    Call(*tiers, Matrix(5), 3);
    known = tiers->profiles();
  }
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].shapes.at(0).numbers, (std::vector<int64_t>{2, 2, 3, 3, 1}));
  EXPECT_TRUE(known[0].shapes[0].exact);
  EXPECT_EQ(known[0].shapes.at(1).numbers, (std::vector<int64_t>{2, 5, 3, 3, 1}));
  EXPECT_FALSE(known[0].shapes[1].exact);

  const auto next = Load();
  EXPECT_EQ(Restore(*next, known), 1u);
  ASSERT_TRUE(next->WaitUntilIdle(Clock::time_point::max()));
  EXPECT_THAT(Plans(*next), ElementsAre("Float[2: *, *]", "Float[2: *, *] [2, 3]"));
  EXPECT_EQ(next->Choose(0, Matrix(2)).plan->tier(), 2u);
  EXPECT_EQ(next->Choose(0, Matrix(5)).plan->tier(), 1u);
}

// Code, which nobody runs, as soon as it may be had.
class LateKernels : public fuser::KernelSource {
 public:
  std::shared_ptr<const fuser::KernelCode> Get(const std::string& text, const std::function<void()>& rest) override {
    return there ? std::make_shared<const fuser::KernelCode>() : nullptr;
  }
  std::optional<std::shared_ptr<const fuser::KernelCode>> Find(const std::string& text) override {
    return std::nullopt;
  }
  bool MayRetry() const override { return there; }

  std::atomic<bool> there = false;
};

TEST_F(TiersTest, APlanIsMadeAgainOnceItsKernelsMayBeHad) {
  const auto kernels = std::make_shared<LateKernels>();
  settings_.kernels = kernels;
  const std::unique_ptr<Graph> graph = ParseGraph(R"(graph(%x : Tensor):
  %y : Tensor = aten::tanh(%x)
  %z : Tensor = aten::relu(%y)
  return (%z)
)");
  const auto tiers = Load(*graph);
  const auto fused = [&](int64_t rows) {
    const std::shared_ptr<const ExecutionPlan> plan = tiers->Choose(0, Matrix(rows)).plan;
    return plan != nullptr && plan->has_kernels();
  };
  Call(*tiers, Matrix(2), 40);
  ASSERT_THAT(Plans(*tiers), ElementsAre("Float[2: *, *]", "Float[2: *, *] [2, 3]"));
  EXPECT_FALSE(fused(2));
  EXPECT_FALSE(fused(5));
  kernels->there = true;
  Call(*tiers, Matrix(2), 1);
  Call(*tiers, Matrix(5), 1);
  EXPECT_TRUE(fused(2));
  EXPECT_TRUE(fused(5));
}

TEST_F(TiersTest, WhoHoldsAPlanLastDoesNotWaitForItsEnd) {
  std::optional<DisposalThread> ends(std::in_place);
  settings_.disposal = ends->queue();
  auto tiers = Load();
  Call(*tiers, Matrix(2), 3);
  std::shared_ptr<const ExecutionPlan> last = tiers->Choose(0, Matrix(2)).plan;
  ASSERT_NE(last, nullptr);
  const std::weak_ptr<const Code> code = last->executable().entry();
  tiers = nullptr;

  std::promise<void> may_go_on;
  const auto wait = [&](int*) { may_go_on.get_future().wait(); };
  int anything = 0;
  ends->queue()->Own(std::unique_ptr<int, decltype(wait)>(&anything, wait));
  last = nullptr;
  EXPECT_FALSE(code.expired()) << "its turn has not come yet";
  may_go_on.set_value();
  ends.reset();
  EXPECT_TRUE(code.expired());
}

TEST_F(TiersTest, CallsAndBailoutsAreCountedForTheModelsWholeLife) {
  settings_.exact_after = 0;
  auto tiers = Load();
  Call(*tiers, Matrix(2), 5);
  const std::shared_ptr<const ExecutionPlan> plan = tiers->Choose(0, Matrix(2)).plan;
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(tiers->counts().calls[0], 2u) << "until there was a plan";
  EXPECT_EQ(tiers->counts().calls[1], 4u);
  for (int i = 0; i < 100; ++i) Raise(*plan);
  tiers->Choose(0, Matrix(2));
  ASSERT_TRUE(Plans(*tiers).empty()) << "the plan is invalidated";
  EXPECT_EQ(tiers->counts().bailouts, 100u);
  EXPECT_EQ(tiers->counts().plan_exceptions, 100u);
  EXPECT_EQ(tiers->counts().invalidated, 1u);
}

TEST_F(TiersTest, WhatWasKnownIsHandedOnThoughNothingOfItWasCompiledYet) {
  const auto tiers = Load();
  Call(*tiers, Matrix(2), 41);
  std::vector<SpecProfile> known = tiers->profiles();
  HeldCompiler held(settings_.compiler);
  const auto next = Load();
  Restore(*next, known);
  std::vector<SpecProfile> handed_on = next->profiles();
  held.Release();
  ASSERT_EQ(handed_on.size(), 1u);
  EXPECT_EQ(handed_on[0].spec, known[0].spec);
  EXPECT_EQ(handed_on[0].calls, known[0].calls / 2);
  ASSERT_EQ(handed_on[0].shapes.size(), 1u);
  EXPECT_EQ(handed_on[0].shapes[0], (StoredShape{known[0].shapes[0].numbers, known[0].shapes[0].calls / 2, true}));
}

TEST_F(TiersTest, ShapesThatNobodyCallsAnyMoreAreForgotten) {
  std::vector<SpecProfile> known;
  {
    const auto tiers = Load();
    Call(*tiers, Matrix(2), 20);
    known = tiers->profiles();
  }
  for (int load = 0; load < 10; ++load) {
    const auto tiers = Load();
    Restore(*tiers, known);
    Call(*tiers, Matrix(3 + load), 5);
    known = tiers->profiles();
  }
  for (const StoredShape& shape : known.at(0).shapes) EXPECT_FALSE(shape.exact && shape.numbers[1] == 2);
}

// What plans there are when the compiler comes to a job of that worth.
CompileJob Look(const Tiers& tiers, double worth, std::vector<std::string>* plans,
                std::vector<std::string> (*plans_of)(const Tiers&)) {
  const auto look = [&tiers, plans, plans_of](CompileProgress&) { *plans = plans_of(tiers); };
  return {"look", [worth] { return worth; }, {{"look", look}}, {}};
}

TEST_F(TiersTest, PlansForAllShapesAreMadeFirstAndThenThoseOfTheShapesCalledMost) {
  std::vector<SpecProfile> known;
  {
    const auto tiers = Load();
    Call(*tiers, Matrix(2), 44);
    Call(*tiers, Matrix(4), 14);
    Call(*tiers, TensorOfSize(7), 4);
    known = tiers->profiles();
  }
  const auto next = Load();
  HeldCompiler held(settings_.compiler);
  EXPECT_EQ(Restore(*next, known), 2u);
  std::vector<std::string> at_first;
  std::vector<std::string> later;
  CompileClient client(settings_.compiler);
  ASSERT_TRUE(client.Enqueue(Look(*next, 1, &at_first, Plans)));
  ASSERT_TRUE(client.Enqueue(Look(*next, 0.9, &later, Plans)));
  held.Release();
  ASSERT_TRUE(client.WaitUntilIdle(Clock::time_point::max()));
  ASSERT_TRUE(next->WaitUntilIdle(Clock::time_point::max()));
  EXPECT_THAT(at_first, UnorderedElementsAre("Float[2: *, *]", "Float[1: *]"));
  EXPECT_THAT(later, UnorderedElementsAre("Float[2: *, *]", "Float[2: *, *] [2, 3]", "Float[1: *]"));
  EXPECT_THAT(Plans(*next),
              UnorderedElementsAre("Float[2: *, *]", "Float[2: *, *] [2, 3]", "Float[2: *, *] [4, 3]", "Float[1: *]"));
}

TEST_F(TiersTest, ShapesThatNoArgumentsOfTheKindCanHaveAreLeftOut) {
  const auto tiers = Load();
  Call(*tiers, Matrix(2), 20);
  std::vector<SpecProfile> known = tiers->profiles();
  known.at(0).shapes = {{{}, 1000, true},
                        {{2, 5}, 1000, true},
                        {{3, 5, 3, 3, 3, 3, 1}, 1000, true},
                        {{2, 1, 3, 3, 1}, 1000, true},
                        {{2, -5, 3, 3, 1}, 1000, true},
                        {{2, int64_t{1} << 40, int64_t{1} << 40, 3, 1}, 1000, true},
                        {{2, 5, 3, 7, 1}, 1000, true}};
  const auto next = Load();
  EXPECT_EQ(Restore(*next, known), 1u);
  ASSERT_TRUE(next->WaitUntilIdle(Clock::time_point::max()));
  // The last one could be, of another spec alone: no call will ever have it.
  EXPECT_THAT(Plans(*next), ElementsAre("Float[2: *, *]", "Float[2: *, *] [5, 3]"));
  EXPECT_EQ(next->Choose(0, Matrix(5)).plan->tier(), 1u);
  EXPECT_EQ(next->Choose(0, Matrix(2)).plan->tier(), 1u);
}

TEST_F(TiersTest, WhoWaitsForPlansWaitsForThoseThatAnotherOneAskedFor) {
  for (int round = 0; round < 1000; ++round) {
    const auto tiers = Load();
    tiers->Choose(0, Matrix(2));
    std::atomic<int> plans{0};
    std::barrier together(2);
    const auto wait = [&] {
      std::promise<void> warm;
      together.arrive_and_wait();
      const auto waiting = tiers->WhenWarm([&] { warm.set_value(); });
      warm.get_future().wait();
      plans += static_cast<int>(Plans(*tiers).size());
    };
    std::thread other(wait);
    wait();
    other.join();
    ASSERT_EQ(plans, 2) << "in round " << round;
  }
}

TEST_F(TiersTest, WhereShapesNeverHavePlansOfTheirOwnNoneIsRestored) {
  const auto tiers = Load();
  Call(*tiers, Matrix(2), 20);
  settings_.exact_after = 0;
  const auto next = Load();
  Restore(*next, tiers->profiles());
  ASSERT_TRUE(next->WaitUntilIdle(Clock::time_point::max()));
  EXPECT_THAT(Plans(*next), ElementsAre("Float[2: *, *]"));
}

class TiersOfMistakesTest : public TiersTest {
 protected:
  // As a model does it, where plans raise and the baseline does not.
  static void Call(Tiers& tiers, int calls) {
    for (int i = 0; i < calls; ++i) {
      const PlanChoice choice = tiers.Choose(0, Matrix(2));
      if (choice.plan != nullptr) Raise(*choice.plan);
      EXPECT_TRUE(tiers.WaitUntilIdle(Clock::time_point::max()));
    }
  }
};

TEST_F(TiersOfMistakesTest, APlanThatRaisesWhereTheModelDoesNotIsInvalidatedAndNotMadeAgainForEver) {
  settings_.exact_after = 0;
  const auto tiers = Load();
  Call(*tiers, 5);
  EXPECT_EQ(Plans(*tiers).size(), 1u);
  Call(*tiers, 6);
  EXPECT_EQ(Plans(*tiers).size(), 0u);
  Call(*tiers, 2000);
  EXPECT_EQ(Plans(*tiers).size(), 0u);
  EXPECT_EQ(tiers->counts().failed, 1u);
  ASSERT_EQ(tiers->profiles().size(), 1u);
  EXPECT_EQ(tiers->profiles()[0].calls, 0u) << "the next process shall not begin with it";
}

TEST_F(TiersOfMistakesTest, APlanForOneShapeIsInvalidatedAlone) {
  const auto tiers = Load();
  TiersTest::Call(*tiers, Matrix(2), 20);
  ASSERT_THAT(Plans(*tiers), ElementsAre("Float[2: *, *]", "Float[2: *, *] [2, 3]"));
  Call(*tiers, 12);
  EXPECT_THAT(Plans(*tiers), ElementsAre("Float[2: *, *]"));
}

constexpr char kImages[] = R"(
class __torch__.M:
  weight : Tensor = zeros([16, 16, 5, 5])

graph(%self : __torch__.M, %x : Tensor):
  %w : Tensor = prim::GetAttr[name="weight"](%self)
  %n : NoneType = prim::Constant[value=None]()
  %1 : int = prim::Constant[value=1]()
  %one : List[int] = prim::Constant[value=[1, 1]]()
  %no : List[int] = prim::Constant[value=[0, 0]]()
  %y : Tensor = aten::conv2d(%x, %w, %n, %one, %no, %one, %1)
  return (%y)
)";

class TiersOfImagesTest : public TiersTest {
 protected:
  TiersOfImagesTest() : file_(std::make_shared<const Source>(kImages, "model.ir")), effects_(file_.unit()) {
    CompilationInputs inputs;
    inputs.effects = &effects_;
    inputs.self = file_.MakeSelf();
    Compilation baseline(file_.graph(), inputs);
    BuildBaseline(baseline);
    baseline_ = baseline.TakeGraph();
  }

  std::unique_ptr<Tiers> LoadAndCall(std::initializer_list<std::vector<int64_t>> images) const {
    auto tiers = Load(*baseline_);
    for (const std::vector<int64_t>& sizes : images) Call(*tiers, {at::zeros(sizes)}, 1);
    return tiers;
  }
  // Whether the plan for all shapes has the convolution prepared for images of these sizes.
  static bool IsPreparedFor(const Tiers& tiers, const std::vector<int64_t>& sizes) {
    const auto plans = tiers.plans();
    if (plans.empty() || plans[0].plan == nullptr) return false;
    for (const Node* node : *plans[0].plan->executable().graph().block()) {
      if (node->kind() != sym::kConvolution) continue;
      return libraries::Convolution::Unwrap(*ConstantOf(*node->input(1)))->IsPrepared(sizes, /*has_bias=*/false, "");
    }
    return false;
  }
  // Of the plan for all shapes.
  static std::string Text(const Tiers& tiers) {
    const auto plans = tiers.plans();
    return plans.empty() || plans[0].plan == nullptr ? "no plan" : PrintGraph(plans[0].plan->executable().graph());
  }

  const IrFile file_;
  const UnitEffects effects_;
  std::unique_ptr<Graph> baseline_;
};

TEST_F(TiersOfImagesTest, TheNextLoadPreparesConvolutionsForTheShapeThatWasCalledMost) {
  const std::vector<int64_t> once = {2, 16, 20, 24}, often = {2, 16, 24, 20};
  const auto tiers = LoadAndCall({once, often, often, often});
  EXPECT_TRUE(IsPreparedFor(*tiers, once)) << "the first call's";
  const auto next = Load(*baseline_);
  Restore(*next, tiers->profiles());
  ASSERT_TRUE(next->WaitUntilIdle(Clock::time_point::max()));
  EXPECT_TRUE(IsPreparedFor(*next, often));
  EXPECT_FALSE(IsPreparedFor(*next, once));
}

TEST_F(TiersOfImagesTest, TheCompilerRestsAfterEachWeightThatItPacks) {
  class Progress final : public CompileProgress {
   public:
    void Begin(std::string_view pass) override { ++begun[std::string(pass)]; }
    const std::shared_ptr<CancellationToken>& token() const override { return token_; }
    std::map<std::string, int> begun;

   private:
    std::shared_ptr<CancellationToken> token_;
  };
  DerivedConstantTable derived;
  const PlanCompiler compiler(*baseline_, "f", /*guard_everywhere=*/false, &derived, {}, nullptr);
  const std::vector<IValue> arguments = {at::zeros({2, 16, 24, 20})};
  const ArgumentSpec spec = ArgumentSpec::Of(arguments).value();
  const ExactShape shape = ExactShape::Of(arguments).value();
  Progress first;
  const auto plan = compiler.Compile({.spec = spec, .likely = &shape}, &first);
  EXPECT_EQ(first.begun["pack_convolutions"], 1 + 1);
  Progress second;
  const auto again = compiler.Compile({.spec = spec, .likely = &shape}, &second);
  EXPECT_EQ(second.begun["pack_convolutions"], 1) << "what is there is not made again";
}

TEST_F(TiersOfImagesTest, WhereThereIsNoRoomForPackedWeightsConvolutionsAreAsTheyWere) {
  DerivedConstantTable derived;
  const at::Tensor& weight = file_.MakeSelf()->getAttr("weight").toTensor();
  std::vector<at::Tensor> held;
  const auto fill = [&] {
    const auto made =
        derived.Get(std::to_string(held.size()), "", {weight}, [&] { return std::vector{weight.clone()}; });
    held.insert(held.end(), made.begin(), made.end());
    return !made.empty();
  };
  const PlanCompiler compiler(*baseline_, "f", /*guard_everywhere=*/false, &derived, {}, nullptr);
  const std::vector<IValue> arguments = {at::zeros({2, 16, 24, 20})};
  const ArgumentSpec spec = ArgumentSpec::Of(arguments).value();
  const ExactShape shape = ExactShape::Of(arguments).value();
  const auto text = [&](const ExactShape* exact) {
    const auto plan = compiler.Compile({.spec = spec, .shape = exact}, nullptr);
    return (plan->lacks_room() ? "lacks room\n" : "") + PrintGraph(plan->executable().graph());
  };
  EXPECT_THAT(text(nullptr), AllOf(HasSubstr("hearth::convolution"), Not(HasSubstr("lacks room"))));
  while (fill()) {
  }
  EXPECT_THAT(text(nullptr), AllOf(HasSubstr("aten::conv2d"), HasSubstr("lacks room")));
  EXPECT_THAT(text(&shape), AllOf(HasSubstr("aten::conv2d"), HasSubstr("lacks room")));
}

TEST(PlanOfImagesTest, HoldsNoWeightButThoseThatItCalls) {
  if (!libraries::Product::TakesAnyRows()) GTEST_SKIP() << "weights are for oneDNN here, which does not take any sizes";
  std::string text = kImages;
  const std::string sizes = "[16, 16, 5, 5]";
  text.replace(text.find(sizes), sizes.size(), "[64, 64, 1, 1]");
  const IrFile file(std::make_shared<const Source>(text, "model.ir"));
  const UnitEffects effects(file.unit());
  CompilationInputs inputs;
  inputs.effects = &effects;
  inputs.self = file.MakeSelf();
  Compilation baseline(file.graph(), inputs);
  BuildBaseline(baseline);
  const auto graph = baseline.TakeGraph();
  DerivedConstantTable derived;
  const std::vector<IValue> arguments = {at::zeros({2, 64, 24, 20})};
  const PlanCompiler compiler(*graph, "f", /*guard_everywhere=*/false, &derived, {}, nullptr);
  const auto plan = compiler.Compile({.spec = ArgumentSpec::Of(arguments).value()}, nullptr);
  EXPECT_THAT(PrintGraph(plan->executable().graph()), HasSubstr("hearth::convolution"));
  EXPECT_EQ(derived.bytes(), inputs.self->getAttr("weight").toTensor().nbytes());
}

TEST_F(TiersOfImagesTest, AShapeThatNoMachineCouldHoldDoesNoHarm) {
  const auto tiers = LoadAndCall({{2, 16, 20, 24}, {2, 16, 20, 24}});
  std::vector<SpecProfile> known = tiers->profiles();
  known.at(0).calls = 1000;
  known.at(0).shapes = {{{4, 2, 16, int64_t{1} << 34, int64_t{1} << 20, 1, 1, 1, 1}, 1000, true}};
  const auto next = Load(*baseline_);
  Restore(*next, known);
  ASSERT_TRUE(next->WaitUntilIdle(Clock::time_point::max()));
  Call(*next, {at::zeros({2, 16, 20, 24})}, 20);
  EXPECT_THAT(Text(*next), HasSubstr("hearth::convolution"));
}

}  // namespace
}  // namespace hearth
