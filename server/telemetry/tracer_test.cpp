#include "server/telemetry/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/telemetry/trace_exporter.h"

namespace hearth::server {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTraceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const std::optional<TraceContext> kRecorded = ParseTraceparent(kTraceparent);
const std::optional<TraceContext> kNotRecorded =
    ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");

// Nobody listens there.
std::unique_ptr<Tracer> MakeTracer(int64_t rate) {
  auto tracer = Tracer::Create({.endpoint = "127.0.0.1:1", .rate = rate, .service_name = "test"});
  EXPECT_TRUE(tracer.ok()) << tracer.status();
  return *std::move(tracer);
}

int BegunOf(Tracer& tracer, int requests) {
  int begun = 0;
  for (int i = 0; i < requests; ++i) begun += tracer.Begin(std::nullopt).has_value() ? 1 : 0;
  return begun;
}

TEST(Tracer, OneInSoManyBeginsATraceAndCallersDecideForTheirs) {
  const auto tracer = MakeTracer(10);
  EXPECT_EQ(BegunOf(*tracer, 100), 10);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(tracer->Begin(kRecorded)->trace_id, kRecorded->trace_id);
    EXPECT_FALSE(tracer->Begin(kNotRecorded).has_value());
  }
  const auto none = MakeTracer(0);
  EXPECT_EQ(BegunOf(*none, 100), 0);
  EXPECT_TRUE(none->Begin(kRecorded).has_value());
}

TEST(Tracer, SettingsChangeWhatIsTraced) {
  const auto tracer = MakeTracer(1);
  tracer->set_settings({.on = true, .rate = 1, .count = 3});
  EXPECT_EQ(BegunOf(*tracer, 10), 3);
  EXPECT_FALSE(tracer->Begin(kRecorded).has_value());
  EXPECT_EQ(tracer->settings().count, 0);
  tracer->set_settings({.on = false, .rate = 1, .count = -1});
  EXPECT_FALSE(tracer->Begin(kRecorded).has_value());
}

TEST(Tracer, WhatDoesNotFitTheQueueIsDroppedAndCounted) {
  const auto tracer = MakeTracer(1);
  for (size_t i = 0; i < 4 * Tracer::kMostWaiting; ++i) tracer->End(RequestTrace());
  const TraceCounts counts = tracer->counts();
  EXPECT_GT(counts.dropped, 0);
  EXPECT_EQ(counts.exported, 0);
}

TEST(Tracer, EndpointsAreChecked) {
  for (const char* wrong :
       {"", "host", "host:", "host:0", "host:70000", ":4317", "http://host:4317/v1/traces", "ftp://h:1"}) {
    const auto tracer = Tracer::Create({.endpoint = wrong, .rate = 1, .service_name = ""});
    EXPECT_THAT(tracer.status().message(), HasSubstr("expected HOST:PORT")) << wrong;
  }
  EXPECT_TRUE(TraceExporter::Create("https://collector:4317", "").ok());
  EXPECT_TRUE(TraceExporter::Create("http://[::1]:4317/", "").ok());
}

TEST(TraceExporter, ARequestIsASpanWithItsPartsBelow) {
  const auto exporter = TraceExporter::Create("localhost:4317", "hearth-01");
  RequestTrace trace;
  trace.context = *ParseTraceContext(kTraceparent, "vendor=1,other=2");
  trace.operation = "service/Method";
  trace.end = std::chrono::system_clock::time_point(std::chrono::seconds(100));
  trace.times = {.total = milliseconds(10),
                 .queue = milliseconds(2),
                 .compute_input = milliseconds(1),
                 .compute_infer = milliseconds(4),
                 .compute_output = milliseconds(3)};
  trace.began = true;
  trace.tier = 2;
  const auto message = (*exporter)->MessageOf({trace});
  const auto& spans = message.resource_spans(0).scope_spans(0).spans();
  std::vector<std::string> names;
  for (const auto& span : spans) names.push_back(span.name());
  EXPECT_THAT(names, ElementsAre("service/Method", "read", "queue", "execute", "write"));
  EXPECT_EQ(spans[0].parent_span_id(), std::string(kRecorded->span_id.begin(), kRecorded->span_id.end()));
  EXPECT_EQ(spans[0].start_time_unix_nano(), 99'990'000'000);
  for (const auto& span : spans) EXPECT_EQ(span.trace_state(), "vendor=1,other=2");
  for (int i = 1; i < 5; ++i) EXPECT_EQ(spans[i].parent_span_id(), spans[0].span_id());
  EXPECT_EQ(spans[3].start_time_unix_nano(), 99'993'000'000);
  EXPECT_EQ(spans[3].end_time_unix_nano(), 99'997'000'000);
  EXPECT_EQ(spans[3].attributes(0).key(), "hearth.tier");
  EXPECT_EQ(spans[3].attributes(0).value().int_value(), 2);
  EXPECT_EQ(spans[4].end_time_unix_nano(), spans[0].end_time_unix_nano());

  trace.began = false;
  trace.status = absl::ResourceExhaustedError("full");
  const auto refused = (*exporter)->MessageOf({trace});
  EXPECT_EQ(refused.resource_spans(0).scope_spans(0).spans_size(), 2);
  EXPECT_EQ(refused.resource_spans(0).scope_spans(0).spans(0).status().message(), "full");
}

}  // namespace
}  // namespace hearth::server
