#include "jit/executor/model_plans.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "jit/analysis/effects.h"
#include "jit/executor/execution_plan.h"
#include "jit/executor/side_effect.h"
#include "jit/tools/ir_file.h"

namespace hearth {
namespace {

// Why the runs of the plan for a matrix's exact sizes are not recorded; empty: they may be.
std::string RefusalOf(const std::string& body) {
  const IrFile file(std::make_shared<const Source>("graph(%x : Tensor):\n" + body, "model.ir"));
  const UnitEffects effects(file.unit());
  TierSettings settings;
  settings.budget = std::make_shared<CodeCacheBudget>(CodeCacheLimits{1000, size_t{1} << 30});
  settings.capture = CaptureSettings();
  const ModelPlans plans(settings, {{"f", &file.graph(), &effects}}, StateWrites());
  const std::vector<c10::IValue> arguments{at::zeros({2, 3})};
  const ArgumentSpec spec = ArgumentSpec::Of(arguments).value();
  const ExactShape shape = ExactShape::Of(arguments).value();
  const auto plan = plans.Generate(0, plans.compiler(0).Optimise({.spec = spec, .shape = &shape}, nullptr), nullptr);
  CapturedPlan& captured = *plan->captured();
  EXPECT_EQ(captured.TakeTurn(), captured.Describe().refused.empty());
  return captured.Describe().refused;
}

// A warning in the branch for tensors of `rank` dimensions.
std::string Warning(int rank) {
  return "  %rank : int = prim::Constant[value=" + std::to_string(rank) +
         "]()\n"
         "  %message : str = prim::Constant[value=\"odd\"]()\n"
         "  %dims : int = aten::dim(%x)\n"
         "  %is : bool = aten::eq.int(%dims, %rank)\n"
         "  prim::If(%is)\n"
         "    block0():\n"
         "      aten::warn(%message, %rank)\n"
         "      -> ()\n"
         "    block1():\n"
         "      -> ()\n"
         "  %y : Tensor = aten::tanh(%x)\n"
         "  return (%y)\n";
}

TEST(ModelPlansTest, RunsOfAPlanThatDoNothingButAnswerAreRecorded) {
  EXPECT_EQ(RefusalOf("  %y : Tensor = aten::tanh(%x)\n  return (%y)\n"), "");
  EXPECT_EQ(RefusalOf(Warning(5)), "") << "the plan has lost the branch";
}

TEST(ModelPlansTest, WhyRunsAreNotRecordedIsSaid) {
  EXPECT_EQ(RefusalOf(Warning(2)).find("may print, warn or change global state (aten::warn"), 0U);
  EXPECT_EQ(RefusalOf("  %y : Tensor = aten::tanh_(%x)\n  return (%y)\n"), "writes its arguments");
  EXPECT_EQ(RefusalOf("  %none : NoneType = prim::Constant[value=None]()\n"
                      "  %y : Tensor = aten::rand_like(%x, %none, %none, %none, %none, %none)\n  return (%y)\n")
                .find("draws random numbers (aten::rand_like"),
            0U);
}

}  // namespace
}  // namespace hearth
