#include "jit/kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// A head with memory of its own. Rows have a few floats between them.
struct AttentionCase {
  AttentionCase(int64_t queries, int64_t keys, int64_t width, int64_t value_width = 0) {
    if (value_width == 0) value_width = width;
    stride = std::max(width, value_width) + 3;
    query = Numbers(queries * stride);
    key = Numbers(keys * stride);
    value = Numbers(keys * stride);
    result.assign(static_cast<size_t>(queries * stride), 77);
    head.queries = queries;
    head.keys = keys;
    head.width = width;
    head.value_width = value_width;
    head.query_stride = head.key_stride = head.value_stride = head.result_stride = stride;
    head.scale = 1 / std::sqrt(static_cast<float>(width));
  }

  std::vector<float> Numbers(int64_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& number : numbers) number = normal(random);
    return numbers;
  }

  double MaskOf(int64_t i, int64_t k) const {
    const int64_t at = i * head.mask_query_stride + k * head.mask_key_stride;
    if (head.kind == AttentionHead::Mask::kAdded) return static_cast<const float*>(head.mask)[at];
    if (head.kind == AttentionHead::Mask::kKept) return static_cast<const bool*>(head.mask)[at] ? 0 : kNever;
    return 0;
  }

  // Of one query, in double precision.
  std::vector<double> Expected(int64_t i) const {
    const int64_t keys = head.causal ? std::min(head.keys, i + 1) : head.keys;
    std::vector<double> scores;
    double largest = kNever;
    for (int64_t k = 0; k < keys; ++k) {
      double score = 0;
      for (int64_t d = 0; d < head.width; ++d) {
        score += double{query[static_cast<size_t>(i * stride + d)]} * key[static_cast<size_t>(k * stride + d)];
      }
      scores.push_back(score * head.scale + MaskOf(i, k));
      largest = std::max(largest, scores.back());
    }
    std::vector<double> sums(static_cast<size_t>(head.value_width));
    double sum = 0;
    for (size_t k = 0; k < scores.size(); ++k) {
      const double weight = largest == kNever && !std::isnan(scores[k]) ? 0 : std::exp(scores[k] - largest);
      sum += weight;
      for (size_t d = 0; d < sums.size(); ++d) sums[d] += weight * value[k * static_cast<size_t>(stride) + d];
    }
    const bool zeros = sum == 0 && head.unseen == AttentionHead::Unseen::kZeros;
    for (double& each : sums) each /= zeros ? 1 : sum;
    return sums;
  }

  void Check(const std::string& what, double tolerance = 2e-5) {
    head.query = query.data();
    head.key = key.data();
    head.value = value.data();
    head.result = result.data();
    const std::unique_ptr<float, decltype(&std::free)> scratch(
        static_cast<float*>(std::aligned_alloc(
            64, static_cast<size_t>(AttentionScratch(head.width, head.value_width)) * sizeof(float))),
        &std::free);
    for (int64_t block = 0; block < AttentionBlocks(head.queries); ++block) AttendBlock(head, block, scratch.get());
    for (int64_t i = 0; i < head.queries; ++i) {
      const std::vector<double> expected = Expected(i);
      for (int64_t d = 0; d < stride; ++d) {
        const float found = result[static_cast<size_t>(i * stride + d)];
        if (d >= head.value_width) {
          ASSERT_EQ(found, 77) << what << ": wrote between its results, query " << i;
        } else if (std::isnan(expected[static_cast<size_t>(d)])) {
          ASSERT_TRUE(std::isnan(found)) << what << ": query " << i << " at " << d << " is " << found;
        } else {
          ASSERT_NEAR(found, expected[static_cast<size_t>(d)], tolerance) << what << ": query " << i << " at " << d;
        }
      }
    }
  }

  std::mt19937 random{1};
  int64_t stride;
  std::vector<float> query, key, value, result;
  AttentionHead head{};
};

class AttentionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  }
};

std::string Name(int64_t queries, int64_t keys, int64_t width) {
  return std::to_string(queries) + " queries, " + std::to_string(keys) + " keys of " + std::to_string(width);
}

TEST_F(AttentionTest, GivesWhatDoublePrecisionDoes) {
  for (const int64_t queries : {1, 5, 16, 17, 33, 64, 65, 100, 197}) {
    for (const int64_t keys : {1, 3, 6, 16, 127, 128, 129, 300}) {
      for (const int64_t width : {1, 8, 16, 20, 36, 64, 72}) {
        AttentionCase(queries, keys, width).Check(Name(queries, keys, width));
      }
    }
  }
  AttentionCase(70, 200, 256).Check(Name(70, 200, 256));
  AttentionCase(3, 5000, 32).Check(Name(3, 5000, 32));
}

TEST_F(AttentionTest, ValuesMayHaveAnotherWidthThanKeys) {
  for (const int64_t queries : {5, 16, 49, 64, 197}) {
    for (const auto& [width, value_width] :
         std::vector<std::pair<int64_t, int64_t>>{{16, 32}, {16, 64}, {32, 128}, {64, 8}, {20, 1}, {1, 36}}) {
      AttentionCase(queries, 150, width, value_width)
          .Check(Name(queries, 150, width) + ", values of " + std::to_string(value_width));
    }
  }
}

TEST_F(AttentionTest, QueriesSeeNoLaterKeyWhereItIsCausal) {
  for (const int64_t queries : {1, 5, 17, 64, 150}) {
    for (const int64_t keys : {1, 5, 17, 64, 150, 300}) {
      AttentionCase one(queries, keys, 20);
      one.head.causal = true;
      one.Check(Name(queries, keys, 20));
    }
  }
}

TEST_F(AttentionTest, MasksAreAddedInWhateverStridesTheyHave) {
  for (const int64_t queries : {3, 17, 70}) {
    for (const int64_t keys : {2, 20, 150, 260}) {
      for (const auto& [down, along] : std::vector<std::pair<int64_t, int64_t>>{
               {keys, 1}, {0, 1}, {1, 0}, {0, 0}, {1, queries}, {2 * keys, 2}, {0, 2}}) {
        AttentionCase one(queries, keys, 12);
        std::vector<float> added = one.Numbers(4 * queries * keys);
        for (size_t i = 0; i < added.size(); i += 3) added[i] = static_cast<float>(kNever);
        one.head.kind = AttentionHead::Mask::kAdded;
        one.head.mask = added.data();
        one.head.mask_query_stride = down;
        one.head.mask_key_stride = along;
        one.Check(Name(queries, keys, 12) + ", mask by " + std::to_string(down) + " and " + std::to_string(along));
        const std::unique_ptr<bool[]> kept(new bool[added.size()]);
        for (size_t i = 0; i < added.size(); ++i) kept[i] = added[i] > 0;
        one.head.kind = AttentionHead::Mask::kKept;
        one.head.mask = kept.get();
        one.Check(Name(queries, keys, 12) + ", kept by " + std::to_string(down) + " and " + std::to_string(along));
      }
    }
  }
}

TEST_F(AttentionTest, QueriesWhoseKeysAreAllMaskedAreZerosOrNan) {
  AttentionCase one(20, 300, 16);
  std::vector<float> added(20 * 300);
  std::fill_n(added.begin() + 3 * 300, 300, static_cast<float>(kNever));
  // The first block of keys only, and all but it.
  std::fill_n(added.begin() + 7 * 300, 200, static_cast<float>(kNever));
  std::fill_n(added.begin() + 8 * 300 + 100, 200, static_cast<float>(kNever));
  one.head.kind = AttentionHead::Mask::kAdded;
  one.head.mask = added.data();
  one.head.mask_query_stride = 300;
  one.head.mask_key_stride = 1;
  one.Check("masked");
  for (int64_t d = 0; d < 16; ++d) EXPECT_EQ(one.result[static_cast<size_t>(3 * one.stride + d)], 0);
  one.head.unseen = AttentionHead::Unseen::kNan;
  one.Check("masked, NaN");
  for (int64_t d = 0; d < 16; ++d) EXPECT_TRUE(std::isnan(one.result[static_cast<size_t>(3 * one.stride + d)]));
}

TEST_F(AttentionTest, ANanIsInAllThatItIsPartOf) {
  for (const int64_t key : {0, 150, 299}) {
    AttentionCase one(20, 300, 16);
    one.key[static_cast<size_t>(key * one.stride + 5)] = std::numeric_limits<float>::quiet_NaN();
    one.Check("in a key");
    AttentionCase other(20, 300, 16);
    other.value[static_cast<size_t>(key * one.stride + 5)] = std::numeric_limits<float>::quiet_NaN();
    other.Check("in a value");
    other.query[static_cast<size_t>(7 * one.stride)] = std::numeric_limits<float>::quiet_NaN();
    other.Check("in a query");
    AttentionCase infinite(20, 300, 16);
    infinite.key[static_cast<size_t>(key * one.stride + 5)] = std::numeric_limits<float>::infinity();
    infinite.Check("infinity in a key");
  }
}

TEST_F(AttentionTest, ScoresMayBeLarge) {
  for (const float scale : {1e4F, -1e4F, 1e-4F, 0.0F}) {
    AttentionCase one(40, 300, 16);
    one.head.scale = scale;
    // At 1e4 a score's own rounding may decide which of two keys is seen: their values are the same then.
    if (std::abs(scale) > 1) {
      for (size_t i = 0; i < one.value.size(); ++i)
        one.value[i] = static_cast<float>(i % static_cast<size_t>(one.stride));
      one.Check("scores of 1e4 and more", 1e-4);
    } else {
      one.Check("small scores");
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
