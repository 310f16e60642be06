#include "jit/executor/entry_profile.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "jit/ir/parser.h"

namespace hearth {
namespace {

constexpr std::array<size_t, 1> kFlag = {7};

class EntryProfileTest : public testing::Test {
 protected:
  // A run that is sampled and sees `value`; whether there was one.
  bool Run(const c10::IValue& value) {
    const std::shared_ptr<RunSamples> samples = profile_->TakeSamples();
    if (samples == nullptr) return false;
    samples->Add(0, value);
    return true;
  }
  bool Refute() {
    return profile_->TryDeoptimise(kFlag, [] { return true; });
  }

  const std::unique_ptr<Graph> graph_ = ParseGraph("graph(%c : bool):\n  return (%c)\n");
  const std::vector<ProfileSite> sites_ = {{kFlag[0], graph_->inputs()[0]}};
  const std::shared_ptr<EntryProfile> profile_ = std::make_shared<EntryProfile>(sites_, 3, 2);
};

TEST_F(EntryProfileTest, AfterSoManyRunsItIsRipeOnceAndNothingIsSampledAnyMore) {
  EXPECT_TRUE(Run(true));
  EXPECT_TRUE(Run(true));
  EXPECT_FALSE(profile_->TakeReady());
  EXPECT_TRUE(Run(true));
  EXPECT_TRUE(profile_->TakeReady());
  EXPECT_FALSE(profile_->TakeReady());
  EXPECT_FALSE(Run(true));
  const ValueProfile seen = profile_->Snapshot().seen;
  EXPECT_EQ(seen.runs, 3u);
  EXPECT_EQ(seen.values.at(kFlag[0]).constant, c10::IValue(true));
}

TEST_F(EntryProfileTest, WhatCouldNotBeCompiledIsToldAgain) {
  while (Run(true)) continue;
  ASSERT_TRUE(profile_->TakeReady());
  profile_->PutBack();
  EXPECT_TRUE(profile_->TakeReady());
}

TEST_F(EntryProfileTest, WhatWasDeoptimisedIsForgottenAndSampledAnewABoundedNumberOfTimes) {
  while (Run(true)) continue;
  EXPECT_TRUE(Refute());
  EXPECT_EQ(profile_->Snapshot().deoptimised, std::set<size_t>({kFlag[0]}));
  EXPECT_EQ(profile_->Snapshot().seen.runs, 0u);
  EXPECT_FALSE(profile_->TakeReady());
  EXPECT_TRUE(Run(false));
  EXPECT_TRUE(Refute());
  EXPECT_FALSE(Run(false));
}

TEST_F(EntryProfileTest, WherePlansAreNotTakenBackNothingIsForgotten) {
  while (Run(true)) continue;
  EXPECT_FALSE(profile_->TryDeoptimise(kFlag, [] { return false; }));
  EXPECT_TRUE(profile_->Snapshot().deoptimised.empty());
  EXPECT_EQ(profile_->Snapshot().seen.runs, 3u);
}

TEST_F(EntryProfileTest, ARunThatBeganBeforeDoesNotCountAfterwards) {
  std::shared_ptr<RunSamples> old = profile_->TakeSamples();
  old->Add(0, true);
  EXPECT_TRUE(Refute());
  old = nullptr;
  EXPECT_EQ(profile_->Snapshot().seen.runs, 0u);
}

TEST_F(EntryProfileTest, ThreadsThatMeetLoseSamplesButNoneIsHalfJoined) {
  const auto profile = std::make_shared<EntryProfile>(sites_, 400, 2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (const auto samples = profile->TakeSamples()) samples->Add(0, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (const auto samples = profile->TakeSamples()) samples->Add(0, true);
  EXPECT_TRUE(profile->TakeReady());
  EXPECT_EQ(profile->Snapshot().seen.runs, 400u);
  EXPECT_EQ(profile->Snapshot().seen.values.at(kFlag[0]).runs, 400u);
}

// Runs `lose` on other threads while nothing can be joined to the profile.
void WhileOthersHoldIt(EntryProfile& profile, int threads, const std::function<void()>& lose) {
  const std::vector<c10::IValue> arguments = {at::zeros({1})};
  profile.CountShape(arguments, 1, 0, [&](const ExactShape&) {
    std::vector<std::thread> losing;
    losing.reserve(static_cast<size_t>(threads));
    for (int i = 0; i < threads; ++i) losing.emplace_back(lose);
    for (std::thread& thread : losing) thread.join();
    return false;
  });
}

TEST_F(EntryProfileTest, ARunWhoseSamplesAreLostIsMadeUpForByAnother) {
  EXPECT_TRUE(Run(true));
  std::shared_ptr<RunSamples> lost = profile_->TakeSamples();
  std::shared_ptr<RunSamples> joined = profile_->TakeSamples();
  EXPECT_FALSE(Run(true)) << "as many as are wanted are under way";
  WhileOthersHoldIt(*profile_, 1, [&] { lost = nullptr; });
  joined = nullptr;
  EXPECT_FALSE(profile_->TakeReady());
  EXPECT_TRUE(Run(true));
  EXPECT_TRUE(profile_->TakeReady());
}

TEST_F(EntryProfileTest, HoweverManyMeetAndLoseTheirSamplesItIsReadyInTheEnd) {
  const auto profile = std::make_shared<EntryProfile>(sites_, 1, 2);
  WhileOthersHoldIt(*profile, 2, [&] {
    for (int i = 0; i < 200'000; ++i) profile->TakeSamples();
  });
  EXPECT_EQ(profile->Snapshot().seen.runs, 0u);
  EXPECT_NE(profile->TakeSamples(), nullptr);
  EXPECT_TRUE(profile->TakeReady());
}

TEST_F(EntryProfileTest, SamplesThatAreLostWhileAPlanIsDeoptimisedDoNotCountForTheNext) {
  for (uint32_t round = 1; round <= 300; ++round) {
    const auto profile = std::make_shared<EntryProfile>(sites_, 3, 2);
    std::atomic<bool> begun = false;
    std::thread losing([&] {
      for (int i = 0; i < 20; ++i) {
        const std::shared_ptr<RunSamples> samples = profile->TakeSamples();
        begun = true;
      }
    });
    while (!begun) std::this_thread::yield();
    while (!profile->TryDeoptimise(kFlag, [] { return true; })) std::this_thread::yield();
    losing.join();
    while (profile->TakeSamples() != nullptr) continue;
    ASSERT_EQ(profile->Snapshot().seen.runs, 3u) << "in round " << round;
  }
}

TEST_F(EntryProfileTest, WhatWasKnownBeforeIsGoneOnWith) {
  EXPECT_TRUE(Run(true));
  EXPECT_TRUE(Run(true));
  const auto next = std::make_shared<EntryProfile>(sites_, 3, 2, profile_->Snapshot());
  EXPECT_NE(next->TakeSamples(), nullptr);
  EXPECT_EQ(next->TakeSamples(), nullptr);
  EXPECT_EQ(next->Snapshot().seen.runs, 3u);
  EXPECT_TRUE(next->TakeReady());
}

TEST_F(EntryProfileTest, AfterTheLastDeoptimisationNothingIsSampledThoughAnotherProcessSawIt) {
  EXPECT_TRUE(Refute());
  EXPECT_TRUE(Refute());
  const auto next = std::make_shared<EntryProfile>(sites_, 3, 2, profile_->Snapshot());
  EXPECT_EQ(next->TakeSamples(), nullptr);
  EXPECT_EQ(next->Snapshot().deoptimised, std::set<size_t>({kFlag[0]}));
}

// Calls `times` with a tensor of so many elements; how often a shape was given.
int Count(EntryProfile& profile, int64_t elements, int times, bool taken = true) {
  const std::vector<c10::IValue> arguments = {at::zeros({elements})};
  int given = 0;
  for (int i = 0; i < times; ++i) {
    profile.CountShape(arguments, 1, 100, [&](const ExactShape& shape) {
      EXPECT_TRUE(shape.Fits(arguments));
      ++given;
      return taken;
    });
  }
  return given;
}

TEST_F(EntryProfileTest, AShapeThatIsCalledOftenIsGivenOnce) {
  EXPECT_EQ(Count(*profile_, 3, 99), 0);
  EXPECT_EQ(Count(*profile_, 3, 2, /*taken=*/false), 2);
  EXPECT_EQ(Count(*profile_, 3, 500), 1);
  profile_->PutBackShape(ExactShape::Of(std::vector<c10::IValue>{at::zeros({3})}).value());
  EXPECT_EQ(Count(*profile_, 3, 99), 0);
  EXPECT_EQ(Count(*profile_, 3, 100), 1);
}

TEST_F(EntryProfileTest, ShapesThatWereCountedBeforeCountOn) {
  const auto shape = [](int64_t size) { return ExactShape::Of(std::vector<c10::IValue>{at::zeros({size})}).value(); };
  profile_->Remember(shape(3), 60, /*taken=*/false);
  profile_->Remember(shape(4), 70, /*taken=*/true);
  EXPECT_EQ(profile_->FrequentShape(), shape(4));
  EXPECT_EQ(Count(*profile_, 3, 39), 0);
  EXPECT_EQ(Count(*profile_, 3, 1), 1);
  EXPECT_EQ(Count(*profile_, 4, 500), 0) << "it was taken before";
  const auto shapes = profile_->Shapes();
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].shape, shape(4));
  EXPECT_EQ(shapes[0].calls, 570u);
  EXPECT_EQ(shapes[1].calls, 100u);
  EXPECT_TRUE(shapes[0].taken && shapes[1].taken);
}

TEST_F(EntryProfileTest, OfShapesThatChangeAllTheTimeNoneIsGivenButTheOneThatStays) {
  int given = 0;
  for (int64_t i = 1; i < 3000; ++i) given += Count(*profile_, i, 1);
  EXPECT_EQ(given, 0);
  for (int64_t i = 1; i < 3000; ++i) given += Count(*profile_, i, 1) + Count(*profile_, 5000, 1);
  EXPECT_EQ(given, 1);
}

}  // namespace
}  // namespace hearth
