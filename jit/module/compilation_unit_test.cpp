#include "jit/module/compilation_unit.h"

#include <ATen/core/class_type.h>
#include <gtest/gtest.h>

#include "jit/ir/symbols.h"

namespace hearth {
namespace {

c10::FunctionSchema SchemaOf(const std::string& name) {
  return c10::FunctionSchema(name, "", {c10::Argument("x", c10::IntType::get())},
                             {c10::Argument("", c10::IntType::get())});
}

std::unique_ptr<Function> Identity(const std::string& name, int* emitted) {
  return std::make_unique<Function>(c10::QualifiedName(name), SchemaOf(name), [emitted](Function&, Graph& graph) {
    ++*emitted;
    graph.block()->AddReturn(graph.AddInput(c10::IntType::get(), "x"));
  });
}

TEST(CompilationUnitTest, AFunctionIsEmittedOnceWhenItsGraphIsFirstAskedFor) {
  auto unit = CompilationUnit::Create();
  int emitted = 0;
  Function* f = unit->AddFunction(Identity("__torch__.f", &emitted));
  EXPECT_EQ(emitted, 0);
  EXPECT_EQ(f->emitted_graph().inputs().size(), 1u);
  f->EnsureDefined();
  EXPECT_EQ(emitted, 1);
  EXPECT_EQ(unit->FindFunction("__torch__.f"), f);
  EXPECT_EQ(unit->FindFunction("__torch__.g"), nullptr);
}

TEST(CompilationUnitTest, ARecursiveDefinitionDoesNotEmitItselfAgain) {
  auto unit = CompilationUnit::Create();
  int emitted = 0;
  Function* f = unit->AddFunction(std::make_unique<Function>(
      c10::QualifiedName("__torch__.f"), SchemaOf("f"), [&emitted](Function& self, Graph& graph) {
        ++emitted;
        self.EnsureDefined();
        graph.block()->AddReturn(graph.AddInput(c10::IntType::get()));
      }));
  f->EnsureDefined();
  EXPECT_EQ(emitted, 1);
  EXPECT_TRUE(f->defined());
}

TEST(CompilationUnitTest, ASecondFunctionOfTheSameNameIsRefused) {
  auto unit = CompilationUnit::Create();
  int emitted = 0;
  unit->AddFunction(Identity("__torch__.f", &emitted));
  EXPECT_ANY_THROW(unit->AddFunction(Identity("__torch__.f", &emitted)));
}

TEST(CompilationUnitTest, ClassesOfTheSameNameInTwoUnitsAreDifferentTypes) {
  auto one = CompilationUnit::Create();
  auto two = CompilationUnit::Create();
  c10::ClassTypePtr a = c10::ClassType::create("__torch__.M", one->opaque(), /*is_module=*/true);
  c10::ClassTypePtr b = c10::ClassType::create("__torch__.M", two->opaque(), /*is_module=*/true);
  EXPECT_FALSE(*a == *b);
  EXPECT_TRUE(*a == *a);
}

TEST(CompilationUnitTest, ClassesHoldTheirUnitWeakly) {
  std::weak_ptr<CompilationUnit> watch;
  c10::ClassTypePtr type;
  {
    auto unit = CompilationUnit::Create();
    watch = unit;
    type = c10::ClassType::create("__torch__.M", unit->opaque(), /*is_module=*/true);
    unit->AddType(type);
    EXPECT_EQ(unit->FindType("__torch__.M"), type);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(CompilationUnitTest, AMethodIsFoundOnItsClass) {
  auto unit = CompilationUnit::Create();
  int emitted = 0;
  c10::ClassTypePtr type = c10::ClassType::create("__torch__.M", unit->opaque(), /*is_module=*/true);
  Function* method = unit->AddMethod(type, Identity("__torch__.M.forward", &emitted));
  EXPECT_EQ(type->findMethod("forward"), method);
}

}  // namespace
}  // namespace hearth
