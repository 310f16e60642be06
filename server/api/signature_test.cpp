#include "server/api/signature.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

namespace hearth::server {
namespace {

using c10::IValue;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

WireTensor Numbers(const std::string& name, std::vector<int64_t> shape, c10::ScalarType scalar = c10::kFloat) {
  return {name, FindDatatype(scalar), shape, at::full(shape, 1, at::TensorOptions(scalar)), {}};
}

WireTensor Strings(const std::string& name, std::vector<std::string> strings) {
  return {name, BytesDatatype(), {static_cast<int64_t>(strings.size())}, {}, strings};
}

class SignatureTest : public ::testing::Test {
 protected:
  absl::Status Make(const std::string& schema, const std::string& config = "") {
    schema_ = torch::jit::parseSchema("forward(Any self" + (schema[0] == ')' ? schema : ", " + schema));
    inference::ModelConfig parsed;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &parsed));
    auto signature = Signature::Create(*schema_, parsed);
    if (!signature.ok()) return signature.status();
    signature_ = *std::move(signature);
    return absl::OkStatus();
  }

  absl::StatusOr<BoundArguments> Bind(std::vector<WireTensor> inputs) { return signature_->Bind(std::move(inputs)); }
  std::string BindError(std::vector<WireTensor> inputs) {
    const absl::Status status = Bind(std::move(inputs)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  std::vector<std::string> Names(IValue result, const std::vector<std::string>& requested = {}) {
    auto outputs = signature_->Unbind(std::move(result), requested);
    if (!outputs.ok()) return {std::string(outputs.status().message())};
    std::vector<std::string> names;
    for (const WireTensor& output : *outputs) names.push_back(output.name);
    return names;
  }

  std::optional<c10::FunctionSchema> schema_;
  std::unique_ptr<const Signature> signature_;
};

TEST_F(SignatureTest, ArgumentsAreFilledByNameInAnyOrder) {
  ASSERT_TRUE(Make("Tensor a, Tensor b) -> Tensor").ok());
  const auto bound = Bind({Numbers("b", {2}), Numbers("a", {3})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->args.size(), 2u);
  EXPECT_EQ(bound->args[0].toTensor().numel(), 3);
  EXPECT_EQ(bound->args[1].toTensor().numel(), 2);
}

// Only the runtime knows the device, and copies on the stream of the run.
TEST_F(SignatureTest, TensorsAreTheRequestsOwnMemoryWhateverHoldsThem) {
  ASSERT_TRUE(Make("Tensor a, Tensor? b, Tensor[] c, Dict(str, Tensor) d) -> Tensor").ok());
  std::vector<WireTensor> inputs = {Numbers("a", {2}), Numbers("b", {2}), Numbers("c.0", {2}), Numbers("d.key", {2})};
  std::vector<const void*> memory;
  for (const WireTensor& input : inputs) memory.push_back(input.tensor.const_data_ptr());
  const auto bound = Bind(std::move(inputs));
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->args.size(), 4u);
  EXPECT_EQ(bound->args[0].toTensor().const_data_ptr(), memory[0]);
  EXPECT_EQ(bound->args[1].toTensor().const_data_ptr(), memory[1]);
  EXPECT_EQ(bound->args[2].toListRef()[0].toTensor().const_data_ptr(), memory[2]);
  EXPECT_EQ(bound->args[3].toGenericDict().at("key").toTensor().const_data_ptr(), memory[3]);
}

TEST_F(SignatureTest, WhatFollowsADefaultThatIsLeftOutGoesByKeyword) {
  ASSERT_TRUE(Make("Tensor a, float scale=2.0, int times=1) -> Tensor").ok());
  const auto bound = Bind({Numbers("a", {1}), Numbers("times", {}, c10::kInt)});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->args.size(), 1u);
  ASSERT_EQ(bound->kwargs.size(), 1u);
  EXPECT_EQ(bound->kwargs[0].first, "times");
  EXPECT_EQ(bound->kwargs[0].second.toInt(), 1);
}

TEST_F(SignatureTest, ScalarsComeFromOneElement) {
  ASSERT_TRUE(Make("int i, float f, bool b, str s) -> int").ok());
  const auto bound = Bind({Numbers("i", {1}, c10::kByte), Numbers("f", {}, c10::kHalf), Numbers("b", {1}, c10::kBool),
                           Strings("s", {"hello"})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->args[0].toInt(), 1);
  EXPECT_EQ(bound->args[1].toDouble(), 1.0);
  EXPECT_TRUE(bound->args[2].toBool());
  EXPECT_EQ(bound->args[3].toStringRef(), "hello");
}

TEST_F(SignatureTest, AFloatDoesNotBecomeAnIntUnnoticed) {
  ASSERT_TRUE(Make("int i) -> int").ok());
  EXPECT_THAT(BindError({Numbers("i", {}, c10::kFloat)}), HasSubstr("expects INT64 or another integer, got FP32"));
  EXPECT_THAT(BindError({Numbers("i", {2}, c10::kLong)}), HasSubstr("got the shape [2]"));
}

TEST_F(SignatureTest, ContainersAreBuiltFromPaths) {
  ASSERT_TRUE(Make("Tensor[] list, (int, Tensor) pair, Dict(str, Tensor) dict, int[] ints, str[] names) -> int").ok());
  const auto bound =
      Bind({Numbers("list.1", {5}), Numbers("list.0", {4}), Numbers("pair.1", {7}), Numbers("pair.0", {}, c10::kLong),
            Numbers("dict.a.b", {2}), Numbers("ints", {3}, c10::kInt), Strings("names", {"x", "y"})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->args[0].toTensorVector().at(1).numel(), 5);
  EXPECT_EQ(bound->args[1].toTupleRef().elements()[0].toInt(), 1);
  EXPECT_EQ(bound->args[2].toGenericDict().at("a.b").toTensor().numel(), 2);
  EXPECT_THAT(bound->args[3].toIntVector(), ElementsAre(1, 1, 1));
  EXPECT_EQ(bound->args[4].toListRef()[1].toStringRef(), "y");
  EXPECT_TRUE(bound->args[0].type()->isSubtypeOf(*schema_->arguments()[1].type()));
}

TEST_F(SignatureTest, AnOptionalThatIsLeftOutIsNone) {
  ASSERT_TRUE(Make("Tensor a, Tensor? b) -> Tensor").ok());
  const auto bound = Bind({Numbers("a", {1})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->args[1].isNone());
}

TEST_F(SignatureTest, PositionsReachPartsToo) {
  ASSERT_TRUE(Make("Tensor a, Tensor[] b) -> Tensor").ok());
  const auto bound = Bind({Numbers("INPUT__1.0", {2}), Numbers("anything__0", {1})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->args[1].toTensorVector().at(0).numel(), 2);
  EXPECT_THAT(BindError({Numbers("INPUT__2", {1})}), HasSubstr("'INPUT__2' is not known"));
}

TEST_F(SignatureTest, ConfiguredNamesThatAreNoArgumentsStandForThemInOrder) {
  ASSERT_TRUE(Make("Tensor a, Tensor b) -> Tensor", R"pb(
                input { name: "left" data_type: TYPE_FP32 dims: 1 }
                input { name: "right" data_type: TYPE_FP32 dims: -1 }
              )pb")
                  .ok());
  const auto bound = Bind({Numbers("right", {2}), Numbers("left", {1})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->args[1].toTensor().numel(), 2);
  EXPECT_THAT(BindError({Numbers("left", {1})}), HasSubstr("'right' (Tensor) is missing"));
  EXPECT_THAT(BindError({Numbers("left", {1}), Numbers("b", {1}), Numbers("right", {1})}),
              HasSubstr("'right' is given more than once"));
}

TEST_F(SignatureTest, AConfigurationWithMoreInputsThanArgumentsFailsTheLoad) {
  const absl::Status status = Make("Tensor a) -> Tensor", R"pb(
    input { name: "left" data_type: TYPE_FP32 dims: 1 }
    input { name: "right" data_type: TYPE_FP32 dims: 1 }
  )pb");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("2 inputs, but 'forward' takes 1 arguments: 'a' (Tensor)"));
}

TEST_F(SignatureTest, AReshapeIsBetweenTheClientsShapeAndTheModels) {
  ASSERT_TRUE(Make("Tensor a) -> Tensor", R"pb(
                max_batch_size: 8
                input {
                  name: "a"
                  data_type: TYPE_FP32
                  dims: 1
                  reshape { shape: [] }
                }
                output {
                  name: "y"
                  data_type: TYPE_FP32
                  dims: 1
                  reshape { shape: [] }
                }
              )pb")
                  .ok());
  const auto bound = Bind({Numbers("a", {5, 1})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(bound->args[0].toTensor().sizes(), ElementsAre(5));
  EXPECT_EQ(bound->batch_size, 5);
  const auto outputs = signature_->Unbind(IValue(at::full({5}, 1, at::TensorOptions(c10::kFloat))), {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->at(0).name, "y");
  EXPECT_THAT(outputs->at(0).shape, ElementsAre(5, 1));
}

TEST_F(SignatureTest, LeavesAreNamedByTheirPaths) {
  ASSERT_TRUE(Make(") -> int").ok());
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("boxes", at::arange(3));
  dict.insert("labels", at::arange(2));
  const IValue answer(c10::ivalue::Tuple::create({IValue(dict), IValue(), IValue(3), IValue("text")}));
  EXPECT_THAT(Names(answer), ElementsAre("0.boxes", "0.labels", "2", "3"));
  EXPECT_THAT(Names(answer, {"OUTPUT__0.labels", "1", "3"}), ElementsAre("OUTPUT__0.labels", "3"));
  EXPECT_THAT(Names(answer, {"nothing"}),
              ElementsAre(HasSubstr("'nothing' is not in the answer, which has '0.boxes', '0.labels', '1', '2', '3'")));
}

TEST_F(SignatureTest, AnAnswerThatIsOneLeafHasTritonsName) {
  ASSERT_TRUE(Make(") -> int").ok());
  EXPECT_THAT(Names(IValue(at::arange(3))), ElementsAre("OUTPUT__0"));
  EXPECT_THAT(Names(IValue(c10::List<int64_t>({1, 2}))), ElementsAre("OUTPUT__0"));
  EXPECT_THAT(Names(IValue()), ElementsAre());
  EXPECT_THAT(Names(IValue(at::arange(3)), {"OUTPUT__1"}), ElementsAre(HasSubstr("is not in the answer")));
}

TEST_F(SignatureTest, ConfiguredOutputsAreFoundByPathPositionOrOrder) {
  ASSERT_TRUE(Make(") -> int", R"pb(
                output { name: "scores" data_type: TYPE_INT64 dims: -1 }
                output { name: "OUTPUT__1" data_type: TYPE_INT64 dims: -1 }
              )pb")
                  .ok());
  EXPECT_THAT(Names(IValue(c10::ivalue::Tuple::create({IValue(at::arange(3)), IValue(at::arange(2))}))),
              ElementsAre("scores", "OUTPUT__1"));
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("other", at::arange(1));
  dict.insert("scores", at::arange(7));
  const auto outputs = signature_->Unbind(IValue(dict), {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(outputs->at(0).shape, ElementsAre(7));
}

TEST_F(SignatureTest, AnOutputOfAnotherDatatypeThanConfiguredIsTheModelsFault) {
  ASSERT_TRUE(Make(") -> int", "output { name: 'y' data_type: TYPE_FP32 dims: -1 }").ok());
  const absl::Status status = signature_->Unbind(IValue(at::arange(3)), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'y' is INT64; the model's configuration says FP32"));
}

TEST_F(SignatureTest, MemoryThatSomeoneElseHoldsIsCopied) {
  ASSERT_TRUE(Make(") -> int").ok());
  const at::Tensor weight = at::arange(4);
  const auto held = signature_->Unbind(IValue(weight), {});
  EXPECT_NE(held->at(0).tensor.const_data_ptr(), weight.const_data_ptr());
  at::Tensor own = at::arange(4);
  const void* memory = own.const_data_ptr();
  const auto given = signature_->Unbind(IValue(std::move(own)), {});
  EXPECT_EQ(given->at(0).tensor.const_data_ptr(), memory);
}

TEST_F(SignatureTest, WhatTheProtocolCannotCarryIsNamed) {
  ASSERT_TRUE(Make(") -> int").ok());
  const auto complex = at::full({2}, 1, at::TensorOptions(c10::kComplexFloat));
  const absl::Status status = signature_->Unbind(IValue(c10::ivalue::Tuple::create({IValue(complex)})), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("at '0'"));
}

TEST_F(SignatureTest, MetadataComesFromTheSchema) {
  ASSERT_TRUE(Make("Tensor a, (int, float)[] b, str? c=None) -> ((Tensor, Dict(str, int[])))").ok());
  std::vector<std::string> inputs;
  for (const TensorSpec& spec : signature_->inputs()) {
    inputs.push_back(spec.name + (spec.datatype ? std::string(" ") + spec.datatype->name : "") +
                     (spec.optional ? " optional" : ""));
  }
  EXPECT_THAT(inputs, ElementsAre("a", "b.*.0 INT64", "b.*.1 FP64", "c BYTES optional"));
  const std::vector<TensorSpec> outputs = signature_->outputs();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].name, "1.*");
  EXPECT_THAT(*outputs[1].shape, ElementsAre(-1));
}

}  // namespace
}  // namespace hearth::server
