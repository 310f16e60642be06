#include "jit/compiler/compilation.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "jit/ir/parser.h"
#include "jit/ir/printer.h"

namespace hearth {
namespace {

constexpr char kText[] = R"(
graph(%x : Tensor):
  %y : Tensor = aten::neg(%x)
  %n : int = aten::dim(%x)
  return (%n, %y)
)";

bool ChangeNothing(Compilation& compilation) {
  compilation.aliases();
  compilation.facts();
  return false;
}

bool RemoveLastReturn(Compilation& compilation) {
  compilation.graph().block()->RemoveReturn(1);
  return true;
}

constexpr Pass kLook = {.name = "look", .run = ChangeNothing, .help = ""};
constexpr Pass kChange = {.name = "change", .run = RemoveLastReturn, .help = ""};
constexpr Pass kCarefulChange = {
    .name = "careful_change", .run = RemoveLastReturn, .help = "", .preserves = {Analysis::kAliases}};
class CompilationTest : public ::testing::Test {
 protected:
  const std::unique_ptr<Graph> graph_ = ParseGraph(kText);
};

TEST_F(CompilationTest, TheSourceStaysAsItIs) {
  const std::string before = PrintGraph(*graph_);
  Compilation compilation(*graph_, {});
  EXPECT_EQ(&compilation.source(), graph_.get()) << "and is not copied before a pass changes it";
  EXPECT_TRUE(compilation.Run(kChange));
  EXPECT_EQ(PrintGraph(*graph_), before);
  EXPECT_NE(PrintGraph(compilation.source()), before);
}

TEST_F(CompilationTest, AnalysesAreKeptWhileNoPassChangesTheGraph) {
  Compilation compilation(*graph_, {});
  const AliasClasses* const aliases = &compilation.aliases();
  const ValueFactTable* const facts = &compilation.facts();
  EXPECT_FALSE(compilation.Run(kLook));
  EXPECT_EQ(&compilation.aliases(), aliases);
  EXPECT_EQ(&compilation.facts(), facts);
}

TEST_F(CompilationTest, AnalysesAreComputedAnewAfterAPassThatDoesNotPreserveThem) {
  for (const Pass* pass : {&kChange, &kCarefulChange}) {
    Compilation compilation(*graph_, {});
    const auto is_returned = [&, &y = *compilation.graph().outputs()[1]] {
      return compilation.aliases().FactsOf(compilation.aliases().ClassOf(y)).returned;
    };
    EXPECT_TRUE(is_returned());
    compilation.Run(*pass);
    EXPECT_EQ(is_returned(), pass->preserves.Has(Analysis::kAliases));
  }
}

TEST_F(CompilationTest, TheSameSizeIsTheSameAtomInAllPasses) {
  CompilationInputs inputs;
  inputs.arguments = ArgumentSpec::Of(std::vector<c10::IValue>{at::zeros({2, 3})}).value().Facts();
  Compilation compilation(graph_->Clone(), inputs);
  ValueFactTable first = compilation.NewFacts();
  ValueFactTable second = compilation.NewFacts();
  first.InferAll();
  second.InferAll();
  for (const Value* value : {compilation.source().inputs()[0], compilation.source().outputs()[1]}) {
    ASSERT_TRUE(first.Of(*value).sizes);
    EXPECT_EQ(first.Of(*value).sizes, second.Of(*value).sizes);
  }
}

TEST_F(CompilationTest, ReportsEachRunOfAPass) {
  std::vector<std::string> begun;
  CompilationInputs inputs;
  inputs.begin = [&](std::string_view pass) { begun.emplace_back(pass); };
  Compilation compilation(*graph_, inputs);
  compilation.Run(kLook);
  compilation.Run(kChange);
  EXPECT_EQ(begun, (std::vector<std::string>{"look", "change"}));
  const auto& steps = compilation.report().steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].pass, "look");
  EXPECT_FALSE(steps[0].changed);
  EXPECT_TRUE(steps[1].changed);
  EXPECT_EQ(steps[1].nodes_before, graph_->num_nodes());
}

TEST_F(CompilationTest, WhatIsToldAPassMayEndTheWork) {
  CompilationInputs inputs;
  inputs.begin = [](std::string_view) { throw std::runtime_error("cancelled"); };
  Compilation compilation(*graph_, inputs);
  EXPECT_THROW(compilation.Run(kChange), std::runtime_error);
  EXPECT_EQ(compilation.source().outputs().size(), 2U);
}

}  // namespace
}  // namespace hearth
