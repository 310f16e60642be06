#include "jit/executor/plan_compiler.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/analysis/effects.h"
#include "jit/ir/printer.h"
#include "jit/tools/ir_file.h"

namespace hearth {
namespace {

constexpr char kCall[] = R"(
function __torch__.twice:
  graph(%x : Tensor):
    %2 : int = prim::Constant[value=2]()
    %y : Tensor = aten::mul.Scalar(%x, %2)
    return (%y)

graph(%x : Tensor):
  %rank : int = aten::dim(%x)
  %y : Tensor = prim::CallFunction[function=@__torch__.twice](%x)
  return (%y, %rank)
)";

TEST(PlanCompilerTest, PlansKnowWhatTheFunctionsThatTheyCallDo) {
  const IrFile file(std::make_shared<const Source>(kCall, "model.ir"));
  const UnitEffects effects(file.unit());
  const ArgumentSpec spec = ArgumentSpec::Of(std::vector<c10::IValue>{at::zeros({2, 3})}).value();
  const auto asks = [&](const UnitEffects* known) {
    const PlanCompiler compiler(file.graph(), "f", /*guard_everywhere=*/false, nullptr, {}, known);
    const std::string text = PrintGraph(compiler.Compile({.spec = spec}, nullptr)->executable().graph());
    return text.find("aten::dim") != std::string::npos;
  };
  EXPECT_FALSE(asks(&effects)) << "the function does not change what its argument is";
  EXPECT_TRUE(asks(nullptr)) << "it might";
}

constexpr char kPointwise[] = R"(graph(%x : Tensor):
  %y : Tensor = aten::tanh(%x)
  %z : Tensor = aten::relu(%y)
  return (%z)
)";

// Has code, which nobody runs, for what was asked for.
class AskedKernels : public fuser::KernelSource {
 public:
  std::shared_ptr<const fuser::KernelCode> Get(const std::string& text, const std::function<void()>& rest) override {
    return *asked_.emplace(text, std::make_shared<fuser::KernelCode>()).first->second;
  }
  std::optional<std::shared_ptr<const fuser::KernelCode>> Find(const std::string& text) override {
    const auto found = asked_.find(text);
    return found == asked_.end() ? std::nullopt : found->second;
  }

 private:
  std::map<std::string, std::optional<std::shared_ptr<const fuser::KernelCode>>> asked_;
};

TEST(PlanCompilerTest, APlanNeedNotWaitForItsKernelsAndHasThemOnceTheyAreMade) {
  const IrFile file(std::make_shared<const Source>(kPointwise, "model.ir"));
  const UnitEffects effects(file.unit());
  const ArgumentSpec spec = ArgumentSpec::Of(std::vector<c10::IValue>{at::zeros({2, 3})}).value();
  const auto kernels = std::make_shared<AskedKernels>();
  const PlanCompiler compiler(file.graph(), "f", /*guard_everywhere=*/false, nullptr, {}, &effects, nullptr, kernels);
  const auto is_fused = [](const OptimisedPlan& plan) {
    return PrintGraph(*plan.graph).find("hearth::fused") != std::string::npos;
  };
  const OptimisedPlan first = compiler.Optimise({.spec = spec, .makes_kernels = false}, nullptr);
  EXPECT_FALSE(is_fused(first));
  ASSERT_EQ(first.kernels.size(), 1U);
  kernels->Get(first.kernels[0], {});
  const OptimisedPlan second = compiler.Optimise({.spec = spec, .makes_kernels = false}, nullptr);
  EXPECT_TRUE(is_fused(second));
  EXPECT_TRUE(second.kernels.empty());
}

}  // namespace
}  // namespace hearth
