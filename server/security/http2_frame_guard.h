// Reads what a client sends on a connection of HTTP/2 (RFC 9113) as far as its frames' headers, and says when it sends
// what costs the server much and the client nothing: a header block without end, frames without content, calls that are
// cancelled as fast as they are made. Contents of frames are skipped.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace hearth::server {

// How many frames may come: so many at the start, and with each second more, which may be saved up to the most. The
// start is less than that, so that new connections do not get around it.
struct FrameRate {
  double at_start = 0;
  double per_second = 0;
  double most = 0;
};

// What one connection may send. Clients of gRPC stay far below: see docs/limits.md.
struct Http2Budget {
  // Frames that bring no content: all but DATA, the first HEADERS of a call, and RST_STREAM.
  FrameRate control_frames;
  // RST_STREAM.
  FrameRate resets;
};

// Tokens that are spent one by one and come back with time. For one thread.
class TokenBucket {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  TokenBucket(const FrameRate& rate, TimePoint now) : rate_(rate), tokens_(rate.at_start), filled_(now) {}

  // False if there is none. `more()` says how many came otherwise than with time; it is asked when none is left.
  bool Take(TimePoint now, absl::FunctionRef<double()> more);

 private:
  const FrameRate rate_;
  double tokens_;
  TimePoint filled_;
};

// For one thread at a time.
class Http2FrameGuard {
 public:
  using TimePoint = TokenBucket::TimePoint;

  enum class Violation { kNone, kPreface, kHeaderBlock, kControlFrames, kResets };

  Http2FrameGuard(const Http2Budget& budget, TimePoint now);

  // Takes the next bytes of the client. What is not kNone stays: the connection is to end. `bytes_sent()` is how much
  // the server has sent on the connection: a client that reads much may send a window update for each part.
  Violation Read(std::string_view bytes, TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent);

  Violation violation() const { return violation_; }

 private:
  static constexpr size_t kFrameHeaderSize = 9;

  Violation OnFrame(TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent);
  Violation OnHeaderBlock(size_t length);
  Violation SpendControlFrame(TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent);

  TokenBucket control_frames_;
  TokenBucket resets_;
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
