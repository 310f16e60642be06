#include "server/rest/request_body.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kMostBytes = 1 << 20;

inference::ModelConfig Config(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

absl::StatusOr<InferBody> ReadBody(const BodyHeaders& headers, const std::string& body,
                                   const std::string& config = "") {
  static google::protobuf::Arena arena;
  return ReadInferBody(headers, grpc::Slice(body), kMostBytes, Config(config), arena);
}

std::string Described(const std::vector<int>& sizes) {
  std::string inputs;
  for (const int size : sizes) {
    absl::StrAppend(&inputs, inputs.empty() ? "" : ",", R"({"name":"x)", size, R"(","shape":[1],"datatype":"INT8",)",
                    R"("parameters":{"binary_data_size":)", size, "}}");
  }
  return absl::StrCat(R"({"inputs":[)", inputs, "]}");
}

TEST(InferBody, ContentsAreCutBehindTheJson) {
  const std::string json = Described({3, 0, 2});
  const auto body = ReadBody({.json_size = json.size()}, json + "abcde");
  ASSERT_TRUE(body.ok()) << body.status();
  ASSERT_EQ(body->request.raw_inputs.size(), 3U);
  EXPECT_EQ(body->request.raw_inputs[0]->Joined(), "abc");
  EXPECT_EQ(body->request.raw_inputs[1]->size, 0U);
  EXPECT_EQ(body->request.raw_inputs[2]->Joined(), "de");
}

TEST(InferBody, ContentsAreNotCopied) {
  const std::string json = Described({5000});
  const grpc::Slice slice(json + std::string(5000, 'x'));
  google::protobuf::Arena arena;
  const auto body = ReadInferBody({.json_size = json.size()}, slice, kMostBytes, {}, arena);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->request.raw_inputs[0]->pieces[0].data(), slice.begin() + json.size());
}

TEST(InferBody, AsManyBytesComeAsTheJsonSays) {
  const std::string json = Described({3, 2});
  EXPECT_THAT(ReadBody({.json_size = json.size()}, json + "abcd").status().message(),
              HasSubstr("input 'x2' should have 2 bytes behind the request's JSON, where 1 are left"));
  EXPECT_THAT(ReadBody({.json_size = json.size()}, json + "abcdef").status().message(), HasSubstr("1 bytes follow"));
  EXPECT_THAT(ReadBody({.json_size = json.size() + 9}, json).status().message(),
              HasSubstr("Inference-Header-Content-Length is"));
  EXPECT_THAT(ReadBody({}, json + "abcde").status().message(), HasSubstr("is no JSON"));
}

TEST(InferBody, ABodyWithoutJsonHasTheShapeThatFollowsFromItsSize) {
  const auto shape_of = [](const std::string& config, size_t size) {
    const auto body = ReadBody({.json_size = 0}, std::string(size, 'x'), config);
    EXPECT_TRUE(body.ok()) << body.status();
    EXPECT_TRUE(body->binary_by_default);
    const auto& shape = body->request.fields->inputs(0).shape();
    return std::vector<int64_t>(shape.begin(), shape.end());
  };
  EXPECT_THAT(shape_of("input { name: 'x' data_type: TYPE_FP32 dims: [2, -1] }", 24), ElementsAre(2, 3));
  EXPECT_THAT(shape_of("max_batch_size: 8 input { name: 'x' data_type: TYPE_INT64 dims: [2] }", 16), ElementsAre(1, 2));
  EXPECT_THAT(shape_of("input { name: 'x' data_type: TYPE_FP32 dims: [0, -1] }", 0), ElementsAre(0, 0));
  const auto text = ReadBody({.json_size = 0}, "hello", "input { name: 'x' data_type: TYPE_STRING dims: [1] }");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->request.raw_inputs[0]->Joined(), std::string("\5\0\0\0hello", 9));
}

TEST(InferBody, ABodyWithoutJsonIsForModelsWhereItsMeaningIsClear) {
  const auto error = [](const std::string& config) {
    const auto body = ReadBody({.json_size = 0}, "x", config);
    EXPECT_EQ(body.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(body.status().message());
  };
  EXPECT_THAT(error(""), HasSubstr("one input; this one has 0"));
  EXPECT_THAT(error("input { name: 'x' data_type: TYPE_FP32 dims: [-1, -1] }"), HasSubstr("more than one dimension"));
  EXPECT_THAT(error("input { name: 'x' data_type: TYPE_STRING dims: [2] }"), HasSubstr("must have the shape [1]"));
  EXPECT_THAT(error("input { name: 'x' data_type: TYPE_STRING dims: [-1] }"), HasSubstr("must have the shape [1]"));
  EXPECT_THAT(error("input { name: 'x' dims: [1] }"), HasSubstr("has no datatype"));
  EXPECT_THAT(error("input { name: 'x' data_type: TYPE_FP32 dims: [4294967296, 4294967296] }"), HasSubstr("too large"));
}

}  // namespace
}  // namespace hearth::server
