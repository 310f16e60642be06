// Files of TorchScript as people write them: what names mean, and how classes come by their attributes. The choice of
// overloads is compared with PyTorch's CompilationUnit::define, what programs give by the conformance suite `programs`.
#include <ATen/core/class_type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "jit/frontend/overloads_testing.h"
#include "jit/frontend/source_importer.h"
#include "jit/ir/verifier.h"
#include "jit/operators/operator.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class File {
 public:
  explicit File(std::string text) : importer_(unit_, std::make_shared<const Source>(std::move(text), "program.py")) {}

  std::vector<Function*> Load() {
    std::vector<Function*> functions = importer_.LoadFunctions();
    importer_.DefineAll();
    for (Function* function : functions) Verify(function->emitted_graph());
    return functions;
  }
  std::shared_ptr<c10::ClassType> Class(const std::string& name) {
    return std::dynamic_pointer_cast<c10::ClassType>(importer_.LoadType("__torch__." + name));
  }

 private:
  std::shared_ptr<CompilationUnit> unit_ = CompilationUnit::Create();
  SourceImporter importer_;
};

std::string WrittenError(const std::string& text) {
  try {
    File(text).Load();
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

void ExpectSameOverloadsInFunctions(const std::string& text) {
  File file(text);
  std::vector<std::string> ours;
  for (Function* function : file.Load()) Operators(*function->emitted_graph().block(), &ours);
  torch::jit::CompilationUnit oracle;
  std::vector<std::string> theirs;
  for (torch::jit::Function* function :
       oracle.define(c10::nullopt, text, torch::jit::nativeResolver(), /*self=*/nullptr)) {
    Operators(*torch::jit::toGraphFunction(*function).graph()->block(), &theirs);
  }
  std::ranges::sort(ours);
  std::ranges::sort(theirs);
  EXPECT_EQ(ours, theirs) << text;
}

TEST(WrittenSource, ChoosesTheOverloadsThatCompilationUnitChooses) {
  ExpectSameOverloadsInFunctions(
      "def f(x, n: int, r: float):\n  return x + n, x * r, x @ x, n ** 2, n // 3, r % 2, n << 1, -x\n");
  ExpectSameOverloadsInFunctions(
      "def f(x):\n  y = x[1:]\n  y += 1\n  y *= x\n  return y.sum(dim=0), torch.cat([x, y]), x.size(0)\n");
  ExpectSameOverloadsInFunctions(
      "def f(l: List[int], s: str):\n  l.append(3)\n  l += [4]\n  return l[0], s.upper(), len(l), l + l\n");
  ExpectSameOverloadsInFunctions(
      "def f(n: int) -> int:\n  for i in range(n):\n    if i == 3:\n      n = i * 2\n    else:\n      n -= 1\n  return "
      "n + 1\n");
}

TEST(WrittenSource, ATensorsCastsAreCallsOfTo) {
  ExpectSameOverloadsInFunctions(
      "def f(x):\n  return (x.byte(), x.char(), x.short(), x.int(), x.long(), x.half(), x.float(), x.double(), "
      "x.cfloat(), x.cdouble())\n");
  // Python's tensors have these too; torch.jit refuses them.
  EXPECT_EQ(WrittenError("def f(x):\n  return x.bool(), x.bfloat16()\n"), "");
  EXPECT_THAT(WrittenError("def f(x):\n  return x.float(1)\n"), HasSubstr("a tensor's cast takes no arguments"));
  EXPECT_THAT(WrittenError("def f(x):\n  y = x.float\n  return y\n"), HasSubstr("a tensor's cast"));
  EXPECT_THAT(WrittenError("def f(n: int):\n  return n.float()\n"), HasSubstr("has no attribute or method 'float'"));
}

TEST(WrittenSource, InitMakesTheAttributesThatTheClassDoesNotDeclare) {
  File file(
      "from typing import Optional\n"
      "class C:\n"
      "  d : int\n"
      "  def __init__(self, a: float):\n"
      "    self.d = 1\n"
      "    self.a = a\n"
      "    self.o: Optional[int] = None\n"
      "    self.l = [a]\n");
  const auto type = file.Class("C");
  ASSERT_NE(type, nullptr);
  std::vector<std::string> attributes;
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    attributes.push_back(type->getAttributeName(i) + " " + type->getAttribute(i)->annotation_str());
  }
  EXPECT_THAT(attributes, ElementsAre("d int", "a float", "o Optional[int]", "l List[float]"));
}

TEST(WrittenSource, ImportsNameModulesAndTheirMembers) {
  EXPECT_EQ(WrittenError("import math as m\nfrom math import sqrt as root\nimport torch.linalg as la\n"
                         "from torch import Tensor as T, float64\nimport torch.nn.functional as F\n"
                         "def f(x: T, r: float):\n  return m.pi * root(r), la.norm(x), F.gelu(x), x.to(float64)\n"),
            "");
  EXPECT_THAT(WrittenError("import torch.nn.functional as F\ndef f(x):\n  return F.relu(x)\n"),
              AllOf(HasSubstr("F.relu is a function of the torch package that is written in Python"),
                    HasSubstr("File \"program.py\", line 3")));
}

TEST(WrittenSource, MistakesAreErrorsWithFileLineAndCaret) {
  EXPECT_THAT(WrittenError("def f(x)\n  return x\n"),
              AllOf(HasSubstr("File \"program.py\", line 1"), HasSubstr("<--- HERE")));
  EXPECT_THAT(WrittenError("def f(x: int):\n  return y\n"),
              AllOf(HasSubstr("undefined name 'y'"), HasSubstr("line 2")));
  EXPECT_THAT(WrittenError("class M(nn.Module):\n  pass\ndef f(x: M):\n  return x\n"), HasSubstr("torch.jit.save"));
  EXPECT_THAT(
      WrittenError(
          "class C:\n  def __init__(self, c: bool):\n    if c:\n      self.a = 1\ndef f():\n  return C(True)\n"),
      HasSubstr("in the body of __init__ itself"));
  EXPECT_THAT(WrittenError("def f(t: Tuple[int, int]):\n  t[0] = 1\n"), HasSubstr("cannot be assigned to"));
  EXPECT_THAT(WrittenError("def f(c: bool):\n  if c:\n    return 1\n"), HasSubstr("does not return along all paths"));
}

}  // namespace
}  // namespace hearth
