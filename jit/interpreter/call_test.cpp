// Calls: frames, attributes, context managers.
#include "jit/interpreter/call.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/interpreter/test_support.h"

namespace hearth {
namespace {

using c10::IValue;
using ::testing::HasSubstr;

TEST_F(UnitTest, CallsHaveFramesAndRecursionEndsInAnError) {
  AddFunction("__torch__.double", R"(graph(%x : int):
  %y : int = aten::add.int(%x, %x)
  return (%y)
)");
  Function* quadruple = AddFunction("__torch__.quadruple", R"(graph(%x : int):
  %y : int = prim::CallFunction[function=@__torch__.double](%x)
  %z : int = prim::CallFunction[function=@__torch__.double](%y)
  return (%z)
)");
  EXPECT_EQ(hearth::Run(*CodeOf(*quadruple), {5}).toInt(), 20);

  auto type = AddClass("__torch__.R");
  type->addMethod(unit_->AddAnonymous(std::make_unique<Function>(c10::QualifiedName("__torch__.R.again"),
                                                                 c10::FunctionSchema("again", "", {}, {}), nullptr)));
  const auto graph = ParseGraph(R"(graph(%self : __torch__.R):
  %y : int = prim::CallMethod[name="again"](%self)
  return (%y)
)",
                                options_);
  auto code = CompileCode(*graph, "__torch__.R.again");
  SetCode(static_cast<Function&>(*type->findMethod("again")), code);
  try {
    hearth::Run(*code, {NewObject(type)});
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.message(), "maximum recursion depth exceeded");
  }
}

TEST_F(UnitTest, ACalleesFailureShowsBothFrames) {
  AddFunction("__torch__.inner", R"(graph(%x : int):
  %zero : int = prim::Constant[value=0]()
  %y : int = aten::floordiv.int(%x, %zero)
  return (%y)
)");
  Function* outer = AddFunction("__torch__.outer", R"(graph(%x : int):
  %y : int = prim::CallFunction[function=@__torch__.inner](%x)
  return (%y)
)");
  try {
    hearth::Run(*CodeOf(*outer), {5});
    FAIL();
  } catch (const ModelError& error) {
    const std::string report = error.what();
    EXPECT_THAT(report, HasSubstr("in outer\n"));
    EXPECT_LT(report.find("in outer\n"), report.find("in inner\n"));
    EXPECT_EQ(error.message(), "division by 0");
  }
}

TEST_F(UnitTest, AttributesAreReadAndWritten) {
  auto type = AddClass("__torch__.Counter");
  type->addAttribute("n", c10::IntType::get());
  AddMethod(type, "bump", R"(graph(%self : __torch__.Counter, %by : int):
  %n : int = prim::GetAttr[name="n"](%self)
  %m : int = aten::add.int(%n, %by)
  prim::SetAttr[name="n"](%self, %m)
  return (%m)
)");
  const IValue counter = NewObject(type);
  counter.toObjectRef().setAttr("n", 5);
  torch::jit::Stack stack = {counter, 3};
  type->findMethod("bump")->run(stack);
  EXPECT_EQ(stack.at(0).toInt(), 8);
  EXPECT_EQ(counter.toObjectRef().getAttr("n").toInt(), 8);
}

TEST_F(UnitTest, ExitRunsForEveryEnteredObjectInnermostFirstWhenTheBodyRaises) {
  auto type = AddClass("__torch__.Manager");
  type->addAttribute("log", c10::ListType::create(c10::StringType::get()));
  type->addAttribute("name", c10::StringType::get());
  AddMethod(type, "__enter__", R"(graph(%self : __torch__.Manager):
  %log : List[str] = prim::GetAttr[name="log"](%self)
  %name : str = prim::GetAttr[name="name"](%self)
  %l : List[str] = aten::append.t(%log, %name)
  return (%name)
)");
  AddMethod(type, "__exit__", R"(graph(%self : __torch__.Manager, %a : Any, %b : Any, %c : Any):
  %log : List[str] = prim::GetAttr[name="log"](%self)
  %name : str = prim::GetAttr[name="name"](%self)
  %bang : str = prim::Constant[value="!"]()
  %text : str = aten::add.str(%name, %bang)
  %l : List[str] = aten::append.t(%log, %text)
  %none : NoneType = prim::Constant[value=None]()
  return (%none)
)");
  c10::List<std::string> log;
  const auto manager = [&](const char* name) {
    IValue object = NewObject(type);
    object.toObjectRef().setAttr("log", log);
    object.toObjectRef().setAttr("name", name);
    return object;
  };
  const auto code = Compile(R"(graph(%p : __torch__.Manager, %q : __torch__.Manager, %d : int):
  %one : int = prim::Constant[value=1]()
  %r : int = prim::With(%p)
    block0(%n : str):
      %s : int = prim::With(%q)
        block0(%m : str):
          %v : int = aten::floordiv.int(%one, %d)
          -> (%v)
      -> (%s)
  return (%r)
)",
                            options_);
  EXPECT_EQ(hearth::Run(*code, {manager("p"), manager("q"), 1}).toInt(), 1);
  EXPECT_EQ(log.vec(), (std::vector<std::string>{"p", "q", "q!", "p!"}));
  log.clear();
  EXPECT_THROW(hearth::Run(*code, {manager("p"), manager("q"), 0}), ModelError);
  EXPECT_EQ(log.vec(), (std::vector<std::string>{"p", "q", "q!", "p!"}));
}

}  // namespace
}  // namespace hearth
