#include "server/api/read_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/inference/service.pb.h"

namespace hearth::server {
namespace {

using inference::LogSettingsRequest;
using ::testing::HasSubstr;

absl::Status Read(const std::string& bytes, google::protobuf::Message& message, const MessageBounds& bounds = {}) {
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer buffer(&slice, 1);
  return ReadMessage(buffer, bounds, nullptr, message);
}

TEST(ReadMessage, WhatIsWrittenIsRead) {
  LogSettingsRequest request, read;
  (*request.mutable_settings())["log_info"].set_bool_param(true);
  grpc::ByteBuffer buffer;
  WriteMessage(request, buffer);
  ASSERT_TRUE(ReadMessage(buffer, {}, nullptr, read).ok());
  EXPECT_TRUE(read.settings().at("log_info").bool_param());
}

TEST(ReadMessage, NoBytesAreAnEmptyMessage) {
  LogSettingsRequest read;
  grpc::ByteBuffer buffer;
  WriteMessage(LogSettingsRequest(), buffer);
  EXPECT_TRUE(ReadMessage(buffer, {}, nullptr, read).ok());
  EXPECT_EQ(read.settings_size(), 0);
}

TEST(ReadMessage, ItsSizeIsBounded) {
  inference::ModelReadyRequest request;
  request.set_name(std::string(MessageBounds().bytes, 'x'));
  const absl::Status status = Read(request.SerializeAsString(), request);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("; inference.ModelReadyRequest may have 65536"));
}

TEST(ReadMessage, ItsPartsAreBounded) {
  // Each of two bytes, an entry of a map.
  std::string bytes;
  for (int i = 0; i < 10000; ++i) bytes += std::string("\x0a\x00", 2);
  LogSettingsRequest request;
  const absl::Status status = Read(bytes, request);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("10000 messages"));
}

TEST(ReadMessage, WhatIsNoSuchMessageIsRefused) {
  LogSettingsRequest request;
  for (const std::string& bytes : {std::string("\x0a\x05", 2), std::string("\0", 1), std::string("\x1f\x8b", 2),
                                   std::string("\x0a\x02\x0a\x05", 4)}) {
    const absl::Status status = Read(bytes, request);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is no inference.LogSettingsRequest"));
  }
}

}  // namespace
}  // namespace hearth::server
