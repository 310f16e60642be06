// What a client sends on a connection of HTTP/2, after its preface, or as the begin of one with TLS: the first byte
// says how it is cut, and what is said of it must not depend on that.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "server/security/client_hellos.h"
#include "server/security/http2_frame_guard.h"

namespace {

using hearth::server::Http2FrameGuard;

Http2FrameGuard::Violation ReadInParts(std::string_view bytes, size_t part) {
  const Http2FrameGuard::TimePoint now{};
  hearth::server::AddressBudget address({.control_frames = {12, 1, 12}, .resets = {6, 1, 6}}, now);
  Http2FrameGuard guard({.control_frames = {8, 1, 8}, .resets = {4, 1, 4}}, &address, now);
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, part);
    const auto violation = guard.Read(next, now, [] { return uint64_t{0}; });
    if (violation != guard.violation()) std::abort();
    bytes.remove_prefix(next.size());
  }
  return guard.violation();
}

std::optional<hearth::server::ClientRandom> RandomOfHello(std::string_view bytes, size_t part) {
  hearth::server::ClientHelloReader reader;
  std::optional<hearth::server::ClientRandom> random;
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, part);
    if (const auto read = reader.Read(next)) {
      if (random.has_value()) std::abort();
      random = read;
    }
    bytes.remove_prefix(next.size());
  }
  return random;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t part = std::max<size_t>(data[0], 1);
  std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const std::string_view sent(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (RandomOfHello(sent, part) != RandomOfHello(sent, size)) std::abort();
  bytes.append(sent);
  if (ReadInParts(bytes, part) != ReadInParts(bytes, bytes.size())) std::abort();
  return 0;
}
