#include "jit/executor/plan_compiler.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <memory>
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

}  // namespace
}  // namespace hearth
