#include "server/rest/content_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "jit/support/memory_account.h"

namespace hearth::server {
namespace {

constexpr size_t kMost = 64 << 20;

std::string Text(const grpc::Slice& slice) { return {reinterpret_cast<const char*>(slice.begin()), slice.size()}; }

std::string Encoded(ContentCoding coding, const std::string& text) {
  // In two slices.
  const grpc::Slice slices[] = {grpc::Slice(text.substr(0, text.size() / 3)),
                                grpc::Slice(text.substr(text.size() / 3))};
  const grpc::ByteBuffer encoded = Encode(coding, grpc::ByteBuffer(slices, 2));
  grpc::Slice whole;
  EXPECT_TRUE(encoded.DumpToSingleSlice(&whole).ok());
  return Text(whole);
}

TEST(ContentCoding, WhatIsEncodedIsDecoded) {
  std::mt19937 random(1);
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kDeflate}) {
    for (const size_t size : {0, 1, 1000, 1 << 20, 3'000'001}) {
      std::string text(size, 'x');
      for (size_t i = 0; i < size; i += 2) text[i] = static_cast<char>(random());
      const auto decoded = Decode(coding, grpc::Slice(Encoded(coding, text)), kMost);
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_TRUE(Text(*decoded) == text) << size;
    }
  }
}

TEST(ContentCoding, MembersOfGzipFollowEachOther) {
  const auto decoded =
      Decode(ContentCoding::kGzip,
             grpc::Slice(Encoded(ContentCoding::kGzip, "one ") + Encoded(ContentCoding::kGzip, "two")), kMost);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(Text(*decoded), "one two");
}

TEST(ContentCoding, DamagedBytesAreRefused) {
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kDeflate}) {
    const std::string good = Encoded(coding, std::string(1000, 'x') + "y");
    for (const std::string& bad : {std::string(), std::string("plain text"), good.substr(0, good.size() - 1),
                                   good + "x", good.substr(0, 10) + "zzz" + good.substr(13)}) {
      EXPECT_EQ(Decode(coding, grpc::Slice(bad), kMost).status().code(), absl::StatusCode::kInvalidArgument)
          << bad.size();
    }
  }
}

TEST(ContentCoding, DecodingStopsAtTheBound) {
  const std::string text(1 << 20, ' ');
  const grpc::Slice bomb(Encoded(ContentCoding::kGzip, std::string(32 << 20, ' ')));
  EXPECT_LT(bomb.size(), 1U << 18);
  EXPECT_EQ(Decode(ContentCoding::kGzip, bomb, 1 << 20).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(Decode(ContentCoding::kGzip, grpc::Slice(Encoded(ContentCoding::kGzip, text)), text.size()).ok());
  EXPECT_FALSE(Decode(ContentCoding::kGzip, grpc::Slice(Encoded(ContentCoding::kGzip, text)), text.size() - 1).ok());
}

TEST(ContentCoding, WhatIsMadeCounts) {
  const grpc::Slice bomb(Encoded(ContentCoding::kGzip, std::string(32 << 20, ' ')));
  MemoryAccount account(4 << 20);
  const MemoryAccount::Scope counting(&account);
  EXPECT_THROW((void)Decode(ContentCoding::kGzip, bomb, kMost), MemoryLimitError);
}

TEST(ContentCoding, TheHeaviestOfAnAcceptEncodingIsTaken) {
  EXPECT_EQ(PreferredCoding(""), ContentCoding::kIdentity);
  EXPECT_EQ(PreferredCoding("gzip"), ContentCoding::kGzip);
  EXPECT_EQ(PreferredCoding("br, deflate, gzip"), ContentCoding::kDeflate);
  EXPECT_EQ(PreferredCoding("deflate;q=0.5, gzip;q=0.7"), ContentCoding::kGzip);
  EXPECT_EQ(PreferredCoding("gzip;q=0"), ContentCoding::kIdentity);
  EXPECT_EQ(PreferredCoding("gzip;x=1"), ContentCoding::kIdentity);
  EXPECT_EQ(PreferredCoding(",,;;, GZIP ; q=0.5"), ContentCoding::kGzip);
}

}  // namespace
}  // namespace hearth::server
