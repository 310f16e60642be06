#include "server/repository/call_profiler.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

std::shared_ptr<CallReport> WithEvents(std::shared_ptr<CallReport> report, size_t events) {
  report->runs.emplace_back().events.resize(events);
  return report;
}

TEST(CallProfiler, TheNextCallsAreProfiledAndThenItIsDone) {
  CallProfiler profiler;
  EXPECT_EQ(profiler.Take(), nullptr);
  int done = 0;
  ASSERT_TRUE(profiler.Begin(2, [&] { ++done; }).ok());
  EXPECT_TRUE(absl::IsUnavailable(profiler.Begin(1, [] {})));
  const auto first = profiler.Take(), second = profiler.Take();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->most_events, CallProfiler::kMostEventsOfCall);
  EXPECT_EQ(profiler.Take(), nullptr);
  profiler.Add({second, {}, {}});
  EXPECT_EQ(done, 0);
  profiler.Add({first, {}, {}});
  EXPECT_EQ(done, 1);
  EXPECT_EQ(profiler.End().size(), 2);
  EXPECT_TRUE(profiler.Begin(1, [] {}).ok());
}

TEST(CallProfiler, ACallThatOutlivesItsProfileIsInNoOther) {
  CallProfiler profiler;
  ASSERT_TRUE(profiler.Begin(1, [] {}).ok());
  const auto late = profiler.Take();
  EXPECT_TRUE(profiler.End().empty());
  ASSERT_TRUE(profiler.Begin(1, [] { ADD_FAILURE(); }).ok());
  profiler.Add({late, {}, {}});
  EXPECT_TRUE(profiler.End().empty());
}

TEST(CallProfiler, EventsAreBounded) {
  CallProfiler profiler;
  ASSERT_TRUE(profiler.Begin(CallProfiler::kMostCalls, [] {}).ok());
  size_t events = 0;
  for (size_t i = 0; i < CallProfiler::kMostCalls; ++i) {
    const auto report = profiler.Take();
    events += report->most_events;
    profiler.Add({WithEvents(report, report->most_events), {}, {}});
  }
  EXPECT_EQ(events, CallProfiler::kMostEvents);
}

}  // namespace
}  // namespace hearth::server
