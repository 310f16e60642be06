// Reads what a client sends on a connection of HTTP/2 (RFC 9113) as far as its frames' headers, and says when it sends
// what costs the server much and the client nothing: a header block without end, frames without content, calls that are
// cancelled as fast as they are made. Contents of frames are skipped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "server/security/address_budgets.h"
#include "server/security/token_bucket.h"

namespace hearth::server {

// What one connection may send. Clients of gRPC stay far below: see docs/limits.md.
struct Http2Budget {
  // Frames that bring no content: all but DATA, the first HEADERS of a call, and RST_STREAM.
  TokenRate control_frames;
  // RST_STREAM.
  TokenRate resets;
  // RST_STREAM of all connections of one address.
  TokenRate address_resets;
};

// For one thread at a time.
class Http2FrameGuard {
 public:
  using TimePoint = TokenBucket::TimePoint;

  enum class Violation { kNone, kPreface, kHeaderBlock, kControlFrames, kResets, kAddressResets };

  // `address_resets` outlives this; null where the address is not known.
  Http2FrameGuard(const Http2Budget& budget, SharedBucket* address_resets, TimePoint now);

  // Takes the next bytes of the client. What is not kNone stays: the connection is to end. `bytes_sent()` is how much
  // the server has sent on the connection: a client that reads much may send a window update for each part.
  Violation Read(std::string_view bytes, TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent);

  Violation violation() const { return violation_; }

 private:
  static constexpr size_t kFrameHeaderSize = 9;

  Violation OnFrame(TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent);
  Violation OnHeaderBlock(size_t length);
  Violation SpendControlFrame(TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent);
  Violation SpendReset(TimePoint now);

  TokenBucket control_frames_;
  TokenBucket resets_;
  SharedBucket* const address_resets_;
  Violation violation_ = Violation::kNone;
  size_t preface_read_ = 0;
  std::array<uint8_t, kFrameHeaderSize> header_ = {};
  size_t header_read_ = 0;
  size_t contents_left_ = 0;       // of the frame whose header was read
  uint32_t last_stream_ = 0;       // the last one that HEADERS opened
  size_t header_block_bytes_ = 0;  // of the latest HEADERS with its CONTINUATION frames
  int header_block_frames_ = 0;
  uint64_t bytes_sent_ = 0;  // when control frames were last credited for it
};

// "header", "frames": the label of the metric.
const char* ReasonName(Http2FrameGuard::Violation violation);
// As the log says it.
const char* Describe(Http2FrameGuard::Violation violation);

}  // namespace hearth::server
