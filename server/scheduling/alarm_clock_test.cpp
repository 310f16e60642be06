#include "server/scheduling/alarm_clock.h"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <string>

namespace hearth::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(AlarmClock, AlarmsAreCalledInTheOrderOfTheirTimesAndNotBeforeThem) {
  AlarmClock clock;
  std::string called;
  std::promise<steady_clock::time_point> last;
  const auto start = steady_clock::now();
  clock.CallAt(start + milliseconds(40), [&] {
    called += 'c';
    last.set_value(steady_clock::now());
  });
  clock.CallAt(start + milliseconds(20), [&] { called += 'b'; });
  clock.CallAt(start - milliseconds(1), [&] { called += 'a'; });
  EXPECT_GE(last.get_future().get(), start + milliseconds(40));
  EXPECT_EQ(called, "abc");
}

TEST(AlarmClock, AnAlarmMaySetAnother) {
  AlarmClock clock;
  std::promise<void> called;
  clock.CallAt(steady_clock::now(), [&] { clock.CallAt(steady_clock::now(), [&] { called.set_value(); }); });
  called.get_future().get();
}

TEST(AlarmClock, WhatIsStillToComeIsForgottenWithTheClock) {
  bool called = false;
  {
    AlarmClock clock;
    clock.CallAt(steady_clock::now() + std::chrono::hours(1), [&] { called = true; });
  }
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace hearth::server
