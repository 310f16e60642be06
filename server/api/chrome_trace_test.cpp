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

TEST(ChromeTrace, WhatAGpuDidHasATrackOfItsOwn) {
  const auto report = std::make_shared<CallReport>();
  const auto start = std::chrono::steady_clock::now();
  report->runs.emplace_back().events = {{"aten::linear", "model.py:3", start + microseconds(1), microseconds(2), 7,
                                         start + microseconds(5), microseconds(30)},
                                        {"aten::size", "model.py:4", start + microseconds(3), microseconds(1), 7}};
  const ChromeTrace trace = WriteChromeTrace("m", {{report, start, start + microseconds(40)}});
  EXPECT_EQ(trace.operators, 2);
  std::vector<nlohmann::json> on_device, tracks;
  const auto parsed = nlohmann::json::parse(trace.json);
  for (const auto& event : parsed["traceEvents"]) {
    if (event.value("cat", "") == "GPU") on_device.push_back(event);
    if (event["name"] == "thread_name") tracks.push_back(event);
  }
  ASSERT_EQ(on_device.size(), 1);
  EXPECT_EQ(on_device[0]["name"], "aten::linear");
  EXPECT_EQ(on_device[0]["ts"], 5);
  EXPECT_EQ(on_device[0]["dur"], 30);
  ASSERT_EQ(tracks.size(), 2);
  EXPECT_EQ(tracks[1]["args"]["name"], "GPU, asked by thread 7");
  EXPECT_EQ(tracks[1]["tid"], on_device[0]["tid"]);
  EXPECT_NE(tracks[1]["tid"], tracks[0]["tid"]);
}

TEST(ChromeTrace, NoCallsAreATraceToo) {
  EXPECT_EQ(nlohmann::json::parse(WriteChromeTrace("m", {}).json)["traceEvents"].size(), 1);
}

}  // namespace
}  // namespace hearth::server
