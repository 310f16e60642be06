#include "server/api/inflate.h"

#include <grpc/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "jit/support/cpu_allocator.h"

// ByteBuffer has this friend for whoever must look at what it holds.
namespace grpc::internal {

class GrpcByteBufferPeer {
 public:
  static grpc_compression_algorithm CompressionOf(const ByteBuffer& buffer) {
    const grpc_byte_buffer* held = const_cast<ByteBuffer&>(buffer).c_buffer();
    return held == nullptr ? GRPC_COMPRESS_NONE : held->data.raw.compression;
  }
};

}  // namespace grpc::internal

namespace hearth::server {
namespace {

using grpc::internal::GrpcByteBufferPeer;

// Of zlib: its largest window, and whether it expects gzip's header or its own.
constexpr int kWindowBits = 15;
constexpr int kGzipHeader = 16;

constexpr size_t kFirstPiece = 16 << 10;
constexpr size_t kLargestPiece = 4 << 20;
// What a refused message came to, above which malloc is not to keep it.
constexpr size_t kMostKept = 1 << 20;

absl::Status Damaged(Compression compression, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat("the request is not ",
                                                 compression == Compression::kGzip ? "gzip" : "deflate",
                                                 " as it says: ", why == nullptr ? "its data are damaged" : why));
}

// What inflates, in pieces that grow.
class Pieces {
 public:
  explicit Pieces(MemoryAccount* account) : account_(account) {}
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;
  // Refused messages, one after another on every thread, would leave more than all limits allow.
  ~Pieces() {
    if (size_ <= kMostKept) return;
    full_.clear();
    piece_ = grpc::Slice();
    ReturnFreedMemoryOfThread();
  }

  // Where the next bytes go: some room, of which what was used is then told.
  std::pair<Bytef*, size_t> Room() {
    if (used_ == piece_.size()) NextPiece();
    return {const_cast<Bytef*>(piece_.begin()) + used_, piece_.size() - used_};
  }
  void Used(size_t bytes) {
    used_ += bytes;
    size_ += bytes;
  }
  size_t size() const { return size_; }

  grpc::ByteBuffer Take() {
    if (used_ > 0) full_.push_back(piece_.sub(0, used_));
    size_ = 0;
    return grpc::ByteBuffer(full_.data(), full_.size());
  }

 private:
  void NextPiece() {
    const size_t bytes = piece_.size() == 0 ? kFirstPiece : std::min(2 * piece_.size(), kLargestPiece);
    if (account_ != nullptr) account_->Charge(bytes);
    if (used_ > 0) full_.push_back(piece_);
    piece_ = grpc::Slice(bytes);
    used_ = 0;
  }

  MemoryAccount* const account_;
  std::vector<grpc::Slice> full_;
  grpc::Slice piece_;
  size_t used_ = 0;  // of the piece
  size_t size_ = 0;
};

}  // namespace

Compression CompressionOf(const grpc::ByteBuffer& message) {
  switch (GrpcByteBufferPeer::CompressionOf(message)) {
    case GRPC_COMPRESS_GZIP:
      return Compression::kGzip;
    case GRPC_COMPRESS_DEFLATE:
      return Compression::kDeflate;
    default:
      return Compression::kNone;
  }
}

absl::Status Inflate(grpc::ByteBuffer& message, Compression compression, size_t most, MemoryAccount* account) {
  std::vector<grpc::Slice> input;
  if (!message.Dump(&input).ok()) return Damaged(compression, "it cannot be read");
  z_stream stream{};
  if (inflateInit2(&stream, kWindowBits + (compression == Compression::kGzip ? kGzipHeader : 0)) != Z_OK)
    throw std::bad_alloc();
  const absl::Cleanup end = [&] { inflateEnd(&stream); };
  Pieces pieces(account);
  int result = Z_OK;
  for (const grpc::Slice& slice : input) {
    stream.next_in = const_cast<Bytef*>(slice.begin());
    stream.avail_in = static_cast<uInt>(slice.size());
    bool more = stream.avail_in > 0;
    while (more) {
      // gzip's members may follow each other.
      if (result == Z_STREAM_END && (compression != Compression::kGzip || inflateReset(&stream) != Z_OK)) {
        return Damaged(compression, "bytes follow its end");
      }
      const auto [room, bytes] = pieces.Room();
      stream.next_out = room;
      stream.avail_out = static_cast<uInt>(bytes);
      result = inflate(&stream, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return Damaged(compression, stream.msg);
      pieces.Used(bytes - stream.avail_out);
      if (pieces.size() > most) {
        return absl::ResourceExhaustedError(absl::StrCat("the compressed message inflates to more than ", most,
                                                         " bytes, which is the most that is taken"));
      }
      // Where all room was used there may be more to come of what was read.
      more = stream.avail_in > 0 || (stream.avail_out == 0 && result != Z_STREAM_END);
    }
  }
  // No bytes at all are an empty message.
  if (result != Z_STREAM_END && message.Length() > 0) return Damaged(compression, "it ends too early");
  pieces.Take().Swap(&message);
  return absl::OkStatus();
}

}  // namespace hearth::server
