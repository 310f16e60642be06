#include "jit/analysis/size_algebra.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace hearth {
namespace {

int64_t FloorOf(int64_t a, int64_t b) {
  return static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
}

// A number and what is known of it.
struct Computed {
  KnownSize known;
  int64_t is;
};

TEST(SizeAlgebraTest, WhatIsKnownOfRandomExpressionsHoldsOfTheirNumbers) {
  std::mt19937 random(7);
  size_t equal = 0, apart = 0;
  for (int round = 0; round < 3000; ++round) {
    SizeAlgebra algebra;
    std::vector<Computed> numbers = {{0, 0}, {1, 1}, {3, 3}, {8, 8}};
    std::vector<KnownSize> atoms;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t is = std::uniform_int_distribution<int64_t>(2, 12)(random);
      atoms.push_back(algebra.Atom({i, 0}, 2));
      numbers.push_back({atoms.back(), is});
    }
    const auto pick = [&] { return numbers[std::uniform_int_distribution<size_t>(0, numbers.size() - 1)(random)]; };
    for (int step = 0; step < 12; ++step) {
      const Computed a = pick(), b = pick();
      switch (random() % 5) {
        case 0:
          numbers.push_back({algebra.Add(a.known, b.known), a.is + b.is});
          break;
        case 1:
          numbers.push_back({algebra.Subtract(a.known, b.known), a.is - b.is});
          break;
        case 2:
          if (std::abs(a.is) < 4000 && std::abs(b.is) < 4000) {
            numbers.push_back({algebra.Multiply(a.known, b.known), a.is * b.is});
          }
          break;
        case 3:
          if (b.is != 0) numbers.push_back({algebra.Divide(a.known, b.known), FloorOf(a.is, b.is)});
          break;
        default:
          if (b.is != 0) numbers.push_back({algebra.Remainder(a.known, b.known), a.is - FloorOf(a.is, b.is) * b.is});
          break;
      }
    }
    for (const Computed& a : numbers) {
      SCOPED_TRACE(algebra.ToString(a.known));
      EXPECT_LE(algebra.Least(a.known).value_or(a.is), a.is);
      EXPECT_GE(algebra.Most(a.known).value_or(a.is), a.is);
      for (const Computed& b : numbers) {
        const std::optional<bool> same = algebra.AreEqual(a.known, b.known);
        if (!same) continue;
        EXPECT_EQ(*same, a.is == b.is) << algebra.ToString(b.known);
        ++(*same ? equal : apart);
      }
      KnownSize value = a.known;
      for (size_t i = 0; i < atoms.size(); ++i) {
        value = algebra.Substitute(value, *algebra.Solve(atoms[i], numbers[4 + i].is));
      }
      if (value) {
        EXPECT_EQ(*value, a.is);
      }
    }
  }
  EXPECT_GT(equal, 50000u);
  EXPECT_GT(apart, 50000u);
}

TEST(SizeAlgebraTest, SizesThatAreComputedInOtherWaysAreTheSame) {
  SizeAlgebra algebra;
  const KnownSize b = algebra.Atom({0, 0}, 2), t = algebra.Atom({0, 1}, 2), c = algebra.Atom({0, 2}, 2);
  const KnownSize all = algebra.Multiply(algebra.Multiply(c, b), algebra.Multiply(t, 64));
  EXPECT_EQ(algebra.Divide(all, algebra.Multiply(b, t)), algebra.Multiply(c, 64));
  EXPECT_EQ(algebra.Divide(algebra.Add(algebra.Multiply(c, 4), 3), 4), c);
  EXPECT_EQ(algebra.Remainder(algebra.Add(algebra.Multiply(c, 4), 3), 4), KnownSize(3));
  EXPECT_EQ(algebra.Subtract(algebra.Add(b, t), t), b);
  EXPECT_EQ(algebra.AreEqual(algebra.Add(b, 1), 2), std::optional(false));
  EXPECT_EQ(algebra.AreEqual(b, t), std::nullopt);
  EXPECT_EQ(algebra.AreEqual(algebra.Remainder(b, 7), 7), std::optional(false));
}

TEST(SizeAlgebraTest, WhatIsLearnedOfASizeIsKnownOfAllThatIsComputedOfIt) {
  SizeAlgebra algebra;
  const KnownSize a = algebra.Atom({0, 0}, 2), b = algebra.Atom({1, 0}, 2);
  const KnownSize windows = algebra.Divide(algebra.Add(b, 3), 7);
  const auto equal = algebra.Solve(a, b);
  ASSERT_TRUE(equal);
  EXPECT_EQ(algebra.Substitute(windows, *equal), algebra.Divide(algebra.Add(a, 3), 7));
  const auto constant = algebra.Solve(a, 56);
  ASSERT_TRUE(constant);
  EXPECT_EQ(algebra.Substitute(algebra.Substitute(windows, *equal), *constant), KnownSize(8));
  EXPECT_FALSE(algebra.Solve(a, algebra.Add(a, 1)));
}

}  // namespace
}  // namespace hearth
