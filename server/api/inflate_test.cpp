// Against zlib's own compressor.
#include "server/api/inflate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "server/api/byte_buffer_testing.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMebibyte = 1 << 20;
constexpr Compression kBoth[] = {Compression::kDeflate, Compression::kGzip};

std::string Compress(const std::string& text, Compression compression) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + (compression == Compression::kGzip ? 16 : 0), 8,
               Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string SomeText(size_t size) {
  std::string text(size, '\0');
  uint32_t state = 1;
  for (char& byte : text) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 28);
  return text;
}

TEST(Inflate, WhatWasCompressedComesBackHoweverItIsCut) {
  for (const Compression compression : kBoth) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{16} << 10, (size_t{16} << 10) + 1, 3 * kMebibyte}) {
      const std::string text = SomeText(size);
      const std::string compressed = Compress(text, compression);
      for (const size_t piece : {size_t{1000}, compressed.size()}) {
        grpc::ByteBuffer buffer = Cut(compressed, piece);
        ASSERT_TRUE(Inflate(buffer, compression, size, nullptr).ok()) << size;
        EXPECT_EQ(Join(buffer), text);
      }
    }
  }
}

TEST(Inflate, ItEndsAtTheMost) {
  for (const Compression compression : kBoth) {
    const std::string compressed = Compress(std::string(64 * kMebibyte, '\0'), compression);
    MemoryAccount account(1 << 30);
    grpc::ByteBuffer buffer = Cut(compressed, compressed.size());
    const absl::Status status = Inflate(buffer, compression, kMebibyte, &account);
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_LT(account.held(), 4 * int64_t{kMebibyte});
  }
}

TEST(Inflate, WhatIsMadeMeetsTheAccountsLimitWhileItIsMade) {
  MemoryAccount account(8 * kMebibyte);
  grpc::ByteBuffer buffer = Cut(Compress(std::string(64 * kMebibyte, '\0'), Compression::kGzip), 1 << 20);
  EXPECT_THROW((void)Inflate(buffer, Compression::kGzip, 64 * kMebibyte, &account), MemoryLimitError);
  EXPECT_LE(account.held(), 8 * int64_t{kMebibyte});
}

TEST(Inflate, MembersOfGzipAloneMayFollowEachOther) {
  const std::string text = SomeText(10000);
  const std::string zipped = Compress(text, Compression::kGzip);
  grpc::ByteBuffer twice = Cut(zipped + zipped, 777);
  ASSERT_TRUE(Inflate(twice, Compression::kGzip, kMebibyte, nullptr).ok());
  EXPECT_EQ(Join(twice), text + text);
  const std::string deflated = Compress(text, Compression::kDeflate);
  grpc::ByteBuffer refused = Cut(deflated + deflated, 777);
  EXPECT_TRUE(absl::IsInvalidArgument(Inflate(refused, Compression::kDeflate, kMebibyte, nullptr)));
}

TEST(Inflate, BytesThatAreNotSoCompressedAreRefused) {
  for (const Compression compression : kBoth) {
    const std::string good = Compress(SomeText(10000), compression);
    const Compression other = compression == Compression::kGzip ? Compression::kDeflate : Compression::kGzip;
    std::string damaged = good;
    damaged[good.size() / 2] ^= 0x55;
    for (const std::string& bytes :
         {std::string("x"), good.substr(0, good.size() - 1), good + "x", damaged, Compress("x", other)}) {
      grpc::ByteBuffer buffer = Cut(bytes, 777);
      const absl::Status status = Inflate(buffer, compression, kMebibyte, nullptr);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(compression == Compression::kGzip ? "not gzip as it says" : "not deflate as it says"));
    }
  }
}

TEST(Inflate, AMessageWithoutAFrameIsNotCompressed) {
  EXPECT_EQ(CompressionOf(Cut("\x1f\x8b plain", 100)), Compression::kNone);
  EXPECT_EQ(CompressionOf(grpc::ByteBuffer()), Compression::kNone);
}

}  // namespace
}  // namespace hearth::server
