#include "wire/wire_tensor.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace hearth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RawBytes InMemory(void* memory, size_t offset, size_t size) {
  RawBytes bytes;
  bytes.pieces.push_back({grpc::Slice(memory, 8192, std::free), offset, size});
  bytes.size = size;
  return bytes;
}

TEST(WireTensor, AlignedContentsInOnePieceAreNotCopied) {
  for (const size_t offset : {size_t{0}, size_t{1}}) {
    void* memory = std::aligned_alloc(64, 8192);
    const auto tensor = ReadRaw("x", "FP32", {1024}, InMemory(memory, offset, 4096));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->tensor.const_data_ptr() == memory, offset == 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->tensor.const_data_ptr()) % 16, 0u);
  }
}

TEST(WireTensor, ATensorOutlivesItsMessage) {
  at::Tensor kept;
  {
    auto* memory = static_cast<int64_t*>(std::aligned_alloc(64, 8192));
    std::fill_n(memory, 1024, 42);
    kept = ReadRaw("x", "INT64", {512}, InMemory(memory, 0, 4096))->tensor;
  }
  EXPECT_EQ(kept[511].item<int64_t>(), 42);
}

TEST(WireTensor, AModelMayResizeItsInput) {
  auto* memory = static_cast<int64_t*>(std::aligned_alloc(64, 8192));
  std::fill_n(memory, 1024, 42);
  at::Tensor tensor = ReadRaw("x", "INT64", {512}, InMemory(memory, 0, 4096))->tensor;
  tensor.resize_({1024});
  EXPECT_EQ(tensor[511].item<int64_t>(), 42);
  EXPECT_EQ(tensor.storage().nbytes(), 8192u);
}

TEST(WireTensor, ATensorOfAFewBytesOutlivesASliceThatHoldsThemInItself) {
  for (size_t offset = 0; offset < 16; ++offset) {
    at::Tensor kept;
    {
      auto bytes = std::make_unique<RawBytes>(RawBytes::Of(std::string(23, '\7')));
      bytes->pieces[0].offset = offset % 8;
      bytes->pieces[0].size = bytes->size = 8;
      kept = ReadRaw("x", "INT64", {1}, *bytes)->tensor;
      *bytes = RawBytes::Of(std::string(23, '\0'));
    }
    EXPECT_EQ(kept.item<int64_t>(), 0x0707070707070707);
  }
}

TEST(WireTensor, EveryBooleanIsZeroOrOne) {
  const auto tensor = ReadRaw("x", "BOOL", {3}, RawBytes::Of(std::string("\0\2\xff", 3)));
  const auto* data = static_cast<const uint8_t*>(tensor->tensor.const_data_ptr());
  EXPECT_THAT(std::vector<int>(data, data + 3), ElementsAre(0, 1, 1));
}

TEST(WireTensor, StringsAreReadAsTheyAreWritten) {
  const std::vector<std::string> strings = {"a", "", std::string("\0b", 2)};
  const auto tensor = ReadRaw("x", "BYTES", {3}, RawBytes::Of(EncodeStrings(strings)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->strings, strings);
}

std::string RawError(std::string_view datatype, c10::IntArrayRef shape, const std::string& bytes) {
  return std::string(ReadRaw("x", datatype, shape, RawBytes::Of(bytes)).status().message());
}

TEST(WireTensor, ContentsThatDoNotFitAreRefused) {
  EXPECT_THAT(RawError("FP31", {1}, ""), HasSubstr("unknown datatype 'FP31'"));
  EXPECT_THAT(RawError("FP32", {-1}, ""), HasSubstr("a dimension of -1"));
  EXPECT_THAT(RawError("FP32", {1L << 40, 1L << 40}, ""), HasSubstr("more elements than memory can hold"));
  EXPECT_THAT(RawError("FP32", {2}, "1234"), HasSubstr("expects 8 bytes, got 4"));
  EXPECT_THAT(RawError("BYTES", {1}, "12"), HasSubstr("ends within the length of element 0"));
  EXPECT_THAT(RawError("BYTES", {1}, std::string("\5\0\0\0ab", 6)), HasSubstr("should have 5 bytes; 2 are left"));
  EXPECT_THAT(RawError("BYTES", {2}, EncodeStrings({"a"})), HasSubstr("expects 2 elements, got 1"));
}

TEST(WireTensor, WhatIsSentIsContiguousAndItsOwn) {
  const at::Tensor weight = at::arange(6).reshape({2, 3});
  EXPECT_NE(ReadyToSend(weight).const_data_ptr(), weight.const_data_ptr());
  const at::Tensor transposed = ReadyToSend(weight.t());
  EXPECT_TRUE(transposed.is_contiguous());
  EXPECT_TRUE(transposed.equal(weight.t()));
  at::Tensor own = at::arange(6);
  const void* memory = own.const_data_ptr();
  EXPECT_EQ(ReadyToSend(std::move(own)).const_data_ptr(), memory);
  const at::Tensor complex = at::complex(at::ones(2), at::ones(2)).conj();
  EXPECT_FALSE(ReadyToSend(complex).is_conj());
  EXPECT_TRUE(ReadyToSend(complex).equal(complex));
}

}  // namespace
}  // namespace hearth
