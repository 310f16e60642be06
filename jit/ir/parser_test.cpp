#include "jit/ir/parser.h"

#include <ATen/core/class_type.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "jit/ir/printer.h"
#include "jit/ir/symbols.h"
#include "jit/ir/verifier.h"
#include "jit/operators/operator.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

using ::testing::HasSubstr;

void ExpectRoundTrip(const std::string& text, const ParseOptions& options = {}) {
  std::unique_ptr<Graph> graph = ParseGraph(text, options);
  Verify(*graph);
  EXPECT_EQ(PrintGraph(*graph), text);
}

std::string ErrorOf(const std::string& text) {
  try {
    ParseGraph(text);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(IrTextTest, WhatWasPrintedReadsBackAndPrintsTheSame) {
  ExpectRoundTrip(R"(graph(%x : Tensor, %c : bool):
  %0 : int = prim::Constant[value=1]()
  %1 : Tensor = aten::add.Tensor(%x, %x, %0)
  %y : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      %2 : Tensor = aten::relu(%1)
      -> (%2)
  %3 : int = prim::Loop(%0, %c, %0)
    block0(%i : int, %sum : int):
      %4 : int = aten::add.int(%sum, %i)
      -> (%c, %4)
  return (%y, %3)
)");
}

TEST(IrTextTest, EveryLiteralReadsBackAsTheValueItWas) {
  ExpectRoundTrip(R"(graph():
  %0 : NoneType = prim::Constant[value=None]()
  %1 : bool = prim::Constant[value=True]()
  %2 : int = prim::Constant[value=-9223372036854775808]()
  %3 : float = prim::Constant[value=0.1]()
  %4 : float = prim::Constant[value=1.0]()
  %5 : float = prim::Constant[value=1e+300]()
  %6 : float = prim::Constant[value=-inf]()
  %7 : float = prim::Constant[value=nan]()
  %8 : complex = prim::Constant[value=complex(1.0, -2.5)]()
  %9 : str = prim::Constant[value="a\"b\\\n\t\x00\xff"]()
  %10 : Device = prim::Constant[value=device("cuda:1")]()
  %11 : List[int] = prim::Constant[value=[1, 2]]()
  %12 : List[float] = prim::Constant[value=[]]()
  %13 : Tuple[int, List[str]] = prim::Constant[value=(1, [])]()
  %14 : Tuple[bool] = prim::Constant[value=(False,)]()
  %15 : Tuple[()] = prim::Constant[value=()]()
  %16 : Dict[str, float] = prim::Constant[value={"a": 1.0}]()
  %17 : Optional[int] = prim::Constant[value=None]()
  return (%0)
)");
}

TEST(IrTextTest, AnEmptyListHasTheElementTypeThatItsOutputDeclares) {
  auto graph = ParseGraph("graph():\n %0 : List[float] = prim::Constant[value=[]]()\n return (%0)");
  const auto& value = graph->outputs()[0]->node()->attribute<c10::IValue>(sym::kValueAttr);
  EXPECT_TRUE(value.isDoubleList());
}

TEST(IrTextTest, ValuesOfOneNameAreToldApart) {
  Graph graph;
  Value* first = graph.AddInput(c10::TensorType::get(), "x");
  Value* second = graph.AddInput(c10::TensorType::get(), "x");
  Value* third = graph.AddInput(c10::TensorType::get(), "1 odd-name");
  for (Value* value : {first, second, third}) graph.block()->AddReturn(value);
  const std::string text = PrintGraph(graph);
  EXPECT_EQ(text, "graph(%x : Tensor, %x.1 : Tensor, %_1_odd_name : Tensor):\n  return (%x, %x.1, %_1_odd_name)\n");
  ExpectRoundTrip(text);
}

TEST(IrTextTest, AnOperatorWithoutOverloadIsChosenByItsInputs) {
  auto graph = ParseGraph(R"(graph(%a : int, %b : int, %x : Tensor):
    %0 : int = aten::add(%a, %b)
    %1 : Tensor = aten::add(%x, %x, %a)
    return (%0))");
  std::vector<std::string> overloads;
  for (const Node* node : *graph->block()) overloads.push_back(node->op()->schema().overload_name());
  EXPECT_EQ(overloads, (std::vector<std::string>{"int", "Tensor"}));
}

TEST(IrTextTest, TensorsComeFromATableOnly) {
  Graph graph;
  Value* weight = graph.InsertConstant(at::ones({2, 3}));
  graph.block()->AddReturn(weight);
  std::vector<c10::IValue> constants;
  const std::string text = PrintGraph(graph, {.ranges = false, .constants = &constants});
  EXPECT_THAT(text, HasSubstr("prim::Constant[value=<Tensor float32 [2, 3] #0>]()"));
  ASSERT_EQ(constants.size(), 1u);

  ParseOptions options;
  options.constants = &constants;
  auto copy = ParseGraph(text, options);
  EXPECT_TRUE(copy->outputs()[0]->node()->attribute<c10::IValue>(sym::kValueAttr).is(constants[0]));
  EXPECT_THAT(ErrorOf(text), HasSubstr("no table holds it"));
}

TEST(IrTextTest, ClassesAndFunctionsComeFromTheCaller) {
  auto type = c10::ClassType::create(c10::QualifiedName("__torch__.M"), {}, true);
  type->addAttribute("scale", c10::FloatType::get());
  ParseOptions options;
  options.resolve_class = [&](const std::string& name) { return name == "__torch__.M" ? type : nullptr; };
  ExpectRoundTrip(R"(graph(%self : __torch__.M, %x : Any):
  %scale : float = prim::GetAttr[name="scale"](%self)
  prim::SetAttr[name="scale"](%self, %scale)
  %0 : bool = prim::isinstance[types=[int, List[__torch__.M]]](%x)
  %1 : Tuple[float, Any] = prim::TupleConstruct(%scale, %x)
  %2 : Tuple[float] = prim::TupleSlice[begin=0, end=1](%1)
  return (%0)
)",
                  options);
}

TEST(IrTextTest, ErrorsPointAtTheirPlace) {
  const std::string error = ErrorOf("graph(%x : Tensor):\n  %y : Tensor = aten::relu(%z)\n  return (%y)\n");
  EXPECT_THAT(error, HasSubstr("%z is not defined here"));
  EXPECT_THAT(error,
              HasSubstr("line 2\n      %y : Tensor = aten::relu(%z)\n                               ~~ <--- HERE"));
}

TEST(IrTextTest, EachMistakeIsNamed) {
  EXPECT_THAT(ErrorOf("graph(%x : Tensor, %x : int):\n return ()"), HasSubstr("%x is defined twice"));
  EXPECT_THAT(ErrorOf("graph():\n %x : int = aten::nonsense()\n return ()"), HasSubstr("no operator is named"));
  EXPECT_THAT(ErrorOf("graph(%s : str):\n %x : str = aten::relu(%s)\n return ()"),
              HasSubstr("no overload of aten::relu"));
  EXPECT_THAT(ErrorOf("graph(%s : Strange):\n return ()"), HasSubstr("Strange"));
  EXPECT_THAT(ErrorOf("graph():\n %x : int = prim::Constant[value=1.5]()\n return ()"),
              HasSubstr("this constant is a float, not a int"));
  EXPECT_THAT(ErrorOf("graph():\n %x : str = prim::Constant[value=\"a]()\n return ()"), HasSubstr("does not end"));
  EXPECT_THAT(ErrorOf("graph():\n %x : int = prim::Constant[value=99999999999999999999]()\n return ()"),
              HasSubstr("does not fit an int"));
  EXPECT_THAT(ErrorOf("graph():\n return () extra"), HasSubstr("expected the end"));
  EXPECT_THAT(ErrorOf("graph():\n"), HasSubstr("expected"));
  EXPECT_THAT(ErrorOf("graph(%c : bool):\n prim::If(%c)\n block0():\n %y : int = prim::Constant[value=1]()\n -> ()\n"
                      " block1():\n -> (%y)\n return ()"),
              HasSubstr("%y is not defined here"));
}

TEST(IrTextTest, AUnionOfOneTypeIsThatType) {
  auto graph = ParseGraph(
      "graph(%a : int|int, %b : Union[int, Optional[int]], %c : Union[str, int, str],"
      " %d : Union[int, complex, float], %e : Optional[int|float]|complex):\n return ()");
  EXPECT_EQ(graph->inputs()[0]->type()->annotation_str(), "int");
  EXPECT_EQ(graph->inputs()[1]->type()->annotation_str(), "Optional[int]");
  EXPECT_EQ(graph->inputs()[2]->type()->annotation_str(), "Union[int, str]");
  EXPECT_EQ(graph->inputs()[3]->type()->annotation_str(), "number");
  EXPECT_EQ(graph->inputs()[4]->type()->annotation_str(), "Optional[number]");
}

TEST(IrTextTest, DeepNestingIsAnErrorAndNotACrash) {
  std::string text = "graph(%c : bool):\n";
  for (int i = 0; i < 100000; ++i) text += "prim::If(%c)\nblock0():\n";
  EXPECT_THAT(ErrorOf(text), HasSubstr("nested too deeply"));
  EXPECT_THAT(ErrorOf("graph():\n %x : Any = prim::Constant[value=" + std::string(100000, '(')),
              HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace hearth
