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
};

// For one thread at a time.
class Http2FrameGuard {
 public:
  using TimePoint = TokenBucket::TimePoint;

  enum class Violation { kNone, kPreface, kHeaderBlock, kControlFrames, kResets, kAddress };

  // `address` is what all connections of the client's address may send together, beside a little that each has of its
  // own: a client that does no harm is not to end for another one of its address. It outlives this; null where the
  // address is not known.
  Http2FrameGuard(const Http2Budget& budget, AddressBudget* address, TimePoint now);

  // Takes the next bytes of the client. What is not kNone stays: the connection is to end. `bytes_sent()` is how much
  // the server has sent on the connection: a client that reads much may send a window update for each part.
  Violation Read(std::string_view bytes, TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent);

  Violation violation() const { return violation_; }

 private:
  static constexpr size_t kFrameHeaderSize = 9;

  // What a budget of control frames is credited for what the server has sent.
  class SentBytes {
   public:
    // Of `sent` bytes in all, those since the last credit.
    double Credit(uint64_t sent);

   private:
    uint64_t credited_ = 0;
  };

  Violation OnFrame(TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent);
  Violation OnHeaderBlock(size_t length);
  Violation SpendControlFrame(TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent);
  Violation SpendReset(TimePoint now);

  TokenBucket control_frames_;
  TokenBucket resets_;
  AddressBudget* const address_;
  TokenBucket own_control_frames_;  // which the address is not charged for
  TokenBucket own_resets_;
  Violation violation_ = Violation::kNone;
  size_t preface_read_ = 0;
  std::array<uint8_t, kFrameHeaderSize> header_ = {};
  size_t header_read_ = 0;
  size_t contents_left_ = 0;       // of the frame whose header was read
  uint32_t last_stream_ = 0;       // the last one that HEADERS opened
  size_t header_block_bytes_ = 0;  // of the latest HEADERS with its CONTINUATION frames
  int header_block_frames_ = 0;
  SentBytes sent_bytes_;      // that control_frames_ was credited for
  SentBytes own_sent_bytes_;  // the same of own_control_frames_
  int own_calls_ = 0;         // that it was not credited for yet
};

// "header", "frames": the label of the metric.
const char* ReasonName(Http2FrameGuard::Violation violation);
// As the log says it.
const char* Describe(Http2FrameGuard::Violation violation);

}  // namespace hearth::server
