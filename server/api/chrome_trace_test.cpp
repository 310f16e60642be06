#include "server/api/chrome_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hearth::server {
namespace {

using std::chrono::microseconds;

TEST(ChromeTrace, CallsHaveTheirOperatorsWithinThem) {
  const auto report = std::make_shared<CallReport>();
  const auto start = std::chrono::steady_clock::now();
  CallReport::Run& run = report->runs.emplace_back();
  run.method = "M.forward";
  run.tier = 2;
  run.events = {{"aten::linear", "model.py:3", start + microseconds(10), microseconds(5), 7}};
  const ChromeTrace trace = WriteChromeTrace("m \xff", {{report, start, start + microseconds(20)}});
  EXPECT_EQ(trace.operators, 1);
  const auto events = nlohmann::json::parse(trace.json)["traceEvents"];
  ASSERT_EQ(events.size(), 4);
  EXPECT_EQ(events[0]["args"]["name"], "m \xef\xbf\xbd");
  EXPECT_EQ(events[1]["name"], "M.forward");
  EXPECT_EQ(events[1]["ts"], 0);
  EXPECT_EQ(events[1]["dur"], 20);
  EXPECT_EQ(events[1]["args"]["tier"], 2);
  EXPECT_EQ(events[2]["name"], "aten::linear");
  EXPECT_EQ(events[2]["ts"], 10);
  EXPECT_EQ(events[2]["tid"], 7);
  EXPECT_EQ(events[2]["args"]["where"], "model.py:3");
  EXPECT_EQ(events[3]["args"]["name"], "thread 7");
}

TEST(ChromeTrace, NoCallsAreATraceToo) {
  EXPECT_EQ(nlohmann::json::parse(WriteChromeTrace("m", {}).json)["traceEvents"].size(), 1);
}

}  // namespace
}  // namespace hearth::server
