#include "jit/ir/verifier.h"

#include <ATen/core/jit_type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/ir/parser.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

using ::testing::HasSubstr;

std::string VerdictOn(const Graph& graph) {
  try {
    Verify(graph);
  } catch (const VerifyError& error) {
    return error.what();
  }
  return "sound";
}

std::string VerdictOn(const std::string& text) { return VerdictOn(*ParseGraph(text)); }

TEST(VerifierTest, AGraphWithControlFlowIsSound) {
  EXPECT_EQ(VerdictOn(R"(graph(%x : Tensor, %n : int, %c : bool):
    %f : Future[Tensor] = prim::fork(%x)
      block0(%y : Tensor):
        %z : Tensor = aten::relu(%y)
        -> (%z)
    %w : Tensor = aten::wait(%f)
    %l : List[Tensor] = prim::ListConstruct(%x, %w)
    %k : int = prim::Loop(%n, %c, %n)
      block0(%i : int, %s : int):
        -> (%c, %i)
    return (%l, %k))"),
            "sound");
}

TEST(VerifierTest, InputsMustFitTheSchema) {
  EXPECT_THAT(VerdictOn("graph(%x : Tensor):\n %y : Tensor = aten::add.Tensor(%x, %x)\n return (%y)"),
              HasSubstr("takes 3 inputs, and 2 were given, in\n  %y : Tensor = aten::add.Tensor(%x, %x)"));
  EXPECT_THAT(VerdictOn("graph(%x : int):\n %y : Tensor = aten::relu.(%x)\n return (%y)"),
              HasSubstr("'self' is a Tensor, and a int was given"));
  EXPECT_THAT(VerdictOn("graph(%l : List[int], %x : str):\n %y : List[int] = aten::append.t(%l, %x)\n return (%y)"),
              HasSubstr("'el'"));
}

TEST(VerifierTest, ControlFlowMustAgreeOnWhatItGives) {
  EXPECT_THAT(VerdictOn("graph(%c : bool, %i : int):\n %y : int = prim::If(%c)\n block0():\n -> (%i)\n block1():\n"
                        " -> ()\n return (%y)"),
              HasSubstr("a block returns 0 values, not 1"));
  EXPECT_THAT(VerdictOn("graph(%c : bool, %i : int):\n %y : str = prim::If(%c)\n block0():\n -> (%i)\n block1():\n"
                        " -> (%i)\n return (%y)"),
              HasSubstr("a int goes where a str is expected"));
  EXPECT_THAT(VerdictOn("graph(%c : bool, %i : int):\n %y : int = prim::Loop(%i, %c, %i)\n block0(%k : int):\n"
                        " -> (%c)\n return (%y)"),
              HasSubstr("takes the trip and what it carries"));
  EXPECT_THAT(VerdictOn("graph(%i : int):\n prim::If(%i)\n block0():\n -> ()\n block1():\n -> ()\n return ()"),
              HasSubstr("the condition is a bool"));
}

TEST(VerifierTest, AUseBeforeTheDefinitionIsFound) {
  auto graph =
      ParseGraph("graph(%x : Tensor):\n %y : Tensor = aten::relu(%x)\n %z : Tensor = aten::neg(%y)\n return (%z)");
  Node* relu = *graph->block()->begin();
  relu->next()->MoveBefore(relu);
  EXPECT_THAT(VerdictOn(*graph), HasSubstr("not defined before its use"));
}

TEST(VerifierTest, AUseOutsideOfTheDefiningBlockIsFound) {
  auto graph = ParseGraph(
      "graph(%c : bool):\n prim::If(%c)\n block0():\n %y : int = prim::Constant[value=1]()\n -> ()\n block1():\n -> "
      "()\n"
      " return ()");
  Node* branch = *graph->block()->begin();
  graph->block()->AddReturn((*branch->block(0)->begin())->output());
  EXPECT_THAT(VerdictOn(*graph), HasSubstr("not visible here"));
}

TEST(VerifierTest, AClosureSeesNothingAroundIt) {
  EXPECT_THAT(VerdictOn("graph(%x : Tensor):\n %f : Future[Tensor] = prim::fork()\n block0():\n"
                        " %y : Tensor = aten::relu(%x)\n -> (%y)\n return (%f)"),
              HasSubstr("not visible here"));
}

TEST(VerifierTest, ANodeWithoutOperatorOrKnownKindIsFound) {
  Graph graph;
  graph.Insert(graph.Create(Symbol::fromQualString("aten::relu"), {graph.AddInput(c10::TensorType::get())}));
  EXPECT_THAT(VerdictOn(graph), HasSubstr("this node has no operator"));
}

}  // namespace
}  // namespace hearth
