// Which trace a request belongs to, as clients say it: the header traceparent of W3C's Trace Context.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::server {

struct TraceContext {
  std::array<uint8_t, 16> trace_id{};
  std::array<uint8_t, 8> span_id{};  // of the caller; zeros: nobody called
  bool sampled = false;              // the trace is recorded

  // "4bf92f3577b34da6a3ce929d0e0e4736"
  std::string trace_id_text() const;
};

// Of "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". Nothing for what the recommendation has callees ignore.
std::optional<TraceContext> ParseTraceparent(std::string_view header);

// A trace of its own, that is recorded.
TraceContext NewTrace();

// An identifier for a span.
std::array<uint8_t, 8> NewSpanId();

}  // namespace hearth::server
