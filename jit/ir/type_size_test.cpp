#include "jit/ir/type_size.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/ir/type_parser.h"

namespace hearth {
namespace {

using c10::TypePtr;

TypePtr Doubled(int times) {
  TypePtr type = c10::IntType::get();
  for (int i = 0; i < times; ++i) type = c10::TupleType::create({type, type});
  return type;
}

TEST(TypeSizeTest, ATypeOfModestSizePasses) {
  EXPECT_NO_THROW(RequireTypeSize(*c10::TensorType::get()));
  EXPECT_NO_THROW(RequireTypeSize(*Doubled(12)));
  EXPECT_NO_THROW(RequireTypeSize(*c10::TupleType::create(std::vector<TypePtr>(9999, c10::IntType::get()))));
}

TEST(TypeSizeTest, ATypeThatDoublesIsRefusedBeforeItIsWalkedThrough) {
  EXPECT_THROW(RequireTypeSize(*Doubled(13)), c10::Error);
  EXPECT_THROW(RequireTypeSize(*Doubled(64)), c10::Error);
}

TEST(TypeSizeTest, ATypeThatNestsTooDeeplyIsRefused) {
  TypePtr type = c10::IntType::get();
  for (size_t i = 1; i < kDeepestType; ++i) type = c10::ListType::create(type);
  EXPECT_NO_THROW(RequireTypeSize(*type));
  EXPECT_THROW(RequireTypeSize(*c10::ListType::create(type)), c10::Error);
}

TEST(TypeSizeTest, ALargeMemberOfAUnionIsRefused) {
  const auto union_of = [](int times) {
    const auto resolve = [=](const std::string& name) { return name == "T" ? Doubled(times) : nullptr; };
    return ParseType("Union[Tuple[T, int], Tuple[T, str]]", resolve);
  };
  EXPECT_EQ(union_of(5)->containedTypes().size(), 2u);
  EXPECT_THROW(union_of(10), TypeParseError);
}

TEST(TypeSizeTest, AClassCountsOneWhateverItHolds) {
  auto type = c10::ClassType::create("__torch__.Node", {});
  type->addAttribute("next", c10::OptionalType::create(type));
  EXPECT_NO_THROW(RequireTypeSize(*c10::ListType::create(type)));
}

TEST(TypeSizeTest, AFieldWhoseClassLeadsToItselfIsRefused) {
  auto plain = c10::ClassType::create("__torch__.Plain", {});
  plain->addAttribute("n", c10::IntType::get());
  EXPECT_NO_THROW(RequireFieldSize(*plain));
  auto node = c10::ClassType::create("__torch__.Node", {});
  node->addAttribute("next", c10::OptionalType::create(node));
  EXPECT_THROW(RequireFieldSize(*node), c10::Error);
}

}  // namespace
}  // namespace hearth
