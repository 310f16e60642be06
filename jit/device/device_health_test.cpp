#include "jit/device/device_health.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace hearth {
namespace {

using Finding = DeviceHealth::Finding;

const c10::Device kGpu(c10::kCUDA, 1);

TEST(DeviceHealthTest, AnErrorThatDoesNotStayIsNoFailure) {
  int probes = 0;
  DeviceHealth health(
      kGpu,
      [&] {
        ++probes;
        return std::string();
      },
      [](const std::string&) { FAIL() << "nothing failed"; });
  EXPECT_EQ(health.Examine("index failed"), Finding::kSound);
  EXPECT_EQ(health.Examine("index failed"), Finding::kSound);
  EXPECT_EQ(probes, 2);
  EXPECT_FALSE(health.failed());
}

TEST(DeviceHealthTest, AFailureIsToldOnceAndStays) {
  std::string error = "device-side assert triggered";
  std::vector<std::string> told;
  DeviceHealth health(
      kGpu, [&] { return error; }, [&](const std::string& what) { told.push_back(what); });
  EXPECT_FALSE(health.failed());
  EXPECT_EQ(health.Examine("index failed"), Finding::kFailsNow);
  error.clear();
  EXPECT_EQ(health.Examine("index failed"), Finding::kFailedBefore);
  EXPECT_TRUE(health.failed());
  EXPECT_EQ(told,
            std::vector<std::string>{"cuda:1 has failed and cannot be used until the process is started anew: "
                                     "device-side assert triggered\nseen first by what ended with: index failed"});
  EXPECT_EQ(health.what(),
            "cuda:1 has failed and cannot be used until the process is started anew: device-side assert triggered");
}

TEST(DeviceHealthTest, OfManyThatFindItOneIsTheFirst) {
  std::atomic<int> told{0};
  std::atomic<int> first{0};
  std::atomic<int> asking{0};
  constexpr int kThreads = 8;
  // All of them ask before any of them is answered.
  const auto probe = [&] {
    ++asking;
    while (asking < kThreads) std::this_thread::yield();
    return std::string("an illegal memory access was encountered");
  };
  DeviceHealth health(kGpu, probe, [&](const std::string&) { ++told; });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { first += health.Examine("index failed") == Finding::kFailsNow; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(first, 1);
}

}  // namespace
}  // namespace hearth
