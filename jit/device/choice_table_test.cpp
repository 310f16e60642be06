#include "jit/device/choice_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace hearth {
namespace {

// All numbers that are the same modulo 4 meet in the same places.
uint64_t HashOfFew(const int64_t& key) { return static_cast<uint64_t>(key % 4); }
uint64_t HashOfAll(const int64_t& key) { return static_cast<uint64_t>(key); }

TEST(ChoiceTableTest, FindsWhatWasAddedAlsoWhereHashesMeet) {
  ChoiceTable<int64_t, int64_t, HashOfFew> table;
  EXPECT_EQ(table.Find(0), nullptr);
  for (int64_t key = 0; key < 8; ++key) EXPECT_TRUE(table.Add(key, 10 * key));
  for (int64_t key = 0; key < 8; ++key) {
    ASSERT_NE(table.Find(key), nullptr) << key;
    EXPECT_EQ(*table.Find(key), 10 * key);
  }
  EXPECT_EQ(table.Find(8), nullptr);
}

TEST(ChoiceTableTest, TheFirstChoiceStays) {
  ChoiceTable<int64_t, int64_t, HashOfAll> table;
  table.Add(1, 10);
  const int64_t* const found = table.Find(1);
  EXPECT_FALSE(table.Add(1, 20));
  EXPECT_EQ(*table.Find(1), 10);
  EXPECT_EQ(table.Find(1), found);
}

TEST(ChoiceTableTest, WhatFindsNoRoomIsNotKept) {
  ChoiceTable<int64_t, int64_t, HashOfFew> table;
  int64_t added = 0, kept = 0;
  for (int64_t key = 0; key < 1000; ++key) added += table.Add(key, key) ? 1 : 0;
  for (int64_t key = 0; key < 1000; ++key) {
    const int64_t* const found = table.Find(key);
    kept += found != nullptr ? 1 : 0;
    if (found != nullptr) EXPECT_EQ(*found, key);
  }
  EXPECT_EQ(kept, added);
  EXPECT_GT(kept, 8);
  EXPECT_LT(kept, 1000);
}

TEST(ChoiceTableTest, ManyThreadsAgree) {
  constexpr int64_t kKeys = 500;
  ChoiceTable<int64_t, int64_t, HashOfAll> table;
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int64_t key = 0; key < kKeys; ++key) {
        table.Add(key, 3 * key);
        const int64_t* const found = table.Find(key);
        if (found == nullptr || *found != 3 * key) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace hearth
