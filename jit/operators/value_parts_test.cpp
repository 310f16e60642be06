#include "jit/operators/value_parts.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

using c10::IValue;

TEST(ValuePartsTest, DepthIsThatOfTheDeepestPart) {
  IValue chain = 1;
  for (int i = 0; i < 10; ++i) chain = c10::ivalue::Tuple::create({chain, 2});
  EXPECT_TRUE(NestsDeeperThan(chain, 9));
  EXPECT_FALSE(NestsDeeperThan(chain, 10));
  EXPECT_FALSE(NestsDeeperThan(1, 0));
  EXPECT_FALSE(NestsDeeperThan(c10::List<int64_t>({1, 2}), 1));
}

TEST(ValuePartsTest, SharedPartsAreCountedAsOftenAsTheyAreMet) {
  IValue doubled = 1;
  for (int i = 0; i < 60; ++i) doubled = c10::ivalue::Tuple::create({doubled, doubled});
  EXPECT_FALSE(NestsDeeperThan(doubled, 60));
  EXPECT_THROW(RequireFinite(doubled, "printed"), c10::Error);
  EXPECT_NO_THROW(RequireFinite(c10::ivalue::Tuple::create({IValue(1), IValue("a")}), "printed"));
}

}  // namespace
}  // namespace hearth
