#include "jit/analysis/value_profile.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "jit/ir/parser.h"

namespace hearth {
namespace {

using c10::IValue;

// What runs that had one value each saw.
ValueObservation Seen(const std::vector<IValue>& values, uint64_t first_run = 1) {
  ValueObservation seen;
  for (const IValue& value : values) {
    ValueObservation once;
    once.Add(value, first_run++);
    seen.Join(once);
  }
  return seen;
}

TEST(ValueProfileTest, AConstantIsWhatAValueAlwaysWas) {
  EXPECT_EQ(Seen({3, 3, 3}).constant, IValue(3));
  EXPECT_EQ(Seen({3, 3, 3}).runs, 3u);
  EXPECT_FALSE(Seen({3, 3, 4}).constant);
  EXPECT_FALSE(Seen({0.0, -0.0}).constant) << "equal, but not the same";
  EXPECT_FALSE(Seen({1, true}).constant);
  EXPECT_EQ(Seen({"text", "text"}).constant, IValue("text"));
  EXPECT_FALSE(Seen({IValue(), 1}).constant);
  EXPECT_TRUE(Seen({IValue(), 1}).none);
  EXPECT_TRUE(Seen({IValue(), 1}).some);
}

TEST(ValueProfileTest, TensorsHaveInCommonWhatAllHad) {
  const ValueObservation seen = Seen({at::zeros({8, 3, 1}), at::zeros({16, 3, 1})});
  EXPECT_EQ(seen.facts.dtype, c10::kFloat);
  EXPECT_EQ(seen.facts.rank(), 3u);
  EXPECT_EQ((*seen.facts.sizes)[0], KnownSize());
  EXPECT_EQ((*seen.facts.sizes)[1], KnownSize(3));
  EXPECT_EQ((*seen.facts.sizes)[2], KnownSize(1));
  EXPECT_TRUE(seen.dimensions[0].by_eight);
  EXPECT_FALSE(seen.dimensions[1].by_eight);
  EXPECT_FALSE(Seen({at::zeros({2}), at::zeros({2, 2})}).facts.rank());
  EXPECT_FALSE(Seen({at::zeros({2}), at::zeros({2}, c10::kLong)}).facts.dtype);
}

TEST(ValueProfileTest, SizesThatAreAlwaysEqualHaveOneSymbolInWhateverOrderRunsAreJoined) {
  const std::vector<IValue> batches = {at::zeros({2, 5, 2}), at::zeros({3, 5, 3}), at::zeros({7, 7, 7})};
  const ValueObservation one = Seen(batches);
  EXPECT_EQ(one.dimensions[0].symbol, one.dimensions[2].symbol);
  EXPECT_NE(one.dimensions[0].symbol, one.dimensions[1].symbol);
  ValueObservation other = Seen({at::zeros({3}), at::zeros({7})}, 2);
  other.Join(Seen({at::zeros({2})}, 1));
  EXPECT_EQ(other.dimensions[0].symbol, one.dimensions[0].symbol);
}

TEST(ValueProfileTest, ALoopsRoundsAreOneRun) {
  const auto graph = ParseGraph("graph(%n : int):\n  return (%n)\n");
  const std::vector<ProfileSite> sites = {{0, graph->inputs()[0]}};
  ValueProfile profile;
  for (uint64_t run = 1; run <= 2; ++run) {
    RunSamples samples(1, run);
    for (int64_t round = 0; round < 1000; ++round) samples.Add(0, round == 0 ? 5 : 6);
    profile.Join(samples, sites);
  }
  EXPECT_EQ(profile.runs, 2u);
  EXPECT_EQ(profile.values[0].runs, 2u);
  EXPECT_EQ(profile.values[0].times, 128u) << "later rounds are not looked at";
  EXPECT_FALSE(profile.values[0].constant);
}

TEST(ValueProfileTest, ACopyOfAGraphHasItsValuesInTheSameOrder) {
  const auto graph = ParseGraph(R"(graph(%x : Tensor, %c : bool):
  %y : Tensor = prim::If(%c)
    block0():
      %e : Tensor = aten::exp(%x)
      -> (%e)
    block1():
      -> (%x)
  %z : Tensor = aten::cos(%y)
  return (%z)
)");
  const auto copy = graph->Clone();
  const std::vector<Value*> values = ValuesInOrder(*graph);
  const std::vector<Value*> copied = ValuesInOrder(*copy);
  ASSERT_EQ(values.size(), 5u);
  ASSERT_EQ(copied.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(copied[i]->name(), values[i]->name());
}

}  // namespace
}  // namespace hearth
