// Which trace a request belongs to, as clients say it: the headers traceparent and tracestate of W3C's Trace Context.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::server {

struct TraceContext {
  std::array<uint8_t, 16> trace_id{};
  std::array<uint8_t, 8> span_id{};  // of the caller; zeros: nobody called
  bool sampled = false;              // the trace is recorded
  std::string state = {};            // what other tracers keep with the trace, as the caller sent it

  // "4bf92f3577b34da6a3ce929d0e0e4736"
  std::string trace_id_text() const;
};

// Of "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". Nothing for what the recommendation has callees ignore.
std::optional<TraceContext> ParseTraceparent(std::string_view header);

inline constexpr size_t kMostTraceStateMembers = 32;     // the recommendation's
inline constexpr size_t kMostTraceStateBytes = 8 << 10;  // which wait with the request's spans

// Whether it is a tracestate, "vendor=value,other@system=value": keys and values are made as the recommendation says,
// no key is there twice, and the bounds above hold.
bool IsTraceState(std::string_view header);

// Of both headers. What is no tracestate is left out, as is one of a request without a traceparent.
std::optional<TraceContext> ParseTraceContext(std::string_view traceparent, std::string_view tracestate);

// A trace of its own, that is recorded.
TraceContext NewTrace();

// An identifier for a span.
std::array<uint8_t, 8> NewSpanId();

}  // namespace hearth::server
