#include "server/telemetry/trace_context.h"

#include <algorithm>
#include <cstddef>
#include <random>

#include "absl/strings/escaping.h"

namespace hearth::server {
namespace {

constexpr size_t kLength = 55;  // of version 00

// Digits and letters in lower case alone.
template <size_t kBytes>
bool ReadHex(std::string_view text, std::array<uint8_t, kBytes>& bytes) {
  const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() != 2 * kBytes || !std::ranges::all_of(text, is_digit)) return false;
  for (size_t i = 0; i < kBytes; ++i) {
    bytes[i] = static_cast<uint8_t>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
  }
  return true;
}

template <size_t kBytes>
bool IsZero(const std::array<uint8_t, kBytes>& bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

template <size_t kBytes>
void FillAtRandom(std::array<uint8_t, kBytes>& bytes) {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  do {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(generator() >> 56);
  } while (IsZero(bytes));
}

}  // namespace

std::string TraceContext::trace_id_text() const {
  return absl::BytesToHexString({reinterpret_cast<const char*>(trace_id.data()), trace_id.size()});
}

std::optional<TraceContext> ParseTraceparent(std::string_view header) {
  if (header.size() < kLength || header[2] != '-' || header[35] != '-' || header[52] != '-') return std::nullopt;
  std::array<uint8_t, 1> version{}, flags{};
  TraceContext context;
  const bool reads = ReadHex(header.substr(0, 2), version) && ReadHex(header.substr(3, 32), context.trace_id) &&
                     ReadHex(header.substr(36, 16), context.span_id) && ReadHex(header.substr(53, 2), flags);
  if (!reads || version[0] == 0xff || IsZero(context.trace_id) || IsZero(context.span_id)) return std::nullopt;
  // Later versions may go on behind this.
  if (header.size() > kLength && (version[0] == 0 || header[kLength] != '-')) return std::nullopt;
  context.sampled = (flags[0] & 1) != 0;
  return context;
}

TraceContext NewTrace() {
  TraceContext context{.sampled = true};
  FillAtRandom(context.trace_id);
  return context;
}

std::array<uint8_t, 8> NewSpanId() {
  std::array<uint8_t, 8> id{};
  FillAtRandom(id);
  return id;
}

}  // namespace hearth::server
