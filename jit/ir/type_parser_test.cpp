#include "jit/ir/type_parser.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/script_type_parser.h>

namespace hearth {
namespace {

TEST(TypeParserTest, TypesMeanWhatPyTorchReadsThemAs) {
  for (const char* text : {
           "Tensor",
           "int",
           "Optional[int]",
           "Optional[Optional[int]]",
           "List[List[Tensor]]",
           "Dict[str, List[int]]",
           "Dict[Tensor, Tensor]",
           "Tuple[int, Tensor]",
           "Tuple[()]",
           "Tuple[int]",
           "Union[int, str]",
           "Union[int, NoneType]",
           "Union[str, int, NoneType]",
           "Union[float, int, complex]",
           "Union[List[int], List[float]]",
           "Optional[Union[int, float]]",
           "Future[Tensor]",
           "Await[Tensor]",
           "Device",
           "Any",
           "number",
           "Generator",
           "complex",
           "List[Tuple[str, Optional[Dict[int, Tensor]]]]",
       }) {
    const c10::TypePtr oracle = torch::jit::ScriptTypeParser().parseType(text);
    EXPECT_EQ(*ParseType(text, nullptr), *oracle) << text << " is " << oracle->annotation_str();
  }
}

TEST(TypeParserTest, ClassesComeFromTheResolver) {
  const auto resolve = [](const std::string& name) -> c10::TypePtr {
    return name == "__torch__.a.B" ? c10::ClassType::create(c10::QualifiedName(name), {}) : nullptr;
  };
  EXPECT_EQ(ParseType("List[__torch__.a.B]", resolve)->annotation_str(), "List[__torch__.a.B]");
  EXPECT_THROW(ParseType("List[__torch__.a.C]", resolve), TypeParseError);
}

TEST(TypeParserTest, PythonsOtherSpellingsAreTheSameTypes) {
  EXPECT_EQ(*ParseType("int|None", nullptr), *ParseType("Optional[int]", nullptr));
  EXPECT_EQ(*ParseType("list[torch.Tensor]", nullptr), *ParseType("List[Tensor]", nullptr));
  EXPECT_EQ(*ParseType("Tuple[int,\n    str,\n]", nullptr), *ParseType("Tuple[int, str]", nullptr));
  EXPECT_EQ(*ParseType("'List[int]'", nullptr), *ParseType("List[int]", nullptr));
}

TEST(TypeParserTest, ErrorsSayWhereAndWhat) {
  try {
    ParseType("List[Foo]", nullptr);
    FAIL();
  } catch (const TypeParseError& error) {
    EXPECT_EQ(error.offset, 5u);
    EXPECT_EQ(error.message, "unknown type name 'Foo'");
  }
  for (const char* text : {"", "List[", "List[int", "List[int]]", "Dict[int]", "Dict[Tuple[int], int]", "int int",
                           "Optional[int, str]", "[", "Foo[int]", "List[int]x"}) {
    EXPECT_THROW(ParseType(text, nullptr), TypeParseError) << text;
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "List[";
  EXPECT_THROW(ParseType(deep, nullptr), TypeParseError);
}

}  // namespace
}  // namespace hearth
