#include "jit/definitions/size_algebra.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace hearth {
namespace {

// As an int of a run: what does not fit wraps around.
int64_t Wrapped(uint64_t bits) { return static_cast<int64_t>(bits); }
int64_t Sum(int64_t a, int64_t b) { return Wrapped(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t Difference(int64_t a, int64_t b) { return Wrapped(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
int64_t Product(int64_t a, int64_t b) { return Wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
int64_t Floor(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

constexpr int64_t kLeastInt = std::numeric_limits<int64_t>::min();
constexpr int64_t kMostInt = std::numeric_limits<int64_t>::max();

// A number and what is known of it.
struct Computed {
  KnownSize known;
  int64_t is;
};

struct Told {
  size_t equal = 0;
  size_t apart = 0;
};

// What is known of expressions over three atoms holds of the numbers. `draw` gives an atom's number, of which `least`
// is known; products are of numbers up to `most_of_product`.
template <typename Draw>
Told CheckRandomExpressions(std::mt19937& random, std::optional<int64_t> least, int64_t most_of_product, Draw draw) {
  Told told;
  SizeAlgebra algebra;
  std::vector<Computed> numbers = {{0, 0}, {1, 1}, {3, 3}, {8, 8}};
  std::vector<KnownSize> atoms;
  for (size_t i = 0; i < 3; ++i) {
    atoms.push_back(algebra.Atom({i, 0}, least));
    numbers.push_back({atoms.back(), draw()});
  }
  const auto pick = [&] { return numbers[std::uniform_int_distribution<size_t>(0, numbers.size() - 1)(random)]; };
  const auto may_multiply = [&](int64_t n) { return n >= -most_of_product && n <= most_of_product; };
  for (int step = 0; step < 12; ++step) {
    const Computed a = pick(), b = pick();
    const bool divides = b.is != 0 && !(a.is == kLeastInt && b.is == -1);
    switch (random() % 5) {
      case 0:
        numbers.push_back({algebra.Add(a.known, b.known), Sum(a.is, b.is)});
        break;
      case 1:
        numbers.push_back({algebra.Subtract(a.known, b.known), Difference(a.is, b.is)});
        break;
      case 2:
        if (!may_multiply(a.is) || !may_multiply(b.is)) break;
        numbers.push_back({algebra.Multiply(a.known, b.known), Product(a.is, b.is)});
        break;
      case 3:
        if (divides) numbers.push_back({algebra.Divide(a.known, b.known), Floor(a.is, b.is)});
        break;
      default:
        if (!divides) break;
        numbers.push_back({algebra.Remainder(a.known, b.known), Difference(a.is, Product(Floor(a.is, b.is), b.is))});
        break;
    }
  }
  for (const Computed& a : numbers) {
    SCOPED_TRACE(algebra.ToString(a.known));
    EXPECT_LE(algebra.Least(a.known).value_or(a.is), a.is);
    EXPECT_GE(algebra.Most(a.known).value_or(a.is), a.is);
    for (const Computed& b : numbers) {
      if (const std::optional<bool> less = algebra.IsLess(a.known, b.known)) {
        EXPECT_EQ(*less, a.is < b.is) << algebra.ToString(b.known);
      }
      const std::optional<bool> same = algebra.AreEqual(a.known, b.known);
      if (!same) continue;
      EXPECT_EQ(*same, a.is == b.is) << algebra.ToString(b.known);
      ++(*same ? told.equal : told.apart);
    }
    KnownSize value = a.known;
    for (size_t i = 0; i < atoms.size(); ++i) {
      value = algebra.Substitute(value, *algebra.Solve(atoms[i], numbers[4 + i].is));
    }
    if (value) {
      EXPECT_EQ(*value, a.is);
    }
  }
  return told;
}

TEST(SizeAlgebraTest, WhatIsKnownOfRandomExpressionsHoldsOfTheirNumbers) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int64_t> size(2, 12);
  Told told;
  for (int round = 0; round < 3000; ++round) {
    const Told of_one = CheckRandomExpressions(random, 2, 4000, [&] { return size(random); });
    told.equal += of_one.equal;
    told.apart += of_one.apart;
  }
  EXPECT_GT(told.equal, 50000u);
  EXPECT_GT(told.apart, 50000u);
}

TEST(SizeAlgebraTest, OfIntsThatMayWrapAroundNoMoreIsKnownThanHolds) {
  std::mt19937 random(11);
  const std::vector<int64_t> ints = {kLeastInt, kLeastInt + 1,    -3,           -1,      0, 1, 2,
                                     7,         int64_t{1} << 62, kMostInt - 1, kMostInt};
  std::uniform_int_distribution<size_t> which(0, ints.size() - 1);
  Told told;
  for (int round = 0; round < 3000; ++round) {
    const Told of_one = CheckRandomExpressions(random, {}, kMostInt, [&] { return ints[which(random)]; });
    told.equal += of_one.equal;
    told.apart += of_one.apart;
  }
  EXPECT_GT(told.equal, 50000u);
  EXPECT_GT(told.apart, 10000u);
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

TEST(SizeAlgebraTest, BoundsThatAreLearnedHoldUntilTheyAreRestored) {
  SizeAlgebra algebra;
  const KnownSize a = algebra.Atom({0, 0}, 2), number = algebra.Atom({1, 0}, {});
  const KnownSize half = algebra.Divide(a, 2);
  EXPECT_EQ(algebra.Least(half), 1);
  // 3 a - 1 >= 30
  const auto outer = algebra.LearnAtLeast(algebra.Subtract(algebra.Multiply(a, 3), 1), 30);
  ASSERT_TRUE(outer);
  EXPECT_EQ(algebra.Least(a), 11);
  EXPECT_EQ(algebra.Least(half), 5);
  // 20 - a >= 1
  const auto inner = algebra.LearnAtLeast(algebra.Subtract(20, a), 1);
  ASSERT_TRUE(inner);
  EXPECT_EQ(algebra.Most(a), 19);
  EXPECT_EQ(algebra.Most(half), 9);
  EXPECT_EQ(algebra.IsLess(half, 10), std::optional(true));
  algebra.Restore(*inner);
  EXPECT_EQ(algebra.Most(half), std::nullopt);
  algebra.Restore(*outer);
  EXPECT_EQ(algebra.Least(a), 2);
  EXPECT_EQ(algebra.Least(half), 1);
  // What is known already, what contradicts, products, and ints whose arithmetic may wrap around.
  EXPECT_FALSE(algebra.LearnAtLeast(a, 1));
  EXPECT_FALSE(algebra.LearnAtLeast(algebra.Multiply(a, -1), 5));
  EXPECT_FALSE(algebra.LearnAtLeast(algebra.Multiply(a, a), 9));
  EXPECT_FALSE(algebra.LearnAtLeast(number, 9));
}

}  // namespace
}  // namespace hearth
