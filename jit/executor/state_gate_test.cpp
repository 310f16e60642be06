#include "jit/executor/state_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace hearth {
namespace {

TEST(StateGateTest, ReadersShareAndAWriterWaitsForThemAll) {
  StateGate gate;
  std::string order;
  gate.Enter(StateAccess::kShared, [&] { order += "a"; });
  gate.Enter(StateAccess::kShared, [&] { order += "b"; });
  gate.Enter(StateAccess::kExclusive, [&] { order += "W"; });
  EXPECT_EQ(order, "ab");
  gate.Leave(StateAccess::kShared);
  EXPECT_EQ(order, "ab");
  gate.Leave(StateAccess::kShared);
  EXPECT_EQ(order, "abW");
}

TEST(StateGateTest, AReaderThatComesAfterAWaitingWriterWaitsBehindIt) {
  StateGate gate;
  std::string order;
  gate.Enter(StateAccess::kShared, [&] { order += "a"; });
  gate.Enter(StateAccess::kExclusive, [&] { order += "W"; });
  gate.Enter(StateAccess::kShared, [&] { order += "b"; });
  gate.Enter(StateAccess::kShared, [&] { order += "c"; });
  EXPECT_EQ(order, "a");
  gate.Leave(StateAccess::kShared);
  EXPECT_EQ(order, "aW");
  gate.Leave(StateAccess::kExclusive);
  EXPECT_EQ(order, "aWbc");
}

TEST(StateGateTest, NoWriterEverRunsBesideAnother) {
  StateGate gate;
  std::atomic<int> inside{0};
  std::atomic<int> done{0};
  int unguarded = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        gate.Enter(StateAccess::kExclusive, [&] {
          EXPECT_EQ(inside.fetch_add(1), 0);
          ++unguarded;
          inside.fetch_sub(1);
          ++done;
          gate.Leave(StateAccess::kExclusive);
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 4000);
  EXPECT_EQ(unguarded, 4000);
}

}  // namespace
}  // namespace hearth
