#include "jit/support/background_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "jit/support/parallel_for.h"

namespace hearth {
namespace {

int Nice() { return getpriority(PRIO_PROCESS, 0); }

TEST(BackgroundThreadTest, APriorityIsOfItsThreadAndOfThoseThatItStarts) {
  const int usual = Nice();
  std::thread([&] {
    EXPECT_FALSE(IsInBackground());
    TakeLowPriority();
    EXPECT_TRUE(IsInBackground());
    EXPECT_EQ(Nice(), std::min(usual + 5, 19));
    std::thread([&] { EXPECT_EQ(Nice(), std::min(usual + 5, 19)); }).join();
    TakeLeastPriority();
    EXPECT_EQ(Nice(), 19);
  }).join();
  EXPECT_EQ(Nice(), usual);
  EXPECT_FALSE(IsInBackground());
}

TEST(BackgroundThreadTest, WorkInTheBackgroundIsNotShared) {
  constexpr double kLong = 1e9;
  std::thread([] {
    TakeLowPriority();
    EXPECT_EQ(ThreadsFor(kLong), 1);
    ParallelFor(1000, kLong, [caller = std::this_thread::get_id()](int64_t, int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
    });
  }).join();
}

}  // namespace
}  // namespace hearth
