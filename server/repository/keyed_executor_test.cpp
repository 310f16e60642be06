#include "server/repository/keyed_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace hearth::server {
namespace {

using ::testing::ElementsAre;

TEST(KeyedExecutor, JobsOfOneKeyRunInOrderAndNeverTogether) {
  std::vector<int> order;  // unguarded on purpose: the executor's promise is what makes this sound
  {
    KeyedExecutor executor(4);
    for (int i = 0; i < 100; ++i) executor.Post("a", [&order, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(KeyedExecutor, JobsOfDifferentKeysRunSideBySide) {
  std::promise<void> first_runs, second_ran;
  KeyedExecutor executor(2);
  executor.Post("a", [&] {
    first_runs.set_value();
    second_ran.get_future().wait();
  });
  first_runs.get_future().wait();
  executor.Post("b", [&] { second_ran.set_value(); });
}

TEST(KeyedExecutor, JobsThatAreToBeFirstComeBeforeThoseThatWait) {
  std::vector<int> order;
  {
    KeyedExecutor executor(1);
    executor.Post("a", [&] {
      executor.Post("a", [&] { order.push_back(3); });
      executor.PostFirst("a", {[&] { order.push_back(1); }, [&] { order.push_back(2); }});
    });
    executor.PostFirst("b", {[] {}});
  }
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(KeyedExecutor, AJobMayPostAnotherOfItsOwnKey) {
  std::vector<int> order;
  {
    KeyedExecutor executor(1);
    std::promise<void> done;
    executor.Post("a", [&] {
      order.push_back(1);
      executor.Post("a", [&] {
        order.push_back(2);
        done.set_value();
      });
    });
    done.get_future().wait();
  }
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(KeyedExecutor, NoMoreJobsWaitThanMay) {
  std::promise<void> runs, go_on;
  int ran = 0;
  {
    KeyedExecutor executor(1, {.of_key = 2, .all = 3});
    executor.Post("a", [&] {
      runs.set_value();
      go_on.get_future().wait();
    });
    runs.get_future().wait();
    const auto count = [&ran] { ++ran; };
    EXPECT_TRUE(executor.TryPost("a", count));
    EXPECT_TRUE(executor.TryPost("a", count));
    EXPECT_FALSE(executor.TryPost("a", count));
    EXPECT_TRUE(executor.TryPost("b", count));
    EXPECT_FALSE(executor.TryPost("c", count));
    executor.Post("a", count);
    go_on.set_value();
    // What has run waits no more.
    std::promise<void> idle;
    executor.Post("d", [&] { idle.set_value(); });
    idle.get_future().wait();
    while (!executor.TryPost("c", count)) std::this_thread::yield();
  }
  EXPECT_EQ(ran, 5);
}

}  // namespace
}  // namespace hearth::server
