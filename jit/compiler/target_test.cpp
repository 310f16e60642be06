#include "jit/compiler/target.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace hearth {
namespace {

TEST(TargetTest, ReadsWhatItPrints) {
  Target target;
  target.Set("threads=4,onednn=1");
  EXPECT_EQ(target.threads, 4);
  EXPECT_TRUE(target.onednn);
  Target read;
  read.Set(target.ToString());
  EXPECT_EQ(read.ToString(), target.ToString());
}

TEST(TargetTest, KeepsWhatIsNotNamed) {
  Target target = Target::Host();
  const int threads = target.threads;
  target.Set("onednn=0");
  EXPECT_EQ(target.threads, threads);
  EXPECT_FALSE(target.onednn);
}

TEST(TargetTest, RefusesWhatItDoesNotKnow) {
  Target target;
  for (const char* text : {"avx=1", "threads", "threads=", "threads=-1", "threads=two", "onednn=2", "threads=1,,"}) {
    EXPECT_THROW(target.Set(text), std::invalid_argument) << text;
  }
}

TEST(TargetTest, PacksNoWeightsWithoutTheLibrary) {
  Target target;
  target.Set("onednn=1");
  EXPECT_TRUE(target.PacksWeights(c10::kCPU, c10::kFloat));
  EXPECT_FALSE(target.PacksWeights(c10::kCPU, c10::kHalf));
  EXPECT_FALSE(target.PacksWeights(c10::Device(c10::kCUDA, 0), c10::kFloat));
  target.Set("onednn=0");
  EXPECT_FALSE(target.PacksWeights(c10::kCPU, c10::kFloat));
}

TEST(TargetTest, HasAttentionOfFloatsWhereItsKernelRuns) {
  Target target;
  target.Set("attention=1");
  EXPECT_TRUE(target.HasAttention(c10::kCPU, c10::kFloat));
  EXPECT_FALSE(target.HasAttention(c10::kCPU, c10::kDouble));
  EXPECT_FALSE(target.HasAttention(c10::Device(c10::kCUDA, 0), c10::kFloat));
  EXPECT_FALSE(target.FlattensAttention(c10::kCPU, c10::kFloat));
  EXPECT_TRUE(target.FlattensAttention(c10::kCPU, c10::kHalf));
  EXPECT_TRUE(target.FlattensAttention(c10::Device(c10::kCUDA, 0), c10::kFloat));
  EXPECT_FALSE(target.FlattensAttention(c10::Device(c10::kCUDA, 0), c10::kDouble));
  target.Set("attention=0");
  EXPECT_FALSE(target.HasAttention(c10::kCPU, c10::kFloat));
}

TEST(TargetTest, FoldsWeightsWhereTheyAreNotRoundedAgain) {
  const c10::Device gpu(c10::kCUDA, 0);
  const Target target;
  EXPECT_TRUE(target.FoldsWeights(c10::kCPU, c10::kFloat));
  EXPECT_TRUE(target.FoldsWeights(gpu, c10::kHalf));
  EXPECT_FALSE(target.FoldsWeights(gpu, c10::kFloat));
  EXPECT_FALSE(target.FoldsWeights(c10::kCPU, c10::kLong));
}

TEST(TargetTest, AttentionOnAGpuTakesPartsOfOneProductAndNumbersForMasks) {
  const c10::Device gpu(c10::kCUDA, 0);
  const Target target;
  EXPECT_TRUE(target.JoinsProjections(gpu, c10::kHalf));
  EXPECT_TRUE(target.JoinsProjections(gpu, c10::kBFloat16));
  EXPECT_FALSE(target.JoinsProjections(gpu, c10::kFloat));
  EXPECT_FALSE(target.JoinsProjections(c10::kCPU, c10::kBFloat16));
  EXPECT_TRUE(target.NumbersMasks(gpu));
  EXPECT_FALSE(target.NumbersMasks(c10::kCPU));
}

TEST(TargetTest, WantsImagesChannelsLastWhereItsLibrariesDo) {
  const c10::Device gpu(c10::kCUDA, 0);
  Target target;
  target.Set("onednn=1");
  EXPECT_TRUE(target.PrefersChannelsLast(c10::kCPU, c10::kFloat));
  EXPECT_FALSE(target.PrefersChannelsLast(c10::kCPU, c10::kDouble));
  EXPECT_TRUE(target.PrefersChannelsLast(gpu, c10::kHalf));
  EXPECT_FALSE(target.PrefersChannelsLast(gpu, c10::kFloat));
  target.Set("onednn=0");
  EXPECT_FALSE(target.PrefersChannelsLast(c10::kCPU, c10::kFloat));
}

}  // namespace
}  // namespace hearth
