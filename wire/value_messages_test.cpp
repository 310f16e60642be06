// Values to messages and back. What a schema accepts is what torch.jit 2.11 accepted of the same Python value, method
// by method; integration_tests/test_native_service.py asks it anew.
#include <ATen/Functions.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <cstring>

#include "wire/conversion_check.h"
#include "wire/message_from_value.h"
#include "wire/value_from_message.h"

namespace hearth {
namespace {

using c10::IValue;
using ::testing::HasSubstr;

v1::Value Message(const std::string& text) {
  v1::Value message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

c10::TypePtr Type(const std::string& text) {
  return torch::jit::parseSchema("f(" + text + " x) -> ()").arguments()[0].type();
}

std::vector<RawBytes> OnePayload(const at::Tensor& tensor) {
  return {RawBytes::Of({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()})};
}

absl::StatusOr<IValue> Read(const std::string& text, const c10::TypePtr& type, std::vector<RawBytes> payloads = {}) {
  return ValueReader(std::move(payloads)).Read(Message(text), type, "x");
}

IValue Value(const std::string& text, const std::string& type) {
  const auto value = Read(text, Type(type));
  EXPECT_TRUE(value.ok()) << value.status() << " " << text << " as " << type;
  return value.ok() ? *value : IValue();
}

std::string Error(const std::string& text, const std::string& type) {
  const auto value = Read(text, Type(type));
  EXPECT_FALSE(value.ok()) << *value << " of " << text << " as " << type;
  EXPECT_TRUE(value.ok() || value.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(value.status().message());
}

TEST(ValueFromMessage, NumbersBecomeWhatTheSchemaAsksFor) {
  EXPECT_EQ(Value("int_value: 3", "float").toDouble(), 3.0);
  EXPECT_EQ(Value("bool_value: true", "float").toDouble(), 1.0);
  EXPECT_EQ(Value("bool_value: true", "int").toInt(), 1);
  EXPECT_EQ(Value("float_value: 0.5", "bool").toBool(), true);
  EXPECT_EQ(Value("none {}", "bool").toBool(), false);
  EXPECT_EQ(Value("float_value: 0.5", "complex").toComplexDouble(), c10::complex<double>(0.5));
  EXPECT_EQ(Error("float_value: 1.5", "int"), "x: expected int, got float");
  EXPECT_EQ(Error("complex_value { real: 1 }", "float"), "x: expected float, got complex");
  EXPECT_EQ(Error("str_value: '1'", "int"), "x: expected int, got str");
  EXPECT_EQ(Error("none {}", "int"), "x: expected int, got None");
  EXPECT_EQ(Error("", "int"), "x: expected int, got a value without a kind");
}

TEST(ValueFromMessage, ATensorOfOneElementIsANumber) {
  const std::string tensor = "tensor { dtype: 'float64' shape: 1 }";
  const at::Tensor number = at::full({1}, 2.5, at::kDouble);
  EXPECT_EQ(Read(tensor, Type("float"), OnePayload(number))->toDouble(), 2.5);
  EXPECT_EQ(Read(tensor, Type("int"), OnePayload(number))->toInt(), 2);
  const auto two = Read("tensor { dtype: 'float64' shape: 2 }", Type("float"), OnePayload(at::ones(2, at::kDouble)));
  EXPECT_THAT(std::string(two.status().message()), HasSubstr("expected float, got a Tensor of shape [2]"));
  const auto large = Read(tensor, Type("int"), OnePayload(at::full({1}, 1e300, at::kDouble)));
  EXPECT_FALSE(large.ok());
}

TEST(ValueFromMessage, ListsHaveTheElementsOfTheSchemaAlsoWhenTheyAreEmpty) {
  EXPECT_TRUE(Value("list {}", "int[]").isIntList());
  EXPECT_TRUE(Value("tuple {}", "Tensor[]").isTensorList());
  EXPECT_EQ(Value("list { items { int_value: 1 } items { float_value: 2.5 } }", "float[]").toDoubleVector(),
            (std::vector<double>{1, 2.5}));
  EXPECT_EQ(Error("list { items { int_value: 1 } items { str_value: 'a' } }", "int[]"), "x[1]: expected int, got str");
  EXPECT_EQ(Error("dict {}", "int[]"), "x: expected List[int], got dict");
}

TEST(ValueFromMessage, TuplesHaveTheLengthOfTheSchema) {
  const IValue tuple = Value("list { items { int_value: 1 } items { int_value: 2 } }", "(int, float)");
  EXPECT_EQ(tuple.toTupleRef().elements()[1].toDouble(), 2.0);
  EXPECT_THAT(Error("tuple { items { int_value: 1 } }", "(int, float)"), HasSubstr("expected 2 elements"));
}

TEST(ValueFromMessage, DictsHaveTheKeysOfTheSchema) {
  const IValue dict = Value("dict { entries { key { int_value: 1 } value { int_value: 2 } } }", "Dict(float, complex)");
  EXPECT_EQ(dict.toGenericDict().at(1.0).toComplexDouble(), c10::complex<double>(2));
  EXPECT_EQ(Error("dict { entries { key { str_value: 'k' } value { none {} } } }", "Dict(str, int)"),
            "x['k']: expected int, got None");
}

TEST(ValueFromMessage, ADeviceIsAlsoGivenByItsName) {
  EXPECT_EQ(Value("str_value: 'cpu'", "Device").toDevice(), c10::Device("cpu"));
  EXPECT_EQ(Value("device_value: 'cuda:1'", "Device").toDevice(), c10::Device("cuda:1"));
  EXPECT_THAT(Error("device_value: 'toaster'", "Device"), HasSubstr("got 'toaster'"));
}

TEST(ValueFromMessage, WhereAnyValueMayStandItsOwnTypeIsFound) {
  const IValue list = *Read("list { items { int_value: 1 } }", c10::AnyType::get());
  EXPECT_TRUE(list.isIntList());
  const auto optional = Read("list { items { int_value: 1 } items { none {} } }", c10::AnyType::get());
  EXPECT_EQ(optional->type()->annotation_str(), "List[Optional[int]]");
  EXPECT_THAT(std::string(Read("list {}", c10::AnyType::get()).status().message()), HasSubstr("has no type"));
  const auto mixed = Read("list { items { int_value: 1 } items { str_value: 'a' } }", c10::AnyType::get());
  EXPECT_THAT(std::string(mixed.status().message()), HasSubstr("of one type, got int and str"));
}

TEST(ValueFromMessage, AUnionTakesAValueThatIsOneOfIts) {
  const c10::TypePtr type = c10::UnionType::create({c10::FloatType::get(), c10::StringType::get()});
  EXPECT_TRUE(Read("str_value: 'a'", type)->isString());
  EXPECT_THAT(std::string(Read("int_value: 1", type).status().message()), HasSubstr("got int"));
}

TEST(ValueFromMessage, AnEnumIsNamed) {
  const auto type = c10::EnumType::create(c10::QualifiedName("__torch__.Color"), c10::IntType::get(),
                                          {{"RED", IValue(1)}, {"BLUE", IValue(2)}}, {});
  EXPECT_EQ(Read("enum_value { name: 'BLUE' }", type)->toEnumHolder()->value().toInt(), 2);
  EXPECT_TRUE(Read("enum_value { name: 'BLUE' value { int_value: 2 } }", type).ok());
  EXPECT_FALSE(Read("enum_value { name: 'BLUE' value { int_value: 1 } }", type).ok());
  EXPECT_THAT(std::string(Read("enum_value { name: 'GREEN' }", type).status().message()),
              HasSubstr("has no member 'GREEN'"));
}

TEST(ValueFromMessage, AnObjectHasEachAttributeOnce) {
  const auto unit = std::make_shared<int>(0);
  const auto type = c10::ClassType::create(c10::QualifiedName("__torch__.Point"),
                                           std::reinterpret_pointer_cast<torch::jit::CompilationUnit>(unit));
  type->addAttribute("x", c10::FloatType::get());
  type->addAttribute("y", c10::FloatType::get());
  const std::string x = "fields { name: 'x' value { int_value: 1 } }",
                    y = "fields { name: 'y' value { int_value: 2 } }";
  const auto point = Read("object {" + y + x + "}", type);
  ASSERT_TRUE(point.ok()) << point.status();
  EXPECT_EQ(point->toObjectRef().getAttr("y").toDouble(), 2.0);
  EXPECT_THAT(std::string(Read("object {" + x + "}", type).status().message()), HasSubstr("lacks the attribute 'y'"));
  EXPECT_THAT(std::string(Read("object {" + x + x + "}", type).status().message()), HasSubstr("'x' twice"));
  EXPECT_THAT(std::string(Read("object { fields { name: 'z' } }", type).status().message()),
              HasSubstr("no attribute 'z'"));
}

TEST(ValueFromMessage, TensorsThatDoNotFitTheirPayloadsAreRefused) {
  const c10::TypePtr type = c10::TensorType::get();
  const auto error = [&](const std::string& tensor) {
    return std::string(Read("tensor {" + tensor + "}", type, OnePayload(at::ones(2))).status().message());
  };
  EXPECT_THAT(error("dtype: 'float33' shape: 2"), HasSubstr("the dtype 'float33'"));
  EXPECT_THAT(error("dtype: 'qint8' shape: 8"), HasSubstr("the dtype 'qint8'"));
  EXPECT_THAT(error("dtype: 'float32' shape: 3"), HasSubstr("expects 12 bytes, got 8"));
  EXPECT_THAT(error("dtype: 'float32' shape: -2"), HasSubstr("a dimension of -2"));
  EXPECT_THAT(error("dtype: 'float32' shape: 4611686018427387904 shape: 4"), HasSubstr("more elements than"));
  EXPECT_THAT(error("dtype: 'float32' shape: 2 payload: 1"), HasSubstr("expects payload 1; the message has 1"));
  const std::string tensor = "items { tensor { dtype: 'float32' shape: 2 } }";
  const auto twice = Read("list {" + tensor + tensor + "}", Type("Tensor[]"), OnePayload(at::ones(2)));
  EXPECT_THAT(std::string(twice.status().message()), HasSubstr("belongs to another tensor"));
  EXPECT_FALSE(ValueReader(OnePayload(at::ones(2))).CheckPayloads().ok());
}

TEST(ValueFromMessage, NestingIsBounded) {
  std::string text = "int_value: 1";
  for (int i = 0; i < 40; ++i) text = "list { items { " + text + " } }";
  EXPECT_THAT(std::string(Read(text, c10::AnyType::get()).status().message()), HasSubstr("nested deeper than 32"));
}

// Through a message and back, as a client reads it.
IValue Sent(const IValue& value) {
  v1::Value message;
  std::vector<at::Tensor> payloads;
  const absl::Status status = ValueToMessage(value, "result", message, payloads);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<RawBytes> raw;
  for (const at::Tensor& payload : payloads) {
    const at::Tensor tensor = ReadyToSend(payload);
    raw.push_back(RawBytes::Of({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()}));
  }
  const auto read = ValueReader(std::move(raw)).ReadWithoutSchema(message, "result");
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *read : IValue();
}

TEST(MessageFromValue, DtypesThatLibTorchHardlyKnowsArriveByteForByte) {
  const at::Tensor bytes = at::arange(8, at::kByte).reshape({2, 4});
  for (const auto dtype : {at::ScalarType::Bits8, at::ScalarType::Bits1x8, at::ScalarType::UInt1, at::ScalarType::UInt7,
                           at::ScalarType::Int4, at::ScalarType::Float4_e2m1fn_x2, at::ScalarType::Float8_e8m0fnu}) {
    const at::Tensor sent = Sent(bytes.view(dtype).t()).toTensor();
    ASSERT_EQ(sent.scalar_type(), dtype);
    EXPECT_TRUE(sent.view(at::kByte).equal(bytes.t())) << toString(dtype);
  }
}

TEST(MessageFromValue, EveryDtypeArrivesAsItWas) {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kBool, at::kByte, at::kChar,
                           at::kShort, at::kInt, at::kLong, at::kUInt16, at::kUInt32, at::kUInt64, at::kComplexFloat,
                           at::kComplexDouble, at::kComplexHalf, at::kFloat8_e5m2, at::kFloat8_e4m3fn}) {
    const at::Tensor tensor = at::arange(6, at::kFloat).to(dtype).reshape({2, 3});
    const at::Tensor sent = Sent(tensor).toTensor();
    ASSERT_EQ(sent.scalar_type(), dtype);
    ASSERT_EQ(sent.sizes(), tensor.sizes());
    EXPECT_EQ(std::memcmp(sent.const_data_ptr(), tensor.const_data_ptr(), tensor.nbytes()), 0) << toString(dtype);
  }
}

TEST(MessageFromValue, ValuesArriveAsTheyWere) {
  EXPECT_TRUE(Sent(IValue()).isNone());
  EXPECT_EQ(Sent(true).toBool(), true);
  EXPECT_EQ(Sent(-3).toInt(), -3);
  EXPECT_EQ(Sent(c10::complex<double>(1, -2)).toComplexDouble(), c10::complex<double>(1, -2));
  EXPECT_EQ(Sent(c10::Device("cuda:1")).toDevice(), c10::Device("cuda:1"));
  EXPECT_EQ(Sent(std::vector<int64_t>{1, 2}).toIntVector(), (std::vector<int64_t>{1, 2}));
  const auto type =
      c10::TupleType::createNamed(c10::QualifiedName("__torch__.Pair"), std::vector<std::string>{"a", "b"},
                                  {c10::IntType::get(), c10::StringType::get()});
  const IValue named = Sent(c10::ivalue::Tuple::createNamed({1, "x"}, type));
  EXPECT_EQ(named.toTupleRef().type()->schema()->arguments()[1].name(), "b");
  c10::impl::GenericDict dict(c10::IntType::get(), c10::TensorType::get());
  dict.insert(7, at::ones(2));
  EXPECT_TRUE(Sent(dict).toGenericDict().at(7).toTensor().equal(at::ones(2)));
}

TEST(MessageFromValue, WhatHasNoFormIsRefusedByItsPlace) {
  v1::Value message;
  std::vector<at::Tensor> payloads;
  const auto error = [&](const IValue& value) {
    const IValue tuple = c10::ivalue::Tuple::create({1, value});
    return std::string(ValueToMessage(tuple, "the result", message, payloads).message());
  };
  EXPECT_THAT(error(at::ones(2).to_sparse()), HasSubstr("the result[1]: is a tensor of SparseCPUFloatType"));
  EXPECT_THAT(error(at::quantize_per_tensor(at::ones(2), 0.5, 0, at::kQInt8)), HasSubstr("the result[1]"));
  EXPECT_THAT(error("\xc3\x28"), HasSubstr("not UTF-8"));
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("k", at::ones(2).to_sparse());
  EXPECT_THAT(error(dict), HasSubstr("the result[1]['k']: is a tensor"));
}

TEST(ValueFromMessage, AnErrorSaysWhereInTheValueItIs) {
  const auto of_key = [](const std::string& key) {
    return "dict { entries { key {" + key + "} value { list { items { int_value: 1 } items { none {} } } } } }";
  };
  EXPECT_EQ(Error(of_key("str_value: 'k'"), "Dict(str, int[])"), "x['k'][1]: expected int, got None");
  EXPECT_EQ(Error(of_key("int_value: -3"), "Dict(int, int[])"), "x[-3][1]: expected int, got None");
  EXPECT_EQ(Error(of_key("float_value: 1"), "Dict(float, int[])"), "x[float][1]: expected int, got None");
  EXPECT_EQ(Error("list { items {" + of_key("int_value: 1") + "} }", "Dict(str, int[])[]"),
            "x[0].key: expected str, got int");
}

// Says after so many questions that the conversion is not wanted.
class WantedFor {
 public:
  explicit WantedFor(int questions) : left_(questions) {}
  int left() const { return left_; }

 private:
  int left_;
  ConversionScope scope_{[this] { return --left_ < 0 ? absl::CancelledError("no longer") : absl::OkStatus(); }};
};

TEST(ValueFromMessage, ALongConversionEndsWhenItIsNotWantedAnyMore) {
  v1::Value message;
  for (int i = 0; i < 100'000; ++i) message.mutable_list()->add_items()->set_int_value(i);
  const auto read = [&] { return ValueReader({}).Read(message, Type("int[]"), "x"); };
  {
    const WantedFor all(1000);
    EXPECT_TRUE(read().ok());
    EXPECT_LT(all.left(), 1000 - 90);
    const WantedFor few(3);
    EXPECT_THROW((void)read(), ConversionEnded);
    EXPECT_THROW((void)ValueReader({}).ReadWithoutSchema(message, "x"), ConversionEnded);
    EXPECT_EQ(few.left(), -2);
  }
  EXPECT_TRUE(read().ok());
}

TEST(MessageFromValue, ALongConversionEndsWhenItIsNotWantedAnyMore) {
  c10::List<int64_t> list;
  for (int64_t i = 0; i < 100'000; ++i) list.push_back(i);
  v1::Value message;
  std::vector<at::Tensor> payloads;
  const WantedFor few(3);
  EXPECT_THROW((void)ValueToMessage(IValue(list), "x", message, payloads), ConversionEnded);
}

}  // namespace
}  // namespace hearth
