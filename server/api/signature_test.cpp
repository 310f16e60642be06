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

TEST_F(SignatureTest, WhatTheProtocolCannotCarryIsNamed) {
  ASSERT_TRUE(Make(") -> int").ok());
  const auto complex = at::full({2}, 1, at::TensorOptions(c10::kComplexFloat));
  const absl::Status status = signature_->Unbind(IValue(c10::ivalue::Tuple::create({IValue(complex)})), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("at '0'"));
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("caf\xe9", at::arange(3));
  EXPECT_THAT(Names(IValue(dict)), ElementsAre(HasSubstr("the model's answer is a dict with a key that is not UTF-8")));
}

TEST_F(SignatureTest, MetadataComesFromTheSchema) {
  ASSERT_TRUE(Make("Tensor a, (int, float)[] b, str? c=None) -> ((Tensor, Dict(str, int[])))").ok());
  std::vector<std::string> inputs;
  for (const TensorSpec& spec : signature_->inputs()) {
    inputs.push_back(spec.name + (spec.datatype ? std::string(" ") + spec.datatype->name : "") +
                     (spec.optional ? " optional" : ""));
  }
  EXPECT_THAT(inputs, ElementsAre("a FP32", "b.*.0 INT64", "b.*.1 FP64", "c BYTES optional"));
  EXPECT_EQ(signature_->inputs()[0].source, TensorSpec::Source::kAssumed);
  EXPECT_EQ(signature_->inputs()[1].source, TensorSpec::Source::kDeclared);
  const std::vector<TensorSpec> outputs = signature_->outputs();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].name, "1.*");
  EXPECT_THAT(*outputs[1].shape, ElementsAre(-1));
}

class ObservingTest : public SignatureTest {
 protected:
  // A call that goes well.
  void Call(std::vector<WireTensor> inputs, IValue result) {
    if (observed_ == nullptr) observed_ = signature_->ObservedAfter(nullptr);
    CallObservation observation{.known = observed_.get(), .inputs = {}, .outputs = {}};
    ASSERT_TRUE(signature_->Bind(std::move(inputs), &observation).ok());
    ASSERT_TRUE(signature_->Unbind(std::move(result), {}, &observation).ok());
    RecordObservation(*observed_, observation);
  }
  static std::vector<std::string> Texts(const std::vector<TensorSpec>& specs) {
    std::vector<std::string> texts;
    for (const TensorSpec& spec : specs) {
      const char* const marks[] = {"", " observed", " assumed"};
      texts.push_back(spec.name + " " + spec.datatype->name + " " + ShapeText(*spec.shape) +
                      marks[static_cast<int>(spec.source)]);
    }
    return texts;
  }
  std::vector<std::string> Inputs() { return Texts(signature_->inputs(&observed_->inputs)); }
  std::vector<std::string> Outputs() { return Texts(signature_->outputs(&observed_->outputs)); }

  std::shared_ptr<ObservedCalls> observed_;
};

TEST_F(ObservingTest, WhatTheSchemaLeavesOpenIsWhatCallsHad) {
  ASSERT_TRUE(Make("Tensor a, int n=1) -> ((Tensor, int))").ok());
  Call({Numbers("a", {2, 3}, c10::kLong)}, IValue(std::make_tuple(at::arange(4), int64_t{1})));
  EXPECT_THAT(Inputs(), ElementsAre("a INT64 [2,3] observed", "n INT64 []"));
  EXPECT_THAT(Outputs(), ElementsAre("0 INT64 [4] observed", "1 INT64 []"));
  // By whatever name the client calls it.
  Call({Numbers("INPUT__0", {5, 3}, c10::kLong)}, IValue(std::make_tuple(at::arange(5), int64_t{1})));
  EXPECT_THAT(Inputs(), ElementsAre("a INT64 [-1,3] observed", "n INT64 []"));
  EXPECT_THAT(Outputs(), ElementsAre("0 INT64 [-1] observed", "1 INT64 []"));
}

TEST_F(ObservingTest, PartsThatCallsNameAreListedByThoseNames) {
  ASSERT_TRUE(Make("Dict(str, Tensor) d, Tensor[] l) -> Dict(str, Tensor)").ok());
  c10::Dict<std::string, at::Tensor> answer;
  answer.insert("boxes", at::arange(3));
  answer.insert("more.labels", at::arange(2));
  Call({Numbers("d.x.y", {2}), Numbers("l.0", {1}), Numbers("l.1", {4})}, IValue(answer));
  EXPECT_THAT(Inputs(), ElementsAre("d.x.y FP32 [2] observed", "l.0 FP32 [1] observed", "l.1 FP32 [4] observed"));
  EXPECT_THAT(Outputs(), ElementsAre("boxes INT64 [3] observed", "more.labels INT64 [2] observed"));
  Call({Numbers("d.x.y", {2}), Numbers("l.0", {1})}, IValue(answer));
  EXPECT_THAT(Inputs(), ElementsAre("d.* FP32 [2] observed", "l.* FP32 [-1] observed"));
}

TEST_F(ObservingTest, AnAnswerOfWhichTheSchemaSaysNothingIsObservedToo) {
  ASSERT_TRUE(Make("Tensor a) -> Any").ok());
  Call({Numbers("a", {1})}, IValue(at::arange(3)));
  EXPECT_THAT(Outputs(), ElementsAre("OUTPUT__0 INT64 [3] observed"));
  observed_ = nullptr;
  Call({Numbers("a", {1})}, IValue(std::make_tuple(at::arange(3), at::arange(2))));
  EXPECT_THAT(Outputs(), ElementsAre("0 INT64 [3] observed", "1 INT64 [2] observed"));
}

TEST_F(ObservingTest, AConfigurationIsNotObserved) {
  ASSERT_TRUE(Make("Tensor a) -> Tensor", "input { name: 'a' data_type: TYPE_FP32 dims: -1 }").ok());
  Call({Numbers("a", {2})}, IValue(at::arange(3)));
  EXPECT_THAT(Inputs(), ElementsAre("a FP32 [-1]"));
  EXPECT_THAT(Outputs(), ElementsAre("OUTPUT__0 INT64 [3] observed"));
}

TEST_F(ObservingTest, ARecordBelongsToTheMethodThatItIsOf) {
  ASSERT_TRUE(Make("Tensor a) -> Tensor").ok());
  Call({Numbers("a", {2})}, IValue(at::arange(3)));
  EXPECT_EQ(signature_->ObservedAfter(observed_), observed_);
  ASSERT_TRUE(Make("Tensor a, Tensor b) -> Tensor").ok());
  const auto other = signature_->ObservedAfter(observed_);
  EXPECT_NE(other, observed_);
  EXPECT_EQ(other->inputs.size(), 2u);
}

TEST_F(SignatureTest, OutputsThatNoAnswerHasAreRefusedBeforeTheRun) {
  ASSERT_TRUE(Make(") -> ((Tensor, (Tensor, str?)))").ok());
  EXPECT_TRUE(signature_->CheckRequested({"0", "1.0", "OUTPUT__0", "OUTPUT__1.1"}).ok());
  const absl::Status status = signature_->CheckRequested({"2"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'2' is not in the answer, which has '0', '1.0', '1.1'"));
  ASSERT_TRUE(Make(") -> Tensor", "output { name: 'y' data_type: TYPE_FP32 dims: -1 }").ok());
  EXPECT_TRUE(signature_->CheckRequested({"y", "OUTPUT__0"}).ok());
  EXPECT_FALSE(signature_->CheckRequested({"z"}).ok());
  // Only the answer shows what these have.
  for (const char* open : {") -> Tensor[]", ") -> Dict(str, Tensor)", ") -> Any", ") -> Tensor[]?"}) {
    ASSERT_TRUE(Make(open).ok());
    EXPECT_TRUE(signature_->CheckRequested({"7"}).ok()) << open;
  }
}

TEST_F(SignatureTest, AnotherNameForAConfiguredInputIsHeldToTheConfiguration) {
  ASSERT_TRUE(Make("Tensor a) -> Tensor", R"pb(
                max_batch_size: 2
                input { name: "INPUT__0" data_type: TYPE_FP32 dims: 3 }
              )pb")
                  .ok());
  EXPECT_TRUE(Bind({Numbers("a", {2, 3})}).ok());
  EXPECT_THAT(BindError({Numbers("a", {3, 3})}), HasSubstr("'a' has a batch of 3; the model takes at most 2"));
  EXPECT_THAT(BindError({Numbers("a", {1, 3}, c10::kLong)}), HasSubstr("expects the datatype FP32, got INT64"));
}

TEST_F(SignatureTest, InputsOfOneRequestHaveOneBatch) {
  ASSERT_TRUE(Make("Tensor a, Tensor b) -> Tensor", R"pb(
                max_batch_size: 8
                input { name: "a" data_type: TYPE_FP32 dims: 1 }
                input { name: "b" data_type: TYPE_FP32 dims: 1 }
              )pb")
                  .ok());
  EXPECT_TRUE(Bind({Numbers("a", {2, 1}), Numbers("b", {2, 1})}).ok());
  EXPECT_THAT(BindError({Numbers("a", {2, 1}), Numbers("b", {3, 1})}),
              HasSubstr("'b' has a batch of 3; input 'a' has one of 2"));
}

TEST_F(SignatureTest, AConfiguredInputMayBeLeftOutIfTheConfigurationSaysSo) {
  const char* const config = R"pb(
    input { name: "a" data_type: TYPE_FP32 dims: -1 }
    input {
      name: "n"
      data_type: TYPE_INT64
      dims: []
    }
  )pb";
  ASSERT_TRUE(Make("Tensor a, int n=1) -> Tensor", config).ok());
  EXPECT_THAT(BindError({Numbers("a", {2})}), HasSubstr("'n' (int) is missing; the model takes 'a', 'n'"));
  ASSERT_TRUE(Make("Tensor a, int n=1) -> Tensor", R"pb(
                input { name: "a" data_type: TYPE_FP32 dims: -1 }
                input {
                  name: "n"
                  data_type: TYPE_INT64
                  dims: []
                  optional: true
                }
              )pb")
                  .ok());
  EXPECT_TRUE(Bind({Numbers("a", {2})}).ok());
}

TEST_F(SignatureTest, AReshapeThatDoesNotFitIsTold) {
  ASSERT_TRUE(Make("str[] s, Tensor t) -> Tensor", R"pb(
                input {
                  name: "s"
                  data_type: TYPE_STRING
                  dims: [ -1, 1 ]
                  reshape { shape: [ -1 ] }
                }
                input {
                  name: "t"
                  data_type: TYPE_FP32
                  dims: [ -1 ]
                  reshape { shape: [ -1, 2 ] }
                }
              )pb")
                  .ok());
  const WireTensor strings = {"s", BytesDatatype(), {2, 1}, {}, {"x", "y"}};
  const auto bound = Bind({strings, Numbers("t", {4})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->args[0].toListRef().size(), 2u);
  EXPECT_THAT(bound->args[1].toTensor().sizes(), ElementsAre(2, 2));
  EXPECT_THAT(BindError({strings, Numbers("t", {3})}), HasSubstr("'t' of shape [3] cannot be made into [-1,2]"));
}

TEST_F(SignatureTest, AnIntegerThatDoesNotFitIsTold) {
  ASSERT_TRUE(Make("int i, int[] l) -> Tensor").ok());
  WireTensor large = Numbers("i", {}, c10::kUInt64);
  *static_cast<uint64_t*>(large.tensor.mutable_data_ptr()) = uint64_t{1} << 63;
  EXPECT_THAT(BindError({large, Numbers("l", {1}, c10::kLong)}),
              HasSubstr("input 'i' has 9223372036854775808; an int is at most 9223372036854775807"));
}

}  // namespace
}  // namespace hearth::server
