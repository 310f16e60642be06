#include "server/telemetry/trace_context.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>

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

constexpr size_t kMostKeyBytes = 256;
constexpr size_t kMostValueBytes = 256;

bool IsKeyStart(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsKey(std::string_view key) {
  const auto fits = [](char c) { return IsKeyStart(c) || std::string_view("_-*/@").find(c) != std::string_view::npos; };
  return !key.empty() && key.size() <= kMostKeyBytes && IsKeyStart(key[0]) && std::ranges::all_of(key, fits);
}

// Spaces and tabs may stand around members.
std::string_view WithoutBlanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Of one that has no comma and no space at its end.
bool IsValue(std::string_view value) {
  const auto fits = [](char c) { return c >= ' ' && c <= '~' && c != '='; };
  return !value.empty() && value.size() <= kMostValueBytes && std::ranges::all_of(value, fits);
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

bool IsTraceState(std::string_view header) {
  if (header.size() > kMostTraceStateBytes) return false;
  std::set<std::string_view> keys;
  while (!header.empty()) {
    const size_t comma = std::min(header.find(','), header.size());
    const std::string_view member = WithoutBlanks(header.substr(0, comma));
    header.remove_prefix(std::min(comma + 1, header.size()));
    // The recommendation allows empty ones.
    if (member.empty()) continue;
    const size_t mark = member.find('=');
    if (mark == std::string_view::npos) return false;
    const std::string_view key = member.substr(0, mark);
    if (!IsKey(key) || !IsValue(member.substr(mark + 1)) || !keys.insert(key).second) return false;
  }
  return !keys.empty() && keys.size() <= kMostTraceStateMembers;
}

std::optional<TraceContext> ParseTraceContext(std::string_view traceparent, std::string_view tracestate) {
  auto context = ParseTraceparent(traceparent);
  if (context && IsTraceState(tracestate)) context->state = tracestate;
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
