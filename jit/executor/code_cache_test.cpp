#include "jit/executor/code_cache.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <latch>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

using State = CodeEntry::State;
using PlanPointer = std::shared_ptr<const ExecutionPlan>;

constexpr size_t kPlenty = size_t{1} << 40;

// Of a dict, whose keys a spec says.
ArgumentSpec Spec(uint64_t number) {
  c10::Dict<int64_t, int64_t> dict;
  dict.insert(static_cast<int64_t>(number), 0);
  return *ArgumentSpec::Of(std::vector<c10::IValue>{dict});
}

// What a cache never looks into: any object will do.
PlanPointer Plan(uint64_t number = 0) {
  auto object = std::make_shared<uint64_t>(number);
  return {object, reinterpret_cast<const ExecutionPlan*>(object.get())};
}
uint64_t NumberOf(const PlanPointer& plan) { return *reinterpret_cast<const uint64_t*>(plan.get()); }

std::shared_ptr<CodeCacheBudget> Budget(size_t entries = kPlenty, size_t bytes = kPlenty) {
  return std::make_shared<CodeCacheBudget>(CodeCacheLimits{entries, bytes});
}

CodeCache::Settings Limited(size_t entries, size_t bytes = kPlenty) {
  CodeCache::Settings settings;
  settings.limits = {entries, bytes};
  return settings;
}

std::shared_ptr<CodeEntry> CallUntilDue(CodeCache& cache, const ArgumentSpec& spec, size_t method = 0) {
  for (int i = 0; i < 1000; ++i) {
    const CodeCache::Found found = cache.Lookup(method, spec);
    if (found.due) return found.entry;
  }
  return nullptr;
}

std::shared_ptr<CodeEntry> InstallPlan(CodeCache& cache, uint64_t number, size_t bytes = 1) {
  std::shared_ptr<CodeEntry> entry = CallUntilDue(cache, Spec(number));
  if (entry == nullptr || !cache.Install(*entry, Plan(number), bytes)) return nullptr;
  return entry;
}

bool Has(const CodeCache& cache, uint64_t number) {
  for (const auto& entry : cache.Entries()) {
    if (entry->spec() == Spec(number)) return true;
  }
  return false;
}

TEST(CodeCacheTest, AnEntryIsDueOnceWhenItHasBeenCalledOftenEnough) {
  CodeCache::Settings settings;
  settings.compile_after = 3;
  CodeCache cache(Budget(), 1, settings);
  EXPECT_FALSE(cache.Lookup(0, Spec(1)).due);
  EXPECT_FALSE(cache.Lookup(0, Spec(1)).due);
  const CodeCache::Found third = cache.Lookup(0, Spec(1));
  EXPECT_TRUE(third.due);
  EXPECT_EQ(third.entry->state(), State::kQueued);
  EXPECT_EQ(third.entry->calls(), 3);
  EXPECT_FALSE(cache.Lookup(0, Spec(1)).due);
}

TEST(CodeCacheTest, AnInstalledPlanIsFoundByItsMethodAndSpecOnly) {
  CodeCache cache(Budget(), 2, {});
  ASSERT_NE(InstallPlan(cache, 1), nullptr);
  EXPECT_EQ(NumberOf(cache.Lookup(0, Spec(1)).plan), 1);
  EXPECT_EQ(cache.Lookup(0, Spec(2)).plan, nullptr);
  EXPECT_EQ(cache.Lookup(1, Spec(1)).plan, nullptr);
  EXPECT_EQ(cache.counters().plans, 1);
}

TEST(CodeCacheTest, CallsAreCountedExactlyAtFirstAndByASampleLater) {
  CodeCache cache(Budget(), 1, {});
  for (uint64_t i = 1; i <= CodeCache::kExactCalls; ++i) {
    const CodeCache::Found found = cache.Lookup(0, Spec(1));
    ASSERT_NE(found.entry, nullptr);
    EXPECT_EQ(found.entry->calls(), i);
  }
  constexpr uint64_t kMore = 100000;
  uint64_t counted = 0;
  for (uint64_t i = 0; i < kMore; ++i) counted += cache.Lookup(0, Spec(1)).entry != nullptr;
  EXPECT_NEAR(static_cast<double>(counted), kMore / CodeCache::kSampleEvery, 0.1 * kMore / CodeCache::kSampleEvery);
  EXPECT_EQ(cache.Entries()[0]->calls(), CodeCache::kExactCalls + counted * CodeCache::kSampleEvery);
}

TEST(CodeCacheTest, WhatFailedIsDueAgainAfterMoreAndMoreCallsAndNotForEver) {
  CodeCache cache(Budget(), 1, {});
  std::vector<uint64_t> due_at;
  while (const auto entry = CallUntilDue(cache, Spec(1))) {
    due_at.push_back(entry->calls());
    cache.Fail(*entry);
    EXPECT_EQ(entry->state(), State::kFailed);
  }
  EXPECT_EQ(due_at, (std::vector<uint64_t>{2, 2 + 8, 2 + 8 + 32}));
}

TEST(CodeCacheTest, PuttingACompilationOffIsNoAttempt) {
  CodeCache cache(Budget(), 1, {});
  for (int i = 0; i < 10; ++i) {
    const auto entry = CallUntilDue(cache, Spec(1));
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->calls(), 2 * (i + 1));
    cache.Postpone(*entry);
    EXPECT_EQ(entry->attempts(), 0);
  }
}

TEST(CodeCacheTest, ADeoptimisedPlanIsNotFoundButLivesWhileItIsHeld) {
  CodeCache cache(Budget(), 1, {});
  const auto entry = InstallPlan(cache, 1);
  PlanPointer held = cache.Lookup(0, Spec(1)).plan;
  EXPECT_FALSE(cache.TryDeoptimise(*entry, *Plan(1)));
  EXPECT_NE(cache.Lookup(0, Spec(1)).plan, nullptr) << "another plan was meant";
  EXPECT_TRUE(cache.TryDeoptimise(*entry, *held));
  EXPECT_EQ(entry->state(), State::kDeoptimised);
  EXPECT_EQ(cache.Lookup(0, Spec(1)).plan, nullptr);
  EXPECT_EQ(NumberOf(held), 1);
  EXPECT_EQ(CallUntilDue(cache, Spec(1)), entry) << "it may be compiled again";
}

TEST(CodeCacheTest, OfAllThatHoldABadPlanOnlyOneDeoptimisesIt) {
  CodeCache cache(Budget(), 1, {});
  const auto entry = InstallPlan(cache, 1);
  const PlanPointer held = cache.Lookup(0, Spec(1)).plan;
  EXPECT_TRUE(cache.TryDeoptimise(*entry, *held));
  EXPECT_FALSE(cache.TryDeoptimise(*entry, *held));
  ASSERT_EQ(CallUntilDue(cache, Spec(1)), entry);
  ASSERT_TRUE(cache.Install(*entry, Plan(2), 1));
  EXPECT_FALSE(cache.TryDeoptimise(*entry, *held));
  EXPECT_EQ(NumberOf(cache.Lookup(0, Spec(1)).plan), 2);
}

TEST(CodeCacheTest, APlanEndsWithItsLastReferenceAfterTheNextInstallation) {
  CodeCache cache(Budget(), 1, {});
  const auto entry = CallUntilDue(cache, Spec(1));
  PlanPointer plan = Plan();
  const std::weak_ptr<const ExecutionPlan> watched = plan;
  ASSERT_TRUE(cache.Install(*entry, plan, 1));
  plan = nullptr;
  PlanPointer held = cache.Lookup(0, Spec(1)).plan;
  ASSERT_TRUE(cache.TryDeoptimise(*entry, *held));
  ASSERT_NE(InstallPlan(cache, 2), nullptr);
  EXPECT_FALSE(watched.expired());
  held = nullptr;
  EXPECT_TRUE(watched.expired());
}

TEST(CodeCacheTest, AHeldPlanOutlivesTheCacheWhoseOtherPlansGoWithIt) {
  std::optional<CodeCache> cache(std::in_place, Budget(), 1, CodeCache::Settings());
  InstallPlan(*cache, 1);
  const auto entry = CallUntilDue(*cache, Spec(2));
  PlanPointer plan = Plan(2);
  const std::weak_ptr<const ExecutionPlan> watched = plan;
  ASSERT_TRUE(cache->Install(*entry, plan, 1));
  plan = nullptr;
  const PlanPointer held = cache->Lookup(0, Spec(1)).plan;
  cache.reset();
  EXPECT_EQ(NumberOf(held), 1);
  EXPECT_FALSE(watched.expired()) << "the entry is held";
}

TEST(CodeCacheTest, ABetterPlanTakesThePlaceOfTheFirst) {
  CodeCache cache(Budget(), 1, {});
  const auto entry = InstallPlan(cache, 1, 1000);
  const size_t before = cache.counters().held.bytes;
  EXPECT_TRUE(cache.Replace(*entry, Plan(7), 400));
  EXPECT_EQ(NumberOf(cache.Lookup(0, Spec(1)).plan), 7);
  EXPECT_EQ(cache.counters().plans, 1);
  EXPECT_EQ(cache.counters().held.bytes, before - 600);
  ASSERT_TRUE(cache.TryDeoptimise(*entry, *cache.Lookup(0, Spec(1)).plan));
  EXPECT_FALSE(cache.Replace(*entry, Plan(8), 1));
}

std::vector<c10::IValue> Vector(int64_t size) { return {at::zeros({size})}; }

TEST(CodeCacheTest, APlanForOneShapeGoesBeforeTheOneForAllAndIsCountedWithIt) {
  CodeCache cache(Budget(), 1, {});
  const ArgumentSpec spec = ArgumentSpec::Of(Vector(2)).value();
  const auto entry = CallUntilDue(cache, spec);
  const size_t empty = cache.counters().held.bytes;
  const auto shape = [](int64_t size) { return ExactShape::Of(Vector(size)).value(); };
  EXPECT_FALSE(cache.InstallExact(*entry, shape(2), Plan(2), 1)) << "there is none for all shapes";
  ASSERT_TRUE(cache.Install(*entry, Plan(100), 1000));
  ASSERT_TRUE(cache.InstallExact(*entry, shape(2), Plan(2), 1000));
  const auto found = [&](int64_t size) { return NumberOf(cache.Lookup(0, spec, Vector(size)).plan); };
  EXPECT_EQ(found(2), 2u);
  EXPECT_EQ(found(3), 100u);
  EXPECT_EQ(cache.counters().plans, 2u);
  EXPECT_GE(cache.counters().held.bytes, empty + 2000);
  ASSERT_TRUE(cache.Replace(*entry, Plan(101), 1000));
  EXPECT_EQ(found(2), 2u);
  EXPECT_EQ(found(3), 101u);
  // The one that has been there for longest makes room.
  constexpr int64_t kLast = 2 + CodeCache::kMaxExact;
  for (int64_t size = 3; size <= kLast; ++size) {
    ASSERT_TRUE(cache.InstallExact(*entry, shape(size), Plan(static_cast<uint64_t>(size)), 1));
  }
  EXPECT_EQ(found(2), 101u);
  EXPECT_EQ(found(kLast), uint64_t{kLast});
  EXPECT_EQ(cache.PlansOf(*entry).size(), 1 + CodeCache::kMaxExact);
  ASSERT_TRUE(cache.TryDeoptimise(*entry, *cache.PlansOf(*entry).back()));
  EXPECT_TRUE(cache.PlansOf(*entry).empty());
  EXPECT_EQ(cache.counters().plans, 0u);
  EXPECT_EQ(cache.counters().held.bytes, empty);
}

TEST(CodeCacheTest, EntriesAreNotCountedAsARequestsMemory) {
  CodeCache cache(Budget(), 1, {});
  MemoryAccount account(int64_t{1} << 30);
  {
    const MemoryAccount::Scope scope(&account);
    for (uint64_t i = 0; i < 1000; ++i) cache.Lookup(0, Spec(i));
  }
  EXPECT_LT(account.held(), 1 << 16);
}

TEST(CodeCacheTest, OfManySpecsTheBoundIsKeptAndWhatIsUsedStays) {
  CodeCache cache(Budget(), 1, Limited(64));
  for (uint64_t i = 0; i < 4; ++i) ASSERT_NE(InstallPlan(cache, i), nullptr);
  for (uint64_t i = 100; i < 10100; ++i) {
    cache.Lookup(0, Spec(i));
    for (uint64_t hot = 0; hot < 4; ++hot) ASSERT_NE(cache.Lookup(0, Spec(hot)).plan, nullptr) << "after " << i;
    ASSERT_LE(cache.Entries().size(), 64);
  }
  const CodeCache::Counters counters = cache.counters();
  EXPECT_EQ(counters.held.entries, cache.Entries().size());
  EXPECT_EQ(counters.evicted, 10004 - counters.held.entries);
  EXPECT_EQ(counters.busy, 0);
  EXPECT_EQ(counters.refused, 0);
}

TEST(CodeCacheTest, WhatIsNotUsedAnyMoreMakesRoom) {
  CodeCache cache(Budget(), 1, Limited(16));
  ASSERT_NE(InstallPlan(cache, 1), nullptr);
  for (uint64_t i = 100; i < 200; ++i) cache.Lookup(0, Spec(i));
  EXPECT_FALSE(Has(cache, 1));
  EXPECT_EQ(cache.counters().plans, 0);
}

TEST(CodeCacheTest, WhatIsBeingCompiledIsNotEvicted) {
  CodeCache cache(Budget(), 1, Limited(4));
  for (uint64_t i = 0; i < 4; ++i) ASSERT_NE(CallUntilDue(cache, Spec(i)), nullptr);
  EXPECT_EQ(cache.Lookup(0, Spec(5)).entry, nullptr);
  EXPECT_EQ(cache.counters().refused, 1);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(Has(cache, i));
}

TEST(CodeCacheTest, PlansAreKeptWithinTheBoundOfBytes) {
  constexpr size_t kBytes = 10 << 20;
  CodeCache cache(Budget(), 1, Limited(kPlenty, kBytes));
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_NE(InstallPlan(cache, i, 1 << 20), nullptr);
    ASSERT_LE(cache.counters().held.bytes, kBytes);
  }
  EXPECT_GE(cache.counters().plans, 8);
  EXPECT_NE(cache.Lookup(0, Spec(49)).plan, nullptr);
  const auto entry = CallUntilDue(cache, Spec(1000));
  const size_t plans = cache.counters().plans;
  EXPECT_FALSE(cache.Install(*entry, Plan(), kBytes + 1));
  EXPECT_EQ(entry->state(), State::kFailed);
  EXPECT_EQ(cache.counters().plans, plans) << "no other had to go for it";
}

TEST(CodeCacheTest, NothingIsInstalledIntoAnEntryThatWasEvicted) {
  CodeCache cache(Budget(), 1, Limited(4));
  const auto entry = CallUntilDue(cache, Spec(1));
  cache.Postpone(*entry);
  for (uint64_t i = 100; i < 200; ++i) cache.Lookup(0, Spec(i));
  ASSERT_FALSE(Has(cache, 1));
  EXPECT_FALSE(cache.Install(*entry, Plan(), 1));
  EXPECT_EQ(cache.counters().plans, 0);
}

TEST(CodeCacheTest, WhereAllCachesTogetherAreFullTheLargestMakesRoom) {
  const auto budget = Budget(100);
  CodeCache large(budget, 1, {});
  CodeCache small(budget, 1, {});
  for (uint64_t i = 0; i < 10; ++i) small.Lookup(0, Spec(i));
  for (uint64_t i = 0; i < 1000; ++i) large.Lookup(0, Spec(i));
  EXPECT_EQ(small.counters().held.entries, 10);
  for (uint64_t i = 10; i < 30; ++i) small.Lookup(0, Spec(i));
  EXPECT_EQ(small.counters().held.entries, 30);
  EXPECT_EQ(small.counters().evicted, 0);
  EXPECT_LE(budget->held().entries, 100);
  EXPECT_EQ(large.counters().held.entries + 30, budget->held().entries);
}

TEST(CodeCacheTest, APlanThatMadeRoomForAnotherCacheIsFreedThoughItsOwnIsNotUsedAnyMore) {
  const auto budget = Budget(kPlenty, 20000);
  CodeCache idle(budget, 1, {});
  CodeCache busy(budget, 1, {});
  std::shared_ptr<CodeEntry> entry = CallUntilDue(idle, Spec(1));
  PlanPointer plan = Plan(1);
  const std::weak_ptr<const ExecutionPlan> watched = plan;
  ASSERT_TRUE(idle.Install(*entry, plan, 10000));
  plan = nullptr;
  ASSERT_NE(InstallPlan(busy, 2, 10000), nullptr);
  EXPECT_FALSE(Has(idle, 1));
  EXPECT_TRUE(watched.expired());
}

TEST(CodeCacheTest, ACacheThatEndsGivesItsShareBack) {
  const auto budget = Budget();
  {
    CodeCache cache(budget, 3, {});
    InstallPlan(cache, 1, 1000);
    EXPECT_GT(budget->held().bytes, 1000);
  }
  EXPECT_EQ(budget->held().entries, 0);
  EXPECT_EQ(budget->held().bytes, 0);
}

TEST(CodeCacheTest, RandomOperationsAgreeWithAMapAsLongAsNothingIsEvicted) {
  std::mt19937 random(11);
  CodeCache::Settings settings = Limited(kPlenty);
  settings.max_attempts = 1000000;
  CodeCache cache(Budget(), 4, settings);
  std::map<std::pair<size_t, uint64_t>, uint64_t> plans;
  for (uint64_t step = 0; step < 30000; ++step) {
    const size_t method = random() % 4;
    const uint64_t number = random() % 300;
    const CodeCache::Found found = cache.Lookup(method, Spec(number));
    const auto expected = plans.find({method, number});
    ASSERT_EQ(found.plan != nullptr, expected != plans.end());
    if (found.plan != nullptr) {
      ASSERT_EQ(NumberOf(found.plan), expected->second);
    }
    if (found.due) {
      ASSERT_TRUE(cache.Install(*found.entry, Plan(step), 1));
      plans[{method, number}] = step;
    } else if (found.plan != nullptr && found.entry != nullptr && random() % 4 == 0) {
      ASSERT_TRUE(cache.TryDeoptimise(*found.entry, *found.plan));
      plans.erase(expected);
    }
  }
  EXPECT_EQ(cache.counters().plans, plans.size());
}

// Threads look up more specs than there is room for, and install, replace and take back plans. Every plan that is found
// is alive and its spec's.
TEST(CodeCacheTest, ThreadsFindOnlyPlansOfTheirOwnSpecWhileOthersEvictThem) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 8000;
  const auto budget = Budget(40);
  CodeCache::Settings settings = Limited(32);
  settings.max_attempts = 1000000;
  CodeCache cache(budget, 2, settings);
  CodeCache other(budget, 1, settings);
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> wrong{0};
  std::latch begin(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        begin.arrive_and_wait();
        for (int i = 0; i < kSteps; ++i) {
          // Half of the calls go to a quarter of the specs.
          const uint64_t number = random() % (random() % 2 == 0 ? 12 : 48);
          const size_t method = number % 2;
          const CodeCache::Found found = cache.Lookup(method, Spec(number));
          if (found.plan != nullptr) {
            ++hits;
            if (NumberOf(found.plan) != number) ++wrong;
          }
          if (found.due) {
            cache.Install(*found.entry, Plan(number), 1);
          } else if (found.plan != nullptr && found.entry != nullptr && random() % 16 == 0) {
            cache.TryDeoptimise(*found.entry, *found.plan);
          } else if (found.plan != nullptr && found.entry != nullptr && random() % 16 == 0) {
            cache.Replace(*found.entry, Plan(number), 2);
          }
          if (i % 64 == 0) other.Lookup(0, Spec(random() % 64));
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
  EXPECT_GT(cache.counters().evicted, 0);
  EXPECT_LE(budget->held().entries, 40);
  EXPECT_EQ(cache.counters().held.entries + other.counters().held.entries, budget->held().entries);
}

TEST(CodeCacheTest, OfThreadsThatCallTheSameSpecOneCompilesIt) {
  for (int round = 0; round < 200; ++round) {
    CodeCache cache(Budget(), 1, {});
    constexpr int kThreads = 3;
    std::atomic<int> due{0};
    std::latch begin(kThreads);
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
          begin.arrive_and_wait();
          for (int i = 0; i < 4; ++i) due += cache.Lookup(0, Spec(1)).due;
        });
      }
    }
    while (cache.Entries().empty() || cache.Entries()[0]->calls() < 2) due += cache.Lookup(0, Spec(1)).due;
    ASSERT_EQ(due, 1);
  }
}

}  // namespace
}  // namespace hearth
