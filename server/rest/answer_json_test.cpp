#include "server/rest/answer_json.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hearth::server {
namespace {

using nlohmann::json;

AnswerOutput Output(const char* name, at::Tensor tensor) {
  return {{name, FindDatatype(tensor.scalar_type()), tensor.sizes().vec(), tensor, {}}, std::nullopt};
}

AnswerOutput Strings(const char* name, std::vector<std::string> strings) {
  return {{name, BytesDatatype(), {static_cast<int64_t>(strings.size())}, {}, std::move(strings)}, std::nullopt};
}

std::string Bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

std::string JsonOf(AnswerOutput output) {
  const auto answer = EncodeJsonAnswer({"m", "1", ""}, {std::move(output)}, {false});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? Bytes(answer->body) : "";
}

TEST(JsonAnswer, HasTheFieldsOfTheProtocol) {
  auto answer = EncodeJsonAnswer(
      {"m", "3", "42"}, {Output("a", at::tensor({1, 2, 3, 4}, at::kInt).view({2, 2})), Strings("b", {"x", "\"\n"})},
      {false, false});
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->has_binary);
  EXPECT_EQ(answer->json_size, answer->body.Length());
  EXPECT_EQ(json::parse(Bytes(answer->body)), json::parse(R"({
    "id": "42", "model_name": "m", "model_version": "3", "outputs": [
      {"name": "a", "datatype": "INT32", "shape": [2, 2], "data": [1, 2, 3, 4]},
      {"name": "b", "datatype": "BYTES", "shape": [2], "data": ["x", "\"\n"]}]})"));
  EXPECT_FALSE(json::parse(JsonOf(Output("a", at::zeros({1})))).contains("id"));
}

TEST(JsonAnswer, BinaryContentsFollowTheJson) {
  const at::Tensor large = at::arange(5000, at::kFloat);
  auto answer = EncodeJsonAnswer(
      {"m", "3", ""},
      {Output("a", large), Output("b", at::ones({2}, at::kByte)), Strings("c", {"xy"}), Output("d", at::empty({0}))},
      {true, false, true, true});
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->has_binary);
  const std::string bytes = Bytes(answer->body);
  const json header = json::parse(bytes.substr(0, answer->json_size));
  EXPECT_EQ(header["outputs"][0]["parameters"], json::parse(R"({"binary_data_size": 20000})"));
  EXPECT_FALSE(header["outputs"][0].contains("data"));
  EXPECT_EQ(header["outputs"][1]["data"], json::parse("[1, 1]"));
  EXPECT_EQ(header["outputs"][2]["parameters"]["binary_data_size"], 6);
  EXPECT_EQ(header["outputs"][3]["parameters"]["binary_data_size"], 0);
  const std::string expected(static_cast<const char*>(large.const_data_ptr()), large.nbytes());
  EXPECT_EQ(bytes.substr(answer->json_size), expected + std::string("\2\0\0\0xy", 6));
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(answer->body.Dump(&slices).ok());
  EXPECT_EQ(slices.at(1).begin(), large.const_data_ptr()) << "large contents are not copied";
}

TEST(JsonAnswer, NothingBehindTheJsonIsNoBinaryAnswer) {
  const auto answer = EncodeJsonAnswer({"m", "1", ""}, {Output("a", at::empty({0}))}, {true});
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->has_binary);
}

TEST(JsonAnswer, WhatWasWrittenToSharedMemorySaysWhere) {
  AnswerOutput output = Output("a", at::zeros({2}));
  output.written_to = RegionPlace{"r", 8, 8};
  const auto answer = EncodeJsonAnswer({"m", "1", ""}, {std::move(output)}, {true});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(json::parse(Bytes(answer->body))["outputs"][0], json::parse(R"({
    "name": "a", "datatype": "FP32", "shape": [2],
    "parameters": {"shared_memory_region": "r", "shared_memory_byte_size": 8, "shared_memory_offset": 8}})"));
}

TEST(JsonAnswer, IntegersAreExactAndBooleansAreBooleans) {
  EXPECT_NE(JsonOf(Output("a", at::scalar_tensor(INT64_MIN, at::kLong))).find("[-9223372036854775808]"),
            std::string::npos);
  EXPECT_NE(JsonOf(Output("a", at::full({1}, -1, at::kLong).view(at::kUInt64))).find("[18446744073709551615]"),
            std::string::npos);
  EXPECT_NE(JsonOf(Output("a", at::tensor({1, 0}).to(at::kBool))).find("[true,false]"), std::string::npos);
}

TEST(JsonAnswer, FloatsReadAsDoublesAreTheSameFloats) {
  std::vector<float> values{0.1F,
                            -0.0F,
                            1e-45F,
                            std::numeric_limits<float>::max(),
                            16777216.0F,
                            std::bit_cast<float>(0x15ae43fdU),
                            std::bit_cast<float>(0x95ae43fdU)};
  for (uint32_t bits = 1; bits < 0x7f800000; bits += 9'999'991) values.push_back(std::bit_cast<float>(bits));
  const json data = json::parse(JsonOf(Output("a", at::tensor(values))))["outputs"][0]["data"];
  ASSERT_EQ(data.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(data[i].get<double>())), std::bit_cast<uint32_t>(values[i]));
  }
  EXPECT_NE(JsonOf(Output("a", at::tensor({0.1F, 3.0F}))).find("[0.1,3.0]"), std::string::npos);
}

TEST(JsonAnswer, NoNumbersAreSpeltAsPythonSpellsThem) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_NE(JsonOf(Output("a", at::tensor({kInfinity, -kInfinity, std::nan("")}))).find("[Infinity,-Infinity,NaN]"),
            std::string::npos);
}

TEST(JsonAnswer, WhatJsonCannotCarryIsRefused) {
  for (AnswerOutput& output : std::vector{Output("a", at::zeros({1}, at::kHalf)),
                                          Output("a", at::zeros({1}, at::kBFloat16)), Strings("a", {"\xff"})}) {
    EXPECT_THAT(EncodeJsonAnswer({"m", "1", ""}, {output}, {false}).status().message(),
                testing::HasSubstr("cannot be sent as JSON: ask for it with binary_data"));
    EXPECT_TRUE(EncodeJsonAnswer({"m", "1", ""}, {output}, {true}).ok());
  }
}

}  // namespace
}  // namespace hearth::server
