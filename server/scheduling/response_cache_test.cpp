#include "server/scheduling/response_cache.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <utility>

namespace hearth::server {
namespace {

using c10::IValue;

DispatchedCall CallOf(std::vector<IValue> arguments) {
  DispatchedCall call;
  call.arguments.args = std::move(arguments);
  return call;
}

ResponseCache::Key KeyOf(std::vector<IValue> arguments, uint64_t load = 1) {
  return ResponseCache::KeyOf(load, CallOf(std::move(arguments))).value();
}

ResponseCache::Key Number(int64_t number) { return KeyOf({number}); }

IValue Kilobyte(float value) { return at::full({256}, value); }

TEST(ResponseCache, EqualCallsHaveOneKeyAndAllOthersTheirOwn) {
  const at::Tensor x = at::arange(6, at::kFloat).view({2, 3});
  const auto key = KeyOf({x, 1});
  EXPECT_EQ(KeyOf({x.clone(), 1}), key);
  EXPECT_EQ(KeyOf({x.t().contiguous().t(), 1}), key) << "strides are no contents";
  EXPECT_NE(KeyOf({x.view({3, 2}), 1}), key);
  EXPECT_NE(KeyOf({x.view(at::kInt), 1}), key);
  EXPECT_NE(KeyOf({x + 1, 1}), key);
  EXPECT_NE(KeyOf({x, 2}), key);
  EXPECT_NE(KeyOf({x, 1.0}), key);
  EXPECT_NE(KeyOf({x, 1}, 2), key) << "of another load of the model";
  DispatchedCall other = CallOf({x, 1});
  other.method = "other";
  EXPECT_NE(ResponseCache::KeyOf(1, other), key);
  DispatchedCall named = CallOf({x});
  named.arguments.kwargs.emplace_back("n", 1);
  EXPECT_NE(ResponseCache::KeyOf(1, named), key);
}

TEST(ResponseCache, NegativeZeroAndNanAreThemselves) {
  EXPECT_NE(KeyOf({at::zeros({1})}), KeyOf({-at::zeros({1})}));
  EXPECT_EQ(KeyOf({at::full({1}, NAN)}), KeyOf({at::full({1}, NAN)}));
}

TEST(ResponseCache, AnAnswerIsFoundAsItWas) {
  ResponseCache cache(1 << 20);
  const at::Tensor answer = at::rand({2, 3});
  EXPECT_FALSE(cache.Find(Number(1)).has_value());
  cache.Put(Number(1), c10::ivalue::Tuple::create({IValue(answer.t()), IValue("text")}));
  const at::Tensor kept = answer.clone();
  answer.zero_();
  const auto found = cache.Find(Number(1));
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->toTupleRef().elements()[0].toTensor().equal(kept.t())) << "a copy, which nobody else writes";
  EXPECT_EQ(found->toTupleRef().elements()[1].toStringRef(), "text");
}

TEST(ResponseCache, TheLeastRecentlyUsedGoWhereThereIsNoRoom) {
  ResponseCache cache(10'000);
  for (int i = 0; i < 4; ++i) cache.Put(Number(i), Kilobyte(static_cast<float>(i)));
  ASSERT_TRUE(cache.Find(Number(0)).has_value());
  EXPECT_LE(cache.bytes(), 10'000);
  cache.Put(Number(4), Kilobyte(4));
  cache.Put(Number(5), Kilobyte(5));
  EXPECT_LE(cache.bytes(), 10'000);
  EXPECT_TRUE(cache.Find(Number(0)).has_value());
  EXPECT_FALSE(cache.Find(Number(1)).has_value());
  EXPECT_TRUE(cache.Find(Number(5)).has_value());
}

TEST(ResponseCache, AnAnswerThatIsLargerThanTheCacheIsNotKept) {
  ResponseCache cache(10'000);
  cache.Put(Number(1), Kilobyte(1));
  cache.Put(Number(2), at::zeros({10'000}));
  EXPECT_TRUE(cache.Find(Number(1)).has_value());
  EXPECT_FALSE(cache.Find(Number(2)).has_value());
}

TEST(ResponseCache, AnAnswerThatExpandsALittleCountsWithAllItsElements) {
  ResponseCache cache(10'000);
  cache.Put(Number(1), at::zeros({1}).expand({10'000}));
  EXPECT_EQ(cache.bytes(), 0U);
}

}  // namespace
}  // namespace hearth::server
