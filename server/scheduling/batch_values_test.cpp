#include "server/scheduling/batch_values.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include "server/repository/fake_runtime.h"

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
  const CallArguments all = Concatenate(calls, /*padding=*/0);
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
  const CallArguments all = Concatenate(calls, /*padding=*/2);
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

TEST(BatchValues, WhatABatchMayBeOfIsSaid) {
  Gate gate;
  class Model : public FakeModel {
   public:
    explicit Model(Gate* gate) : FakeModel("", gate) {}
    absl::StatusOr<std::string> SideEffect(std::string_view) const override { return effect; }
    std::string effect;
  } model(&gate);
  const auto check = [&](const char* schema) { return CheckBatches(model, torch::jit::parseSchema(schema)); };
  EXPECT_TRUE(check("forward(Any self, Tensor x, int n, float? f, Dict(str, Tensor) d) -> (Tensor[], Tensor)").ok());
  EXPECT_THAT(std::string(check("forward(Any self, Tensor x, str[] names) -> Tensor").message()),
              HasSubstr("argument 'names' of 'forward' is List[str]"));
  EXPECT_THAT(std::string(check("forward(Any self, int n) -> Tensor").message()), HasSubstr("'forward' has none"));
  EXPECT_THAT(std::string(check("forward(Any self, Tensor x) -> int").message()), HasSubstr("'forward' gives int"));
  model.effect = "draws random numbers (aten::rand at model.py:12)";
  EXPECT_THAT(std::string(check("forward(Any self, Tensor x) -> Tensor").message()),
              HasSubstr("'forward' draws random numbers (aten::rand at model.py:12)"));
}

}  // namespace
}  // namespace hearth::server
