// What a client sends on a connection of HTTP/2, after its preface: the first byte says how it is cut, and what is said
// of it must not depend on that.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/security/http2_frame_guard.h"

namespace {

using hearth::server::Http2FrameGuard;

Http2FrameGuard::Violation ReadInParts(std::string_view bytes, size_t part) {
  const Http2FrameGuard::TimePoint now{};
  hearth::server::SharedBucket address_resets({6, 1, 6}, now);
  Http2FrameGuard guard({.control_frames = {8, 1, 8}, .resets = {4, 1, 4}}, &address_resets, now);
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, part);
    const auto violation = guard.Read(next, now, [] { return uint64_t{0}; });
    if (violation != guard.violation()) std::abort();
    bytes.remove_prefix(next.size());
  }
  return guard.violation();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t part = std::max<size_t>(data[0], 1);
  std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  bytes.append(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (ReadInParts(bytes, part) != ReadInParts(bytes, bytes.size())) std::abort();
  return 0;
}
