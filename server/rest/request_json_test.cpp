#include "server/rest/request_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/support/memory_account.h"
#include "server/rest/json_text.h"
#include "wire/conversion_check.h"
#include "wire/wire_tensor.h"

namespace hearth::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<InferRequestJson> Read(const std::string& json) {
  static google::protobuf::Arena arena;
  return ReadInferRequestJson(json, arena);
}

std::string Error(const std::string& json) {
  const auto request = Read(json);
  EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument) << json;
  return std::string(request.status().message());
}

std::string WithInput(const std::string& input) { return absl::StrCat(R"({"inputs":[{)", input, "}]}"); }

std::string Input(const std::string& datatype, const std::string& shape, const std::string& data) {
  return WithInput(absl::StrCat(R"("name":"x","shape":)", shape, R"(,"datatype":")", datatype, R"(","data":)", data));
}

template <typename T>
std::vector<T> Elements(const std::string& json) {
  const auto request = Read(json);
  EXPECT_TRUE(request.ok()) << request.status() << json;
  if (!request.ok()) return {};
  const std::string bytes = request->inputs.at(0).read.value().Joined();
  EXPECT_EQ(bytes.size() % sizeof(T), 0U);
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

TEST(InferRequestJson, HasTheFieldsOfTheProtocolsMessage) {
  const auto request = Read(R"({
    "id": "42", "parameters": {"priority": 3, "timeout": 18446744073709551615, "flag": true, "x": "y", "f": 0.5},
    "inputs": [
      {"name": "a", "shape": [2, 3], "datatype": "INT32", "data": [[1, 2, 3], [4, 5, 6]]},
      {"name": "b", "shape": [], "datatype": "BYTES", "parameters": {"binary_data_size": 9}},
      {"name": "c", "shape": [1], "datatype": "FP16",
       "parameters": {"shared_memory_region": "r", "shared_memory_byte_size": 2}}],
    "outputs": [{"name": "u"}, {"name": "v", "parameters": {"binary_data": true, "classification": 2}}]})");
  ASSERT_TRUE(request.ok()) << request.status();
  const inference::ModelInferRequest& fields = *request->fields;
  EXPECT_EQ(fields.id(), "42");
  EXPECT_EQ(fields.parameters().at("priority").int64_param(), 3);
  EXPECT_EQ(fields.parameters().at("timeout").uint64_param(), UINT64_MAX);
  EXPECT_TRUE(fields.parameters().at("flag").bool_param());
  EXPECT_EQ(fields.parameters().at("x").string_param(), "y");
  EXPECT_EQ(fields.parameters().at("f").double_param(), 0.5);
  ASSERT_EQ(fields.inputs_size(), 3);
  EXPECT_EQ(fields.inputs(0).name(), "a");
  EXPECT_THAT(fields.inputs(0).shape(), ElementsAre(2, 3));
  EXPECT_EQ(fields.inputs(0).datatype(), "INT32");
  EXPECT_EQ(request->inputs[0].read->size, 24U);
  EXPECT_EQ(request->inputs[1].binary_size, 9U);
  EXPECT_TRUE(fields.inputs(1).parameters().empty());
  EXPECT_FALSE(request->inputs[2].read.has_value() || request->inputs[2].binary_size.has_value());
  EXPECT_EQ(fields.inputs(2).parameters().at("shared_memory_region").string_param(), "r");
  EXPECT_EQ(fields.outputs(1).name(), "v");
  EXPECT_THAT(request->binary_outputs, ElementsAre(std::nullopt, true));
  EXPECT_EQ(fields.outputs(1).parameters().size(), 1U);
  EXPECT_FALSE(request->binary_by_default);
}

TEST(InferRequestJson, FieldsComeInAnyOrderAndUnknownOnesAreReadOver) {
  EXPECT_THAT(Elements<int64_t>(R"({"a": [1, {"inputs": null}], "id": null, "outputs": null, "inputs": [
      {"data": [[1], [-2]], "k": [[{}]], "datatype": "INT64", "shape": [2], "name": "x"}]})"),
              ElementsAre(1, -2));
  EXPECT_EQ(Elements<char>(WithInput(R"("data":["a\"b","\u00e9"],"shape":[2],"datatype":"BYTES","name":"x")")),
            std::vector<char>({3, 0, 0, 0, 'a', '"', 'b', 2, 0, 0, 0, '\xc3', '\xa9'}));
}

TEST(InferRequestJson, IntegersAreExactToTheLastDigit) {
  EXPECT_THAT(Elements<int64_t>(Input("INT64", "[3]", "[9223372036854775807,-9223372036854775808,9007199254740993]")),
              ElementsAre(INT64_MAX, INT64_MIN, 9007199254740993));
  EXPECT_THAT(Elements<uint64_t>(Input("UINT64", "[2]", "[18446744073709551615,-0]")), ElementsAre(UINT64_MAX, 0));
  EXPECT_THAT(Elements<int8_t>(Input("INT8", "[2]", "[-128,127]")), ElementsAre(-128, 127));
  EXPECT_THAT(Elements<uint16_t>(Input("UINT16", "[1]", "[65535]")), ElementsAre(65535));
  EXPECT_THAT(Elements<uint32_t>(Input("UINT32", "[1]", "[4294967295]")), ElementsAre(4294967295U));
  EXPECT_THAT(Elements<int16_t>(Input("INT16", "[1]", "[-32768]")), ElementsAre(-32768));
  EXPECT_THAT(Elements<int32_t>(Input("INT32", "[1]", "[-2147483648]")), ElementsAre(INT32_MIN));
  EXPECT_THAT(Elements<uint8_t>(Input("BOOL", "[3]", "[true,false,true]")), ElementsAre(1, 0, 1));
}

TEST(InferRequestJson, NumbersThatTheDatatypeCannotHoldAreRefused) {
  EXPECT_THAT(Error(Input("UINT8", "[2]", "[0,256]")),
              HasSubstr("input 'x' of UINT8 has the element 256 at 1, which is not one"));
  EXPECT_THAT(Error(Input("INT8", "[1]", "[-129]")), HasSubstr("-129"));
  EXPECT_THAT(Error(Input("UINT32", "[1]", "[-1]")), HasSubstr("-1"));
  EXPECT_THAT(Error(Input("INT64", "[1]", "[9223372036854775808]")), HasSubstr("9223372036854775808"));
  EXPECT_THAT(Error(Input("INT32", "[1]", "[1.0]")), HasSubstr("1.0"));
  EXPECT_THAT(Error(Input("FP32", "[1]", "[3.5e38]")), HasSubstr("3.5e38"));
  EXPECT_THAT(Error(Input("FP32", "[1]", "[true]")), HasSubstr("true"));
  EXPECT_THAT(Error(Input("FP32", "[1]", "[\"1\"]")), HasSubstr("\"1\""));
  EXPECT_THAT(Error(Input("FP32", "[1]", "[null]")), HasSubstr("null"));
  EXPECT_THAT(Error(Input("FP32", "[1]", "[{}]")), HasSubstr("{...}"));
  EXPECT_THAT(Error(Input("BOOL", "[1]", "[1]")), HasSubstr("of BOOL has the element 1"));
  EXPECT_THAT(Error(Input("BYTES", "[1]", "[1]")), HasSubstr("of BYTES has the element 1"));
  EXPECT_THAT(Error(Input("FP16", "[1]", "[1]")), HasSubstr("send it as binary data"));
  EXPECT_THAT(Error(Input("BF16", "[1]", "[1]")), HasSubstr("send it as binary data"));
}

TEST(InferRequestJson, FloatsAreTheNearest) {
  EXPECT_THAT(Elements<float>(Input("FP32", "[7]", "[0.1,-1e-3,16777217,1e-60,-0.0,3.4028235e38,1]")),
              ElementsAre(0.1F, -1e-3F, 16777216.0F, 0.0F, -0.0F, std::numeric_limits<float>::max(), 1.0F));
  EXPECT_THAT(Elements<double>(Input("FP64", "[5]", "[0.1,1e-400,5e-324,1.7976931348623157e308,123456789012345678]")),
              ElementsAre(0.1, 0.0, 5e-324, std::numeric_limits<double>::max(), 123456789012345678.0));
  const std::vector<float> odd = Elements<float>(Input("FP32", "[4]", "[NaN,Infinity,-Infinity,-Inf]"));
  EXPECT_TRUE(std::isnan(odd[0]));
  EXPECT_EQ(odd[1], std::numeric_limits<float>::infinity());
  EXPECT_EQ(odd[2], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(odd[3], odd[2]);
}

TEST(InferRequestJson, AnExponentBeyondAllBoundsIsANumberOrAnError) {
  for (const char* number : {"1.11111111111e-2147483639", "0.1e-2147483648", "1e-99999999999999999999"}) {
    EXPECT_THAT(Elements<double>(Input("FP64", "[1]", absl::StrCat("[", number, "]"))), ElementsAre(0.0)) << number;
  }
  Error(Input("FP64", "[1]", "[1e2147483647]"));
  Error(WithInput(R"("name":"x","shape":[1e-2147483639],"datatype":"FP32","data":[1])"));
}

TEST(InferRequestJson, ContentsHaveAsManyElementsAsTheShape) {
  EXPECT_THAT(Error(Input("FP32", "[2]", "[1,2,3]")),
              HasSubstr("of shape [2] expects 2 elements, and its data has more"));
  EXPECT_THAT(Error(Input("FP32", "[2,2]", "[1,2,3]")), HasSubstr("of shape [2,2] expects 4 elements, got 3"));
  EXPECT_THAT(Error(Input("BYTES", "[2]", "[\"a\"]")), HasSubstr("expects 2 elements, got 1"));
  EXPECT_TRUE(Elements<float>(Input("FP32", "[0,5]", "[]")).empty());
  EXPECT_THAT(Elements<float>(Input("FP32", "[]", "[7]")), ElementsAre(7));
  // No memory is taken for what cannot come.
  MemoryAccount account(1 << 20);
  const MemoryAccount::Scope counting(&account);
  EXPECT_THAT(Error(Input("FP64", "[1000000000000]", "[1]")), HasSubstr("expects 1000000000000 elements"));
  EXPECT_THAT(Error(Input("FP64", "[9223372036854775807,9]", "[1]")), HasSubstr("more elements than memory can hold"));
  EXPECT_THAT(Error(Input("FP64", "[-1]", "[1]")), HasSubstr("dimension of -1"));
}

TEST(InferRequestJson, WhatIsNoRequestNamesThePlace) {
  EXPECT_THAT(Error(""), HasSubstr("is no JSON at byte 0"));
  EXPECT_THAT(Error("[]"), HasSubstr("has an array for the request, which should be an object"));
  EXPECT_THAT(Error("{}"), HasSubstr("has no 'inputs'"));
  EXPECT_THAT(Error("{\"inputs\":[]} x"), HasSubstr("is no JSON at byte 14"));
  EXPECT_THAT(Error(std::string("{\"inputs\":[]}\0{", 15)), HasSubstr("a zero byte"));
  EXPECT_THAT(Error("{\"inputs\":{}}"), HasSubstr("has an object for 'inputs', which should be an array"));
  EXPECT_THAT(Error("{\"inputs\":[3]}"), HasSubstr("has a number for an element of 'inputs'"));
  EXPECT_THAT(Error("{\"inputs\":[],\"inputs\":[]}"), HasSubstr("has 'inputs' twice"));
  EXPECT_THAT(Error("{\"inputs\":[],\"id\":5}"), HasSubstr("has a number for 'id', which should be a string"));
  EXPECT_THAT(Error("{\"inputs\":[],\"parameters\":{\"a\":1,\"a\":2}}"), HasSubstr("the parameter 'a' twice"));
  EXPECT_THAT(Error("{\"inputs\":[],\"parameters\":{\"a\":[]}}"), HasSubstr("a string, a number or a boolean"));
  EXPECT_THAT(Error("{\"inputs\":[],\"parameters\":{\"binary_data_output\":1}}"), HasSubstr("should be a boolean"));
  EXPECT_THAT(Error(WithInput(R"("name":"x","shape":[1.5],"datatype":"FP32","data":[1])")),
              HasSubstr("has the dimension 1.5 in 'inputs[0].shape'"));
  EXPECT_THAT(Error(WithInput(R"("name":"x","shape":[[1]],"datatype":"FP32","data":[1])")),
              HasSubstr("has an array for 'inputs[0].shape', which should be an integer"));
  EXPECT_THAT(Error(WithInput(R"("name":"x","shape":[1],"datatype":"FP33","data":[1])")),
              HasSubstr("has the unknown datatype 'FP33'"));
  EXPECT_THAT(Error(WithInput(R"("name":"x","shape":[1],"datatype":"FP32")")), HasSubstr("in 0 places"));
  EXPECT_THAT(
      Error(WithInput(R"("name":"x","shape":[1],"datatype":"FP32","data":[1],"parameters":{"binary_data_size":4})")),
      HasSubstr("in 2 places"));
  EXPECT_THAT(Error(WithInput(R"("name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":-4})")),
              HasSubstr("not a number of bytes"));
  EXPECT_THAT(Error("{\"inputs\":[],\"id\":\"\xff\"}"), HasSubstr("is no JSON"));
}

TEST(InferRequestJson, HalfOfASurrogatePairIsNoText) {
  for (const char* text : {"\\udc00", "a\\uDFFFb", "\\ud800", "\\ud800\\ud800", "\\udc00\\ud800", "\xed\xb0\x80"}) {
    EXPECT_THAT(Error(absl::StrCat("{\"inputs\":[],\"id\":\"", text, "\"}")), HasSubstr("is no JSON at byte ")) << text;
    EXPECT_THAT(Error(absl::StrCat("{\"", text, "\":[],\"inputs\":[]}")), HasSubstr("is no JSON at byte ")) << text;
  }
  const auto request = Read("{\"inputs\":[],\"id\":\"\\ud83d\\ude00 \\ud7ff \\ue000\"}");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->fields->id(), "\xf0\x9f\x98\x80 \xed\x9f\xbf \xee\x80\x80");
}

TEST(InferRequestJson, NestingAndCountsAreBounded) {
  const auto nested = [](int levels) { return std::string(levels, '[') + "1" + std::string(levels, ']'); };
  EXPECT_THAT(Elements<float>(Input("FP32", "[1]", nested(kDeepestJson - 3))), ElementsAre(1));
  EXPECT_THAT(Error(Input("FP32", "[1]", nested(200))), HasSubstr("nests deeper than 100 levels"));
  EXPECT_THAT(Error(std::string(1 << 20, '[')), HasSubstr("should be an object"));
  EXPECT_THAT(Error("{\"a\":" + std::string(1 << 20, '[')), HasSubstr("nests deeper than 100 levels"));
  std::string shape = "[1";
  for (int i = 0; i < kMostDimensions; ++i) shape += ",1";
  EXPECT_THAT(Error(Input("FP32", shape + "]", "[1]")), HasSubstr("more than 64 dimensions"));
  std::string inputs = "{\"inputs\":[{}";
  for (int i = 0; i < kMostRequestParts; ++i) inputs += ",{}";
  EXPECT_THAT(Error(inputs + "]}"), HasSubstr("more than 65536 inputs, outputs and parameters"));
}

TEST(InferRequestJson, EmptyArraysInContentsTakeNoMemory) {
  std::string data = "[";
  for (int i = 0; i < 1'000'000; ++i) data += "[],";
  MemoryAccount account(1 << 20);
  const std::string json = Input("FP32", "[1]", data + "1]");
  const MemoryAccount::Scope counting(&account);
  EXPECT_THAT(Elements<float>(json), ElementsAre(1));
  account.Check();
}

TEST(InferRequestJson, LongTextsAreReadNoFurtherThanTheyAreWanted) {
  std::string numbers = "[0";
  for (int i = 1; i < 100'000; ++i) numbers += ",0";
  int asked = 0;
  const ConversionScope scope([&] { return ++asked > 3 ? absl::CancelledError("no longer") : absl::OkStatus(); });
  EXPECT_THROW((void)Read(Input("FP32", "[100000]", numbers + "]")), ConversionEnded);
  EXPECT_THROW((void)Read(absl::StrCat(R"({"unknown":)", numbers, "]}")), ConversionEnded);
  EXPECT_EQ(asked, 5);
}

}  // namespace
}  // namespace hearth::server
