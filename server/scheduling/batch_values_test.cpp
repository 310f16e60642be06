#include "server/scheduling/batch_values.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include "server/repository/fake_runtime.h"
#include "server/scheduling/padded_values.h"

namespace hearth::server {
namespace {

using c10::IValue;
using ::testing::HasSubstr;

// x and a dict of two tensors, with so many rows, and a number.
CallArguments Call(int64_t rows, float first, int64_t number = 1) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::TensorType::get());
  dict.insert("a", at::full({rows, 2}, first));
  dict.insert("b", at::full({rows}, first, at::kLong));
  return {{at::arange(rows * 3, at::kFloat).reshape({rows, 3}) + first, dict}, {{"n", number}}};
}

// What it holds before is nobody's.
at::Tensor NewInMemory(c10::IntArrayRef sizes, c10::ScalarType dtype) { return at::full(sizes, 99, dtype); }
at::Tensor NewNowhere(c10::IntArrayRef, c10::ScalarType) { return {}; }

CallArguments Only(const at::Tensor& tensor) { return {{tensor}, {}}; }

TEST(BatchValues, CallsFitWhereTheyDifferInRowsAndInWhatTensorsHold) {
  const auto key = [](const CallArguments& call) { return BatchKeyOf(call).value().text; };
  EXPECT_EQ(BatchKeyOf(Call(3, 0))->rows, 3);
  EXPECT_EQ(key(Call(3, 0)), key(Call(1, 7)));
  EXPECT_NE(key(Call(3, 0, 1)), key(Call(3, 0, 2)));
  EXPECT_NE(key(Only(at::zeros({1, 2}))), key(Only(at::zeros({1, 3}))));
  EXPECT_NE(key(Only(at::zeros({1, 2}))), key(Only(at::zeros({1, 2, 1}))));
  EXPECT_NE(key(Only(at::zeros({1, 2}))), key(Only(at::zeros({1, 2}, at::kDouble))));
  EXPECT_NE(key({{at::zeros({1}), IValue()}, {}}), key({{at::zeros({1}), true}, {}}));
}

TEST(BatchValues, WhatHasNoRowsOrDifferentOnesIsInNoBatch) {
  EXPECT_FALSE(BatchKeyOf({{1, "text"}, {}}));
  EXPECT_FALSE(BatchKeyOf(Only(at::zeros({}))));
  EXPECT_FALSE(BatchKeyOf(Only(at::zeros({0, 3}))));
  EXPECT_FALSE(BatchKeyOf(Only(at::zeros({3, 3}).to_sparse())));
  EXPECT_FALSE(BatchKeyOf({{at::zeros({2, 3}), at::zeros({3, 3})}, {}}));
}

TEST(BatchValues, TensorsAreJoinedWhereverTheyAre) {
  const CallArguments one = Call(1, 5, 9), two = Call(2, 7, 9);
  const std::vector<const CallArguments*> calls = {&one, &two};
  const CallArguments all = Concatenate(calls, /*padding=*/0, NewInMemory);
  ASSERT_EQ(all.args.size(), 2U);
  EXPECT_TRUE(all.args[0].toTensor().equal(at::cat({one.args[0].toTensor(), two.args[0].toTensor()})));
  const auto dict = all.args[1].toGenericDict();
  EXPECT_TRUE(dict.at("a").toTensor().equal(at::tensor({5., 5., 7., 7., 7., 7.}, at::kFloat).reshape({3, 2})));
  EXPECT_TRUE(dict.at("b").toTensor().equal(at::tensor({5, 7, 7}, at::kLong)));
  ASSERT_EQ(all.kwargs.size(), 1U);
  EXPECT_EQ(all.kwargs[0].first, "n");
  EXPECT_EQ(all.kwargs[0].second.toInt(), 9);
}

TEST(BatchValues, PaddingRepeatsTheLastRowAndIsNobodysPart) {
  const CallArguments one = Call(1, 5, 9), two = Call(2, 7, 9);
  const std::vector<const CallArguments*> calls = {&one, &two};
  const CallArguments all = Concatenate(calls, /*padding=*/2, NewNowhere);
  const at::Tensor first = one.args[0].toTensor(), second = two.args[0].toTensor();
  const at::Tensor last = second.slice(0, 1, 2);
  EXPECT_TRUE(all.args[0].toTensor().equal(at::cat({first, second, last, last})));
  EXPECT_EQ(all.args[1].toGenericDict().at("b").toTensor().size(0), 5);

  const std::vector<int64_t> rows = {1, 2};
  const auto parts = Split(all.args[0], rows, /*padding=*/2);
  ASSERT_TRUE(parts.has_value());
  EXPECT_TRUE((*parts)[1].toTensor().equal(second));
  EXPECT_FALSE(Split(all.args[0], rows, /*padding=*/1));
}

TEST(BatchValues, AnAnswerIsTakenApartByRowsWithoutACopy) {
  const at::Tensor x = at::arange(6).reshape({3, 2});
  const IValue answer = c10::ivalue::Tuple::create({x, c10::List<at::Tensor>({at::arange(3), at::arange(3) * 2})});
  const std::vector<int64_t> rows = {1, 2};
  const auto parts = Split(answer, rows, /*padding=*/0);
  ASSERT_TRUE(parts.has_value());
  ASSERT_EQ(parts->size(), 2U);
  const auto& second = (*parts)[1].toTupleRef().elements();
  EXPECT_TRUE(second[0].toTensor().equal(x.slice(0, 1, 3)));
  EXPECT_EQ(second[0].toTensor().storage().data(), x.storage().data());
  EXPECT_TRUE(second[1].toListRef()[1].toTensor().equal(at::tensor({2, 4})));
  EXPECT_EQ((*parts)[0].toTupleRef().elements()[0].toTensor().sizes(), c10::IntArrayRef({1, 2}));
}

TEST(BatchValues, AnAnswerWithOtherRowsCannotBeTakenApart) {
  const std::vector<int64_t> rows = {1, 2};
  EXPECT_FALSE(Split(at::zeros({2, 3}), rows, /*padding=*/0));
  EXPECT_FALSE(Split(at::zeros({}), rows, /*padding=*/0));
  EXPECT_FALSE(Split(c10::ivalue::Tuple::create({at::zeros({3}), at::zeros({4})}), rows, /*padding=*/0));
}

TEST(BatchValues, TensorsThatArePaddedAreFoundInContainersAndAnswersCutThere) {
  BatchPadding padding;
  padding.inputs = {{.name = "x.1.a", .dimension = 1, .value = 7, .argument = 0, .argument_name = "x", .path = "1.a"},
                    {.name = "m", .dimension = 2, .value = 0, .argument = 1, .argument_name = "m"}};
  padding.outputs = {{.name = "1", .dimension = 1, .input = 0, .path = "1"}};
  const auto call = [](int64_t length, int64_t width) {
    c10::Dict<std::string, at::Tensor> dict;
    dict.insert("a", at::ones({1, length}, at::kInt));
    CallArguments arguments;
    arguments.args = {c10::ivalue::Tuple::create({at::zeros({1, 2}), IValue(dict)})};
    arguments.kwargs = {{"m", at::ones({1, 2, width})}};
    return arguments;
  };
  const CallArguments first = call(2, 3), second = call(4, 1);
  const auto key = BatchKeyOf(first, padding), other = BatchKeyOf(second, padding);
  EXPECT_EQ(key->text, other->text);
  EXPECT_THAT(key->lengths, ::testing::ElementsAre(2, 3));
  EXPECT_THAT(other->lengths, ::testing::ElementsAre(4, 1));
  EXPECT_NE(BatchKeyOf(first)->text, BatchKeyOf(second)->text);
  EXPECT_FALSE(BatchKeyOf(call(0, 3), padding)) << "without elements it is its own matter";

  const CallArguments* calls[] = {&first, &second};
  const std::vector<int64_t> lengths = {4, 3};
  const CallArguments all = Concatenate(calls, /*padding=*/1, NewInMemory, padding, lengths);
  const at::Tensor a = all.args[0].toTupleRef().elements()[1].toGenericDict().at("a").toTensor();
  EXPECT_TRUE(a.equal(at::tensor({1, 1, 7, 7, 1, 1, 1, 1, 1, 1, 1, 1}, at::kInt).view({3, 4})));
  const at::Tensor m = all.kwargs[0].second.toTensor();
  EXPECT_TRUE(m[1].equal(at::tensor({1.0F, 0.0F, 0.0F, 1.0F, 0.0F, 0.0F}).view({2, 3})));

  c10::IValue answer = c10::ivalue::Tuple::create({at::zeros({1, 4}), at::zeros({1, 4, 2})});
  EXPECT_TRUE(Trim(answer, padding, key->lengths, lengths));
  EXPECT_EQ(answer.toTupleRef().elements()[0].toTensor().sizes(), c10::IntArrayRef({1, 4})) << "nothing is said of it";
  EXPECT_EQ(answer.toTupleRef().elements()[1].toTensor().sizes(), c10::IntArrayRef({1, 2, 2}));
  EXPECT_FALSE(Trim(answer, padding, key->lengths, lengths)) << "it has not the batch's length";
  c10::IValue none = at::zeros({1, 4});
  EXPECT_FALSE(Trim(none, padding, key->lengths, lengths));
}

TEST(BatchValues, WhatABatchMayBeOfIsSaid) {
  Gate gate;
  class Model : public FakeModel {
   public:
    explicit Model(Gate* gate) : FakeModel("", gate) {}
    absl::StatusOr<std::string> SideEffect(std::string_view) const override { return effect; }
    absl::StatusOr<BatchProof> ProveBatch(std::string_view, std::span<const BatchArgument>) const override {
      return proof;
    }
    std::string effect;
    BatchProof proof;
  } model(&gate);
  const auto check = [&](const char* schema) {
    return CheckBatches(model, torch::jit::parseSchema(schema), {}).status();
  };
  EXPECT_TRUE(check("forward(Any self, Tensor x, int n, float? f, Dict(str, Tensor) d) -> (Tensor[], Tensor)").ok());
  EXPECT_THAT(std::string(check("forward(Any self, Tensor x, str[] names) -> Tensor").message()),
              HasSubstr("argument 'names' of 'forward' is List[str]"));
  EXPECT_THAT(std::string(check("forward(Any self, int n) -> Tensor").message()), HasSubstr("'forward' has none"));
  EXPECT_THAT(std::string(check("forward(Any self, Tensor x) -> int").message()), HasSubstr("'forward' gives int"));
  const auto schema = torch::jit::parseSchema("forward(Any self, Tensor x) -> Tensor");
  model.proof = {BatchProof::Verdict::kUnknown, "not known whether rows mix: aten::foo has no rule for rows"};
  EXPECT_EQ(*CheckBatches(model, schema, {}),
            "declared by max_batch_size; not known whether rows mix: aten::foo has no rule for rows");
  model.proof = {BatchProof::Verdict::kIndependent, "rows are independent"};
  EXPECT_EQ(*CheckBatches(model, schema, {}), "proved: rows are independent");
  model.proof = {BatchProof::Verdict::kDependent, "rows mix: aten::softmax at m.py:3 is taken over all rows"};
  EXPECT_THAT(std::string(CheckBatches(model, schema, {}).status().message()),
              HasSubstr("of 'forward' it is proved that rows mix: aten::softmax at m.py:3 is taken over all rows"));
  model.proof = {};
  model.effect = "draws random numbers (aten::rand at model.py:12)";
  EXPECT_THAT(std::string(check("forward(Any self, Tensor x) -> Tensor").message()),
              HasSubstr("'forward' draws random numbers (aten::rand at model.py:12)"));
}

}  // namespace
}  // namespace hearth::server
