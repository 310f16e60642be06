#include "server/security/http2_frame_guard.h"

#include <algorithm>
#include <utility>

namespace hearth::server {
namespace {

using Violation = Http2FrameGuard::Violation;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Types of frames, and flags.
constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kResetStream = 3;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kEndStream = 1;

// gRPC reads 64 KiB of a call's metadata, which clients send in four frames of 16 KiB. It counts anew in each frame, so
// that frames are bounded too: one byte may stand for an entry of kilobytes (RFC 7541, 6.1).
constexpr size_t kMostHeaderBlockBytes = 128 << 10;
constexpr int kMostHeaderBlockFrames = 16;
// A message of gRPC has five bytes before its contents. Less than a small one, and not the end of a stream, costs as
// much to read as an empty frame and brings as little.
constexpr size_t kSmallData = 16;
// Some clients send two window updates for each frame of DATA that they get.
constexpr double kSentBytesPerControlFrame = 512;

// Of a connection's own. Clients of gRPC begin with two or three frames and send as many with a call; none is given at
// the start that would make a new connection the cheaper way to send more.
constexpr TokenRate kOwnControlFrames{.at_start = 8, .per_second = 10, .most = 1000};
constexpr TokenRate kOwnResets{.at_start = 0, .per_second = 10, .most = 100};
constexpr double kControlFramesPerCall = 3;

}  // namespace

double Http2FrameGuard::SentBytes::Credit(uint64_t sent) {
  const uint64_t more = sent - std::min(sent, credited_);
  credited_ = sent;
  return static_cast<double>(more) / kSentBytesPerControlFrame;
}

Http2FrameGuard::Http2FrameGuard(const Http2Budget& budget, AddressBudget* address, TimePoint now)
    : control_frames_(budget.control_frames, now),
      resets_(budget.resets, now),
      address_(address),
      own_control_frames_(kOwnControlFrames, now),
      own_resets_(kOwnResets, now) {}

Violation Http2FrameGuard::Read(std::string_view bytes, TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent) {
  while (!bytes.empty() && violation_ == Violation::kNone) {
    if (preface_read_ < kPreface.size()) {
      if (bytes.front() != kPreface[preface_read_++]) violation_ = Violation::kPreface;
      bytes.remove_prefix(1);
    } else if (contents_left_ > 0) {
      const size_t skipped = std::min(bytes.size(), contents_left_);
      contents_left_ -= skipped;
      bytes.remove_prefix(skipped);
    } else {
      header_[header_read_++] = static_cast<uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      if (header_read_ == kFrameHeaderSize) violation_ = OnFrame(now, bytes_sent);
    }
  }
  return violation_;
}

Violation Http2FrameGuard::OnFrame(TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent) {
  const size_t length = size_t{header_[0]} << 16 | size_t{header_[1]} << 8 | header_[2];
  const uint8_t type = header_[3];
  const uint8_t flags = header_[4];
  const uint32_t stream =
      uint32_t{header_[5]} << 24 | uint32_t{header_[6]} << 16 | uint32_t{header_[7]} << 8 | header_[8];
  header_read_ = 0;
  contents_left_ = length;
  switch (type) {
    case kData:
      if (length >= kSmallData || (flags & kEndStream) != 0) return Violation::kNone;
      return SpendControlFrame(now, bytes_sent);
    case kHeaders: {
      header_block_bytes_ = 0;
      header_block_frames_ = 0;
      if (const Violation violation = OnHeaderBlock(length); violation != Violation::kNone) return violation;
      const bool opens = stream % 2 == 1 && stream > last_stream_;
      if (!opens) return SpendControlFrame(now, bytes_sent);
      last_stream_ = stream;
      ++own_calls_;
      return Violation::kNone;
    }
    case kContinuation:
      if (const Violation violation = OnHeaderBlock(length); violation != Violation::kNone) return violation;
      return SpendControlFrame(now, bytes_sent);
    case kResetStream:
      return SpendReset(now);
    default:
      return SpendControlFrame(now, bytes_sent);
  }
}

Violation Http2FrameGuard::OnHeaderBlock(size_t length) {
  header_block_bytes_ += length;
  ++header_block_frames_;
  const bool fits = header_block_bytes_ <= kMostHeaderBlockBytes && header_block_frames_ <= kMostHeaderBlockFrames;
  return fits ? Violation::kNone : Violation::kHeaderBlock;
}

Violation Http2FrameGuard::SpendControlFrame(TimePoint now, absl::FunctionRef<uint64_t()> bytes_sent) {
  if (!control_frames_.Take(now, [&] { return sent_bytes_.Credit(bytes_sent()); })) return Violation::kControlFrames;
  if (address_ == nullptr) return Violation::kNone;
  const auto earned = [&] {
    return kControlFramesPerCall * std::exchange(own_calls_, 0) + own_sent_bytes_.Credit(bytes_sent());
  };
  const bool fits = own_control_frames_.Take(now, earned) || address_->TakeControlFrame(now);
  return fits ? Violation::kNone : Violation::kAddress;
}

Violation Http2FrameGuard::SpendReset(TimePoint now) {
  if (!resets_.Take(now)) return Violation::kResets;
  const bool fits = address_ == nullptr || own_resets_.Take(now) || address_->TakeReset(now);
  return fits ? Violation::kNone : Violation::kAddress;
}

const char* ReasonName(Violation violation) {
  switch (violation) {
    case Violation::kNone:
      return "none";
    case Violation::kPreface:
      return "preface";
    case Violation::kHeaderBlock:
      return "header";
    case Violation::kControlFrames:
      return "frames";
    case Violation::kResets:
      return "resets";
    case Violation::kAddress:
      return "address";
  }
  return "";
}

const char* Describe(Violation violation) {
  switch (violation) {
    case Violation::kNone:
      return "nothing is wrong";
    case Violation::kPreface:
      return "it does not speak HTTP/2";
    case Violation::kHeaderBlock:
      return "the header of a call has more than 128 KiB or 16 frames";
    case Violation::kControlFrames:
      return "more frames without content than --grpc-max-control-frames";
    case Violation::kResets:
      return "more cancelled calls than --grpc-max-resets";
    case Violation::kAddress:
      return "more frames without content from its address than --grpc-max-address-control-frames, or more cancelled "
             "calls than --grpc-max-address-resets";
  }
  return "";
}

}  // namespace hearth::server
