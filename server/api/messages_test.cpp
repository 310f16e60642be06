// Requests and answers on the wire, with Protobuf's own encoder and decoder as the judge.
#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/rpc/status.pb.h"
#include "server/api/byte_buffer_testing.h"
#include "server/api/request_message.h"
#include "server/api/response_message.h"
#include "server/api/status.h"
#include "server/scheduling/retry_advice.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// `bytes` in slices of `size`, as a network would cut them.
inference::ModelInferRequest SomeRequest() {
  inference::ModelInferRequest request;
  request.set_model_name("m");
  request.set_id("17");
  (*request.mutable_parameters())["p"].set_double_param(2.5);
  for (const char* name : {"a", "b"}) {
    auto* input = request.add_inputs();
    input->set_name(name);
    input->set_datatype("INT64");
    input->add_shape(3);
  }
  const int64_t first[] = {1, 2, 3}, second[] = {4, 5, 6};
  request.add_raw_input_contents(first, sizeof(first));
  request.add_raw_input_contents(second, sizeof(second));
  return request;
}

TEST(RequestMessage, ARequestIsReadHoweverItIsCut) {
  const std::string bytes = SomeRequest().SerializeAsString();
  for (size_t size = 1; size <= bytes.size(); ++size) {
    google::protobuf::Arena arena;
    auto parsed = ParseInferRequest(Cut(bytes, size), arena);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << " in slices of " << size;
    const auto message = MatchContents(*std::move(parsed));
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_EQ(message->fields->model_name(), "m");
    EXPECT_EQ(message->fields->parameters().at("p").double_param(), 2.5);
    const auto inputs = ReadInputs(*message);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    EXPECT_EQ(inputs->at(1).tensor[2].item<int64_t>(), 6);
  }
}

TEST(RequestMessage, ARequestThatEndsEarlyIsRefused) {
  const std::string bytes = SomeRequest().SerializeAsString();
  size_t refused = 0;
  for (size_t size = 1; size < bytes.size(); ++size) {
    google::protobuf::Arena arena;
    auto parsed = ParseInferRequest(Cut(bytes.substr(0, size), 7), arena);
    if (!parsed.ok() || parsed->raw_input_contents.size() < 2) {
      // A message may end between two fields; then a tensor is missing.
      ++refused;
      continue;
    }
    const auto message = MatchContents(*std::move(parsed));
    refused += !message.ok() || !ReadInputs(*message).ok();
  }
  EXPECT_EQ(refused, bytes.size() - 1);
}

TEST(RequestMessage, UnknownFieldsAreSkipped) {
  std::string bytes = SomeRequest().SerializeAsString();
  bytes += std::string("\x98\x06\x05", 3);                 // field 99, varint
  bytes += std::string("\x9a\x06\x02hi", 5);               // field 99, bytes
  bytes += std::string("\x9d\x06\1\2\3\4", 6);             // field 99, 32 bits
  bytes += std::string("\x99\x06\1\2\3\4\5\6\7\x08", 10);  // field 99, 64 bits
  google::protobuf::Arena arena;
  EXPECT_TRUE(ParseInferRequest(Cut(bytes, 5), arena).ok());
}

std::vector<AnswerOutput> SomeOutputs() {
  std::vector<AnswerOutput> outputs;
  for (int64_t size : {3, 5000}) {
    outputs.push_back({{"t" + std::to_string(size), FindDatatype(c10::kLong), {size}, at::arange(size), {}}, {}});
  }
  outputs.push_back({{"s", BytesDatatype(), {2}, {}, {"ab", ""}}, {}});
  outputs.push_back({{"long", BytesDatatype(), {1}, {}, {std::string(10000, 'x')}}, {}});
  return outputs;
}

void ExpectSomeOutputs(const inference::ModelInferResponse& response) {
  ASSERT_EQ(response.outputs_size(), 4);
  ASSERT_EQ(response.raw_output_contents_size(), 4);
  EXPECT_EQ(response.outputs(1).name(), "t5000");
  EXPECT_EQ(response.outputs(1).datatype(), "INT64");
  EXPECT_THAT(response.outputs(1).shape(), ElementsAre(5000));
  EXPECT_EQ(response.raw_output_contents(0).size(), 3 * sizeof(int64_t));
  EXPECT_EQ(response.raw_output_contents(1).size(), 5000 * sizeof(int64_t));
  EXPECT_EQ(reinterpret_cast<const int64_t*>(response.raw_output_contents(1).data())[4999], 4999);
  EXPECT_EQ(response.raw_output_contents(2), std::string("\2\0\0\0ab\0\0\0\0", 10));
  EXPECT_EQ(response.raw_output_contents(3).size(), 10004u);
}

TEST(ResponseMessage, ProtobufReadsWhatWasWrittenInSlices) {
  const AnswerHeader header{"m", "3", "17"};
  const grpc::ByteBuffer buffer = EncodeInferResponse(header, SomeOutputs());
  inference::ModelInferResponse response;
  ASSERT_TRUE(response.ParseFromString(Join(buffer)));
  EXPECT_EQ(response.model_name(), "m");
  EXPECT_EQ(response.model_version(), "3");
  EXPECT_EQ(response.id(), "17");
  ExpectSomeOutputs(response);
}

TEST(ResponseMessage, AStreamsAnswerHoldsTheSame) {
  inference::ModelStreamInferResponse response;
  ASSERT_TRUE(response.ParseFromString(Join(EncodeStreamResponse({}, SomeOutputs()))));
  EXPECT_EQ(response.error_message(), "");
  EXPECT_TRUE(response.infer_response().parameters().at("triton_final_response").bool_param());
  ExpectSomeOutputs(response.infer_response());
  ASSERT_TRUE(response.ParseFromString(Join(EncodeStreamError("no", "18"))));
  EXPECT_EQ(response.error_message(), "no");
  EXPECT_EQ(response.infer_response().id(), "18");
}

TEST(Status, AShortMessageIsKeptAndALongOneKeepsItsEnds) {
  EXPECT_EQ(FitHeader("short\n\xc3\xa9", 100), "short\n\xc3\xa9");
  const std::string cut = FitHeader("begin" + std::string(10000, '\n') + "the end", 3000);
  EXPECT_THAT(cut, StartsWith("begin"));
  EXPECT_THAT(cut, HasSubstr("(cut"));
  EXPECT_EQ(cut.substr(cut.size() - 7), "the end");
  EXPECT_LT(cut.size(), 1200u);  // each newline is three bytes on the wire
}

TEST(Status, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(FitHeader("a\xff\xc3(\xe2\x82", 100), "a\?\?(\?\?");
  const grpc::Status status = ToGrpc(absl::NotFoundError("x"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(Status, RetryAdviceIsADetailAndOtherStatusesHaveNone) {
  const absl::Status full = absl::ResourceExhaustedError("full");
  EXPECT_EQ(ToGrpc(full).error_details(), "");
  const grpc::Status advised = ToGrpc(WithRetryAfter(full, std::chrono::milliseconds(20)));
  EXPECT_EQ(advised.error_message(), "full");
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(advised.error_details()));
  EXPECT_EQ(details.code(), static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
  google::rpc::RetryInfo info;
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.retry_delay().nanos(), 20'000'000);
}

}  // namespace
}  // namespace hearth::server
