// Compiles small sources with this front end and with PyTorch's own loader and compares what they chose; structure that
// PyTorch's IR has in another form is checked against graphs worked out by hand.
#include <ATen/core/class_type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/serialization/import_source.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "jit/frontend/errors.h"
#include "jit/frontend/overloads_testing.h"
#include "jit/frontend/source_importer.h"
#include "jit/ir/printer.h"
#include "jit/ir/symbols.h"
#include "jit/ir/verifier.h"
#include "jit/operators/operator.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kVersion = 10;

// One archive's code, a single file __torch__.
class Code {
 public:
  explicit Code(std::string text, int64_t version = kVersion)
      : source_(std::make_shared<const Source>(std::move(text), "code/__torch__.py")),
        importer_(
            unit_, [this](const std::string& name) { return name == "__torch__" ? source_ : nullptr; }, &constants_,
            version) {}

  const Graph& Function(const std::string& name) {
    hearth::Function* function = importer_.LoadFunction("__torch__." + name);
    if (!function) throw std::runtime_error("no function " + name);
    importer_.DefineAll();
    Verify(function->emitted_graph());
    return function->emitted_graph();
  }
  SourceImporter& importer() { return importer_; }
  CompilationUnit& unit() { return *unit_; }

 private:
  std::vector<c10::IValue> constants_;
  std::shared_ptr<CompilationUnit> unit_ = CompilationUnit::Create();
  std::shared_ptr<const Source> source_;
  SourceImporter importer_;
};

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

// Method f of class T of the text.
const Graph& MethodGraph(Code& code) {
  auto type = std::dynamic_pointer_cast<c10::ClassType>(code.importer().LoadType("__torch__.T"));
  code.importer().DefineAll();
  auto& function = dynamic_cast<Function&>(type->getMethod("f"));
  Verify(function.emitted_graph());
  return function.emitted_graph();
}

// The overloads that PyTorch's loader chooses in method f of class T.
std::vector<std::string> OracleOperators(const std::string& text) {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const std::vector<c10::IValue> constants;
  auto source = std::make_shared<torch::jit::Source>(text, "code/__torch__.py", 1);
  torch::jit::SourceImporter importer(
      unit, &constants, [&](const std::string& name) { return name == "__torch__" ? source : nullptr; }, kVersion);
  auto type = importer.loadType(c10::QualifiedName("__torch__.T"));
  torch::jit::Function& function = type->expectRef<c10::ClassType>().getMethod("f");
  function.ensure_defined();
  std::vector<std::string> names;
  Operators(*torch::jit::toGraphFunction(function).graph()->block(), &names);
  return names;
}

std::string InClass(const std::string& method) { return "class T:\n  n : int\n  def " + method; }

void ExpectSameOverloadsInMethod(const std::string& method) {
  const std::string text = InClass(method);
  Code code(text);
  std::vector<std::string> ours;
  Operators(*MethodGraph(code).block(), &ours);
  EXPECT_EQ(Sorted(ours), Sorted(OracleOperators(text))) << method << "\n" << PrintGraph(MethodGraph(code));
}

std::string MethodError(const std::string& text) {
  try {
    Code code(text);
    MethodGraph(code);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(EmitterTest, AnEnumsValueIsReadByTheOverloadThatGivesItsType) {
  for (const auto& [literal, type] : {std::pair("1", "int"), {"0.5", "float"}, {"\"one\"", "str"}}) {
    Code code("class E(Enum):\n  A = " + std::string(literal) +
              "\ndef f(e: __torch__.E) -> str:\n  return torch.format(\"{}\", (e).value)\n");
    std::vector<std::string> names;
    Operators(*code.Function("f").block(), &names);
    EXPECT_EQ(names.front(), "prim::EnumValue." + std::string(type));
  }
}

TEST(EmitterTest, OverloadsAreThoseThatPyTorchChooses) {
  for (const char* method : {
           "f(self: __torch__.T, x: Tensor, n: int, s: float) -> Tensor:\n"
           "    return torch.add(torch.mul(x, n), torch.sub(x, s, alpha=2))\n",
           "f(self: __torch__.T, x: Tensor, n: int) -> List[int]:\n"
           "    return torch.slice(torch.size(x), 1, n)\n",
           "f(self: __torch__.T, x: Tensor) -> Tensor:\n"
           "    return torch.sum(torch.max_pool2d(x, 2), [1, 2])\n",
           "f(self: __torch__.T, x: Tensor) -> Tuple[Tensor, Tensor]:\n"
           "    a, b = torch.max(x, 0)\n"
           "    return (a, b)\n",
           "f(self: __torch__.T, x: Tensor) -> Tensor:\n"
           "    return torch.zeros(2, 3)\n",
           "f(self: __torch__.T, x: Tensor) -> Tensor:\n"
           "    return torch.view(x, (2, int(torch.size(x, 0))))\n",
           "f(self: __torch__.T, x: Tensor, y: Tensor) -> Tensor:\n"
           "    return torch.arange(annotate(number, y), dtype=4)\n",
           "f(self: __torch__.T, x: Tensor) -> Tensor:\n"
           "    return torch.mul(2, torch.div(1.5, torch.sub(1, x)))\n",
           "f(self: __torch__.T, x: Tensor, d: str) -> Tensor:\n"
           "    return torch.to(x, d)\n",
           "f(self: __torch__.T, d: Dict[str, int]) -> int:\n"
           "    torch._set_item(d, \"a\", torch.add(d[\"a\"], torch.len(torch.keys(d))))\n"
           "    return torch.len(d)\n",
           "f(self: __torch__.T, l: List[Tensor]) -> Tensor:\n"
           "    _0 = torch.append(l, l[0])\n"
           "    return torch.cat(l)\n",
           "f(self: __torch__.T, a: int, b: float) -> bool:\n"
           "    return torch.__and__(torch.lt(a, b), torch.eq(torch.floordiv(a, 2), ops.prim.max(a, 3)))\n",
           "f(self: __torch__.T, x: Optional[Tensor]) -> bool:\n"
           "    return torch.__isnot__(x, None)\n",
           "f(self: __torch__.T, x: str) -> str:\n"
           "    return torch.format(\"{} {}\", torch.upper(x), torch.slice(x, 0, 2))\n",
           "f(self: __torch__.T, x: bool) -> Tensor:\n"
           "    return torch.full([2], int(x))\n",
           "f(self: __torch__.T, input: Tensor) -> Tensor:\n"
           "    return torch.softmax(input=input, dim=1)\n",
       }) {
    ExpectSameOverloadsInMethod(method);
  }
}

TEST(EmitterTest, WhatPeopleWriteMeansWhatPyTorchMakesOfIt) {
  for (const char* method : {
           "f(self: __torch__.T, x: Tensor, n: int):\n"
           "    y = x + n * 2 - x / 3\n"
           "    y += 1\n"
           "    y -= x\n"
           "    return -y @ x ** 2 % 3\n",
           "f(self: __torch__.T, x: Tensor):\n"
           "    return x[0], x[1:2], x[0:2, 1], x[None, 0], x[..., 0], x[-1, ::2]\n",
           "f(self: __torch__.T, x: Tensor, i: Tensor):\n"
           "    return x[i], x[1, i]\n",
           "f(self: __torch__.T, a: int, b: int):\n"
           "    return a < b and not a == b or a // b > 1\n",
           "f(self: __torch__.T, l: List[int]):\n"
           "    total = 0\n"
           "    for v in l:\n"
           "        total += v * v\n"
           "    for k in range(1, total, 2):\n"
           "        total = total + k\n"
           "    return [v + total for v in l]\n",
           "f(self: __torch__.T, x: Tensor):\n"
           "    return x.shape[0], x.dtype, x.device, x.T, x.ndim, x.is_cuda, x.size(), x.t().sum(dim=1)\n",
           "f(self: __torch__.T, s: str):\n"
           "    return s[0] + s[1:] + \"%d\" % 3, \"a\" in s, s.split(\",\"), len(s)\n",
           "f(self: __torch__.T, d: Dict[str, int]):\n"
           "    d[\"a\"] = 1\n"
           "    for k, v in d.items():\n"
           "        print(k, v)\n"
           "    return d[\"a\"] if \"a\" in d else 0\n",
           "f(self: __torch__.T, a: float, b: int):\n"
           "    return max(a, float(b)), min(b, 2), abs(a), round(a), divmod(b, 2), pow(a, 2), str(b), bool(b)\n",
       }) {
    ExpectSameOverloadsInMethod(method);
  }
}

TEST(EmitterTest, BranchesJoinWhatTheyAssign) {
  Code code(
      "def f(c: bool, x: Tensor) -> Tensor:\n"
      "  if c:\n"
      "    y = torch.relu(x)\n"
      "  else:\n"
      "    y = x\n"
      "  return y\n");
  EXPECT_EQ(PrintGraph(code.Function("f")),
            "graph(%c : bool, %x : Tensor):\n"
            "  %y : Tensor = prim::If(%c)\n"
            "    block0():\n"
            "      %y.1 : Tensor = aten::relu(%x)\n"
            "      -> (%y.1)\n"
            "    block1():\n"
            "      -> (%x)\n"
            "  return (%y)\n");
}

TEST(EmitterTest, LoopsCarryWhatTheirBodiesAssign) {
  Code code(
      "def f(n: int) -> int:\n"
      "  total = 0\n"
      "  for i in range(n):\n"
      "    total = torch.add(total, i)\n"
      "  return total\n");
  EXPECT_EQ(PrintGraph(code.Function("f")),
            "graph(%n : int):\n"
            "  %total : int = prim::Constant[value=0]()\n"
            "  %0 : bool = prim::Constant[value=True]()\n"
            "  %total.1 : int = prim::Loop(%n, %0, %total)\n"
            "    block0(%i : int, %total.2 : int):\n"
            "      %total.3 : int = aten::add.int(%total.2, %i)\n"
            "      -> (%0, %total.3)\n"
            "  return (%total.1)\n");
}

TEST(EmitterTest, ForkedClosuresCaptureTheirValues) {
  Code code(
      "def f(x: Tensor) -> Tensor:\n"
      "  def __forked_function():\n"
      "    return torch.relu(x)\n"
      "  y = fork(__forked_function)\n"
      "  return torch.wait(y)\n");
  EXPECT_EQ(PrintGraph(code.Function("f")),
            "graph(%x : Tensor):\n"
            "  %y : Future[Tensor] = prim::fork(%x)\n"
            "    block0(%x.1 : Tensor):\n"
            "      %0 : Tensor = aten::relu(%x.1)\n"
            "      -> (%0)\n"
            "  %1 : Tensor = aten::wait(%y)\n"
            "  return (%1)\n");
}

TEST(EmitterTest, ReturnsInTheMiddleLeaveTheRestOut) {
  Code code(
      "def f(n: int) -> int:\n"
      "  if torch.gt(n, 3):\n"
      "    return 1\n"
      "  return torch.neg(n)\n");
  // What follows the return stands in the branch that does not return.
  EXPECT_THAT(PrintGraph(code.Function("f")), HasSubstr("  %6 : int = prim::If(%5)\n"
                                                        "    block0():\n"
                                                        "      -> (%2)\n"
                                                        "    block1():\n"
                                                        "      %7 : int = aten::neg.int(%n)\n"
                                                        "      -> (%7)\n"
                                                        "  return (%6)\n"));
}

TEST(EmitterTest, AReturnLeavesALoopOverATuple) {
  Code code(
      "def f(n: int) -> int:\n"
      "  for m in (1, 2):\n"
      "    if torch.gt(n, m):\n"
      "      return m\n"
      "  return torch.neg(n)\n");
  // The second round, and what follows the loop, stand where no return came before.
  const Graph& graph = code.Function("f");
  std::vector<std::string> operators;
  Operators(*graph.block(), &operators);
  EXPECT_EQ(operators, (std::vector<std::string>{"aten::gt.int", "aten::gt.int", "aten::neg.int"}));
  EXPECT_THAT(graph.outputs()[0]->node()->kind(), sym::kIf);
  EXPECT_THAT(MethodError(InClass("f(self: __torch__.T, n: int) -> int:\n"
                                  "    for m in (1, 2):\n"
                                  "      break\n"
                                  "    return n\n")),
              HasSubstr("break or continue"));
}

TEST(EmitterTest, ConditionsOnTypesChooseTheirBranchWhileCompiling) {
  Code code(
      "def f(x: int, y: Optional[int]) -> int:\n"
      "  if x is None:\n"
      "    z = torch.no_such_thing(x)\n"
      "  else:\n"
      "    z = x\n"
      "  if y is not None and y > 2:\n"
      "    z = y + x\n"
      "  assert y is not None\n"
      "  return z + y\n");
  std::vector<std::string> operators;
  Operators(*code.Function("f").block(), &operators);
  EXPECT_EQ(operators, (std::vector<std::string>{"aten::__isnot__", "aten::gt.int", "aten::add.int", "aten::__isnot__",
                                                 "prim::RaiseException", "aten::add.int"}));
}

TEST(EmitterTest, AnOptionalIsNoNumberBeforeItIsTested) {
  EXPECT_THAT(MethodError(InClass("f(self: __torch__.T, y: Optional[int]) -> int:\n    return y + 1\n")),
              HasSubstr("instead found type 'Optional[int]'"));
}

TEST(EmitterTest, EveryNodeKnowsItsSource) {
  Code code("def f(x: Tensor) -> Tensor:\n  return torch.relu(torch.neg(x))\n");
  const Graph& graph = code.Function("f");
  std::vector<std::string> texts;
  for (const Node* node : *graph.block()) texts.emplace_back(node->range().text());
  EXPECT_EQ(texts, (std::vector<std::string>{"torch.neg", "torch.relu"}));
}

TEST(EmitterTest, ClassesHaveTheirAttributesConstantsAndMethods) {
  Code code(
      "class M(Module):\n"
      "  __parameters__ = [\"w\", ]\n"
      "  __buffers__ = [\"b\", ]\n"
      "  __forward_pre_hooks__ = [\"pre\", ]\n"
      "  w : Tensor\n"
      "  b : Tensor\n"
      "  next : Optional[__torch__.N]\n"
      "  __annotations__[\"0\"] = List[__torch__.N]\n"
      "  k : Final[Tuple[int, int]] = (1, 2)\n"
      "  def forward(self: __torch__.M, x: Tensor, n: int=-3, s: List[float]=[1, 2.]) -> Tensor:\n"
      "    return torch.add(x, self.w, alpha=n)\n"
      "  def pre(self: __torch__.M, x: Tuple[Tensor]) -> Tuple[Tensor]:\n"
      "    return x\n"
      "class N:\n"
      "  m : int\n"
      "  def __p_getter(self: __torch__.N) -> int:\n"
      "    return self.m\n");
  const auto type = std::dynamic_pointer_cast<c10::ClassType>(code.importer().LoadType("__torch__.M"));
  code.importer().DefineAll();
  ASSERT_EQ(type->numAttributes(), 4u);
  EXPECT_TRUE(type->is_module() && type->is_parameter(0) && type->is_buffer(1));
  EXPECT_EQ(type->getAttributeName(3), "0");
  EXPECT_EQ(type->getAttribute(3)->annotation_str(), "List[__torch__.N]");
  EXPECT_EQ(type->getConstant("k").toTupleRef().elements()[1].toInt(), 2);
  const c10::FunctionSchema& schema = type->getMethod("forward").getSchema();
  EXPECT_EQ(schema.arguments()[2].default_value()->toInt(), -3);
  EXPECT_EQ(schema.arguments()[3].default_value()->toDoubleVector(), (std::vector<double>{1, 2}));
  ASSERT_EQ(type->getForwardPreHooks().size(), 1u);
  EXPECT_EQ(type->getForwardPreHooks()[0]->name(), "pre");
  EXPECT_FALSE(type->findMethod("pre"));
  const auto next = type->getAttribute(2)->expectRef<c10::OptionalType>().getElementType();
  EXPECT_TRUE(next->expectRef<c10::ClassType>().getProperty("p").has_value());
}

TEST(EmitterTest, ClassesOfTwoArchivesAreDifferentTypes) {
  const char* text = "class N:\n  m : int\n";
  Code one(text);
  Code two(text);
  EXPECT_NE(*one.importer().LoadType("__torch__.N"), *two.importer().LoadType("__torch__.N"));
}

TEST(EmitterTest, MethodsOfOldArchivesDivideAsTheyDid) {
  const char* text =
      "class M(Module):\n"
      "  def f(self: __torch__.M, x: Tensor, y: Tensor) -> Tensor:\n"
      "    return torch.div(x, y)\n"
      "def g(x: Tensor, y: Tensor) -> Tensor:\n"
      "  return torch.div(x, y)\n";
  const auto operators_of = [](const Graph& graph) {
    std::vector<std::string> operators;
    Operators(*graph.block(), &operators);
    return operators;
  };
  const auto method = [](Code& code) -> const Graph& {
    const c10::NamedTypePtr type = code.importer().LoadType("__torch__.M");
    return static_cast<hearth::Function*>(type->cast<c10::ClassType>()->findMethod("f"))->emitted_graph();
  };
  Code now(text, 4);
  Code then(text, 3);
  EXPECT_THAT(operators_of(method(then)), ::testing::Contains("aten::divide.Tensor_mode"));
  EXPECT_EQ(operators_of(method(now)), std::vector<std::string>{"aten::div.Tensor"});
  // LibTorch upgrades nothing in free functions.
  EXPECT_EQ(operators_of(then.Function("g")), std::vector<std::string>{"aten::div.Tensor"});
}

TEST(EmitterTest, DeepCodeIsAnErrorAndNotACrash) {
  std::string classes;
  for (int i = 0; i < 20000; ++i) {
    classes += "class C" + std::to_string(i) + ":\n  a : __torch__.C" + std::to_string(i + 1) + "\n";
  }
  Code deep_classes(classes);
  EXPECT_THROW(deep_classes.importer().LoadType("__torch__.C0"), CompileError);

  std::string condition = "c";
  for (int i = 0; i < 100000; ++i) condition += " and c";
  Code deep_condition("def f(c: bool) -> bool:\n  return " + condition + "\n");
  EXPECT_THROW(deep_condition.Function("f"), CompileError);

  std::string returns = "def f(n: int) -> int:\n";
  for (int i = 0; i < 100000; ++i) returns += "  if torch.eq(n, 1):\n    return 2\n";
  Code deep_returns(returns + "  return 3\n");
  EXPECT_THROW(deep_returns.Function("f"), CompileError);

  std::string functions;
  for (int i = 0; i < 20000; ++i) {
    functions += "def f" + std::to_string(i) + "(x: int):\n  return __torch__.f" + std::to_string(i + 1) + "(x)\n";
  }
  Code deep_functions(functions);
  EXPECT_THROW(deep_functions.Function("f0"), CompileError);
}

TEST(EmitterTest, UnknownOperatorsAreNamedTogether) {
  Code code(
      "def f(x: Tensor) -> Tensor:\n"
      "  y = ops.torchvision.no_such_op(x)\n"
      "  return ops.mylib.other(y)\n"
      "def g(x: Tensor) -> Tensor:\n"
      "  return torch.no_such_function(x)\n");
  code.importer().LoadFunction("__torch__.f");
  code.importer().LoadFunction("__torch__.g");
  try {
    code.importer().DefineAll();
    FAIL();
  } catch (const UnknownOperatorError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("torchvision::no_such_op  (first used at code/__torch__.py, line 2)"),
                                    HasSubstr("mylib::other  (first used at code/__torch__.py, line 3)"),
                                    HasSubstr("aten::no_such_function  (first used at code/__torch__.py, line 5)"),
                                    HasSubstr("operator_libraries")));
  }
}

TEST(EmitterTest, AMismatchShowsEveryCandidateAndWhy) {
  const std::string error =
      MethodError(InClass("f(self: __torch__.T, x: Tensor) -> Tensor:\n    return torch.add(x, \"a\")\n"));
  EXPECT_THAT(error,
              AllOf(HasSubstr("Arguments for call are not valid"), HasSubstr("aten::add.Tensor(Tensor self"),
                    HasSubstr("aten::add.Scalar(Tensor self"),
                    HasSubstr("Expected a value of type 'Tensor' for argument 'other' but instead found type 'str'"),
                    HasSubstr("torch.add(x, \"a\")"), HasSubstr("~~~")));
}

TEST(EmitterTest, MistakesAreErrorsAtTheirPlace) {
  const auto in = [](const std::string& body) {
    return MethodError(InClass("f(self: __torch__.T, x: Tensor, c: bool) -> Tensor:\n" + body));
  };
  EXPECT_THAT(in("    return y\n"), AllOf(HasSubstr("undefined name 'y'"), HasSubstr("line 4")));
  EXPECT_THAT(in("    if c:\n      y = x\n    else:\n      pass\n    return y\n"),
              HasSubstr("'y' is not defined in the false branch"));
  EXPECT_THAT(in("    return 1\n"), HasSubstr("expected to be of type Tensor but is of type int"));
  EXPECT_THAT(in("    return self.nothing\n"), HasSubstr("no attribute or method 'nothing'"));
  EXPECT_THAT(in("    y = 1\n    for i in range(3):\n      y = \"a\"\n    return x\n"),
              HasSubstr("variable 'y', assigned in a loop, was expected to be of type int"));
  EXPECT_THAT(in("    y = 1\n    for i in range(3):\n      if c:\n        y += x\n    return x\n"),
              HasSubstr("variable 'y', assigned in a loop, was expected to be of type int"));
  EXPECT_THAT(in("    a, b = (x, x, x)\n    return x\n"), HasSubstr("expected 2 values to unpack but found 3"));
  EXPECT_THAT(in("    return (x, x)[2]\n"), HasSubstr("out of range"));
  EXPECT_THAT(in("    return CONSTANTS.c0\n"), HasSubstr("0 constants"));
  EXPECT_THAT(in("    return __torch__.nowhere(x)\n"), HasSubstr("does not define '__torch__.nowhere'"));
  EXPECT_THAT(in("    break\n"), HasSubstr("break is only allowed in a loop"));
  EXPECT_THAT(MethodError(InClass("f(self: __torch__.T, x: int=\"a\") -> int:\n    return x\n")),
              HasSubstr("the default is of type str"));
  EXPECT_THAT(in("    d = {(1, 2): 3}\n    return x\n"), AllOf(HasSubstr("dict for key type"), HasSubstr("line 4")));
  EXPECT_THAT(MethodError("class T:\n  a : int\n  a : str\n"), HasSubstr("'a' is defined twice in this class"));
  EXPECT_THAT(MethodError("class T:\n  a : __torch__.torch.classes.no.Such\n"), HasSubstr("operator_libraries"));
  EXPECT_THAT(MethodError("class T:\n  a : Nothing\n"), HasSubstr("unknown type name 'Nothing'"));
}

}  // namespace
}  // namespace hearth
