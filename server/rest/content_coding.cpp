#include "server/rest/content_coding.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/api/inflate.h"
#include "wire/conversion_check.h"

namespace hearth::server {
namespace {

// zlib's windowBits for each of the formats; "deflate" is zlib's own (RFC 1950).
int WindowBits(ContentCoding coding) { return coding == ContentCoding::kGzip ? MAX_WBITS + 16 : MAX_WBITS; }

// zlib's own memory counts, too: some 270 KiB.
void* AllocateForZlib(void*, unsigned items, unsigned size) try {
  return ::operator new(static_cast<size_t>(items) * size);
} catch (const std::bad_alloc&) {
  return nullptr;  // no exception may pass through zlib
}

void FreeForZlib(void*, void* memory) { ::operator delete(memory); }

z_stream NewStream() {
  z_stream stream{};
  stream.zalloc = AllocateForZlib;
  stream.zfree = FreeForZlib;
  return stream;
}

// Bytes that zlib is given or asked for at once when it encodes.
constexpr size_t kStep = 256 << 10;

struct Encoder {
  explicit Encoder(ContentCoding coding) {
    constexpr int kMemoryLevel = 8;
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, WindowBits(coding), kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Encoder() { deflateEnd(&stream); }

  z_stream stream = NewStream();
};

// Memory that is filled and becomes a slice.
class Buffer {
 public:
  explicit Buffer(size_t capacity) : data_(new char[capacity]), capacity_(capacity) {}

  char* end() { return data_.get() + size_; }
  size_t room() const { return capacity_ - size_; }
  void Grow(size_t size) { size_ += size; }
  grpc::Slice Take() {
    char* const data = data_.release();
    return grpc::Slice(
        data, size_, [](void* held) { delete[] static_cast<char*>(held); }, data);
  }

 private:
  std::unique_ptr<char[]> data_;
  size_t capacity_;
  size_t size_ = 0;
};

}  // namespace

const char* NameOf(ContentCoding coding) {
  switch (coding) {
    case ContentCoding::kGzip:
      return "gzip";
    case ContentCoding::kDeflate:
      return "deflate";
    default:
      return "";
  }
}

std::optional<ContentCoding> ParseContentCoding(std::string_view header) {
  const absl::string_view name = absl::StripAsciiWhitespace({header.data(), header.size()});
  if (name.empty() || absl::EqualsIgnoreCase(name, "identity")) return ContentCoding::kIdentity;
  if (absl::EqualsIgnoreCase(name, "gzip")) return ContentCoding::kGzip;
  if (absl::EqualsIgnoreCase(name, "deflate")) return ContentCoding::kDeflate;
  return std::nullopt;
}

ContentCoding PreferredCoding(std::string_view accepted) {
  ContentCoding preferred = ContentCoding::kIdentity;
  double most = 0;
  for (const absl::string_view part : absl::StrSplit(absl::string_view(accepted.data(), accepted.size()), ',')) {
    const std::pair<absl::string_view, absl::string_view> split = absl::StrSplit(part, absl::MaxSplits(';', 1));
    const std::optional<ContentCoding> coding = ParseContentCoding({split.first.data(), split.first.size()});
    if (!coding || absl::StripAsciiWhitespace(split.first).empty()) continue;
    double weight = 1;
    absl::string_view parameter = absl::StripAsciiWhitespace(split.second);
    if (!parameter.empty() && (!absl::ConsumePrefix(&parameter, "q=") || !absl::SimpleAtod(parameter, &weight)))
      continue;
    if (weight <= most) continue;
    most = weight;
    preferred = *coding;
  }
  return preferred;
}

absl::StatusOr<grpc::Slice> Decode(ContentCoding coding, const grpc::Slice& bytes, size_t most) {
  grpc::ByteBuffer body(&bytes, 1);
  const auto compression = coding == ContentCoding::kGzip ? Compression::kGzip : Compression::kDeflate;
  MemoryAccount* const account = MemoryAccount::Current();
  // Of the pieces that are made, until they are one.
  std::optional<MemoryAccount> pieces;
  if (account != nullptr) pieces.emplace(account->limit(), account);
  const absl::Status status = Inflate(body, compression, most, pieces ? &*pieces : nullptr);
  if (absl::IsResourceExhausted(status)) {
    return absl::OutOfRangeError(absl::StrCat("the request's body has more than ", most, " bytes when it is decoded"));
  }
  // No bytes at all are an empty message to gRPC.
  if (bytes.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the request is not ", NameOf(coding), " as it says: it is empty"));
  }
  if (!status.ok()) return status;
  std::vector<grpc::Slice> slices;
  (void)body.Dump(&slices);
  if (slices.size() == 1) return slices[0];
  Buffer whole(body.Length());
  for (const grpc::Slice& slice : slices) {
    std::memcpy(whole.end(), slice.begin(), slice.size());
    whole.Grow(slice.size());
  }
  CheckConversion();
  return whole.Take();
}

grpc::ByteBuffer Encode(ContentCoding coding, const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices, encoded;
  (void)bytes.Dump(&slices);
  Encoder encoder(coding);
  z_stream& stream = encoder.stream;
  Buffer out(std::min<size_t>(kStep, deflateBound(&stream, bytes.Length())));
  const auto run = [&](int flush) {
    do {
      if (out.room() == 0) {
        encoded.push_back(out.Take());
        out = Buffer(kStep);
        CheckConversion();
      }
      const size_t room = out.room();
      stream.next_out = reinterpret_cast<Bytef*>(out.end());
      stream.avail_out = static_cast<uInt>(room);
      (void)deflate(&stream, flush);
      out.Grow(room - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  for (const grpc::Slice& slice : slices) {
    for (size_t at = 0; at < slice.size(); at += kStep) {
      stream.next_in = const_cast<Bytef*>(slice.begin() + at);
      stream.avail_in = static_cast<uInt>(std::min(slice.size() - at, kStep));
      run(Z_NO_FLUSH);
    }
  }
  run(Z_FINISH);
  encoded.push_back(out.Take());
  return grpc::ByteBuffer(encoded.data(), encoded.size());
}

}  // namespace hearth::server
