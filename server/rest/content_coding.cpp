#include "server/rest/content_coding.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/support/memory_account.h"

namespace hearth::server {
namespace {

// zlib's windowBits for each of the formats; "deflate" is zlib's own (RFC 1950).
int WindowBits(ContentCoding coding) { return coding == ContentCoding::kGzip ? MAX_WBITS + 16 : MAX_WBITS; }

// zlib's own memory counts, too: some 40 KiB to decode and 270 KiB to encode.
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

// Bytes that zlib is given or asked for at once.
constexpr size_t kStep = 256 << 10;

struct Decoder {
  explicit Decoder(ContentCoding coding) {
    if (inflateInit2(&stream, WindowBits(coding)) != Z_OK) throw std::bad_alloc();
  }
  ~Decoder() { inflateEnd(&stream); }

  z_stream stream = NewStream();
};

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

// Memory that grows and becomes a slice.
class Buffer {
 public:
  explicit Buffer(size_t capacity) : data_(new char[capacity]), capacity_(capacity) {}

  char* end() { return data_.get() + size_; }
  size_t room() const { return capacity_ - size_; }
  size_t size() const { return size_; }
  void Grow(size_t size) { size_ += size; }
  void Reserve(size_t capacity) {
    std::unique_ptr<char[]> larger(new char[capacity]);
    std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    capacity_ = capacity;
  }
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

absl::StatusOr<grpc::Slice> Decode(ContentCoding coding, std::string_view bytes, size_t most) {
  const auto wrong = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat("the request's body is not ", NameOf(coding), ": ", why));
  };
  Decoder decoder(coding);
  z_stream& stream = decoder.stream;
  // One byte more tells what is too large.
  const size_t largest = most + 1;
  Buffer out(std::min(largest, std::max<size_t>(4 * bytes.size(), 4096)));
  while (true) {
    if (out.room() == 0) out.Reserve(std::min(largest, 2 * out.size()));
    const size_t given = std::min(bytes.size(), kStep), room = std::min(out.room(), kStep);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(out.end());
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    bytes.remove_prefix(given - stream.avail_in);
    out.Grow(room - stream.avail_out);
    if (out.size() > most) {
      return absl::OutOfRangeError(
          absl::StrCat("the request's body has more than ", most, " bytes when it is decoded"));
    }
    if (result == Z_STREAM_END) {
      if (bytes.empty()) return out.Take();
      // gzip's members may follow each other.
      if (coding != ContentCoding::kGzip || inflateReset(&stream) != Z_OK) return wrong("more bytes follow its end");
      continue;
    }
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_BUF_ERROR) return wrong(stream.msg != nullptr ? stream.msg : "it is damaged");
    if (bytes.empty() && stream.avail_out > 0) return wrong("it ends too early");
    MemoryAccount::CheckThread();
  }
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
        MemoryAccount::CheckThread();
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
