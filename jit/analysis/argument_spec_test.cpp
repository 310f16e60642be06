#include "jit/analysis/argument_spec.h"

#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace hearth {
namespace {

using c10::IValue;
using Arguments = std::vector<IValue>;

ArgumentSpec SpecOf(const Arguments& arguments) { return *ArgumentSpec::Of(arguments); }
TensorFacts FactsOf(const at::Tensor& tensor) { return SpecOf({tensor}).Facts().at(0).tensor; }
std::string TextOf(const Arguments& arguments) { return SpecOf(arguments).ToString(); }

c10::List<at::Tensor> TensorList(const std::vector<at::Tensor>& tensors) { return c10::List<at::Tensor>(tensors); }

IValue DictOf(const std::vector<std::pair<std::string, at::Tensor>>& items) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const auto& [key, value] : items) dict.insert(key, value);
  return dict;
}

IValue ObjectOf(const std::string& class_name) {
  auto type = c10::ClassType::create(c10::QualifiedName(class_name), {});
  return c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 0);
}

std::vector<at::Tensor> ManyTensors() {
  const at::Tensor image = at::zeros({2, 3, 4, 5});
  std::vector<at::Tensor> tensors = {
      at::zeros({}),
      at::zeros({3}),
      at::zeros({1}),
      at::zeros({0}),
      at::zeros({2, 3}),
      at::zeros({2, 1}),
      at::zeros({1, 2}),
      at::zeros({0, 2}),
      at::zeros({2, 3}, at::kDouble),
      at::zeros({2, 3}, at::kLong),
      at::zeros({2, 3}, at::kBool),
      at::zeros({2, 3}, at::kComplexFloat),
      at::zeros({2, 3}).requires_grad_(),
      at::zeros({3, 2}).t(),
      at::zeros({3}).expand({2, 3}),
      at::zeros({4, 6}).slice(0, 0, 4, 2),
      image,
      image.to(at::MemoryFormat::ChannelsLast),
      image.permute({3, 1, 0, 2}),
      at::zeros({2, 1, 4, 5}),
      at::zeros({2, 1, 4, 5}).to(at::MemoryFormat::ChannelsLast),
      at::zeros({2, 3, 4, 5, 6}).to(at::MemoryFormat::ChannelsLast3d),
      at::zeros({2, 3}, at::device(at::kMeta)),
      at::zeros({2, 3}).to_sparse(),
      at::zeros({2, 3}).to_sparse_csr(),
      at::zeros({2, 3}, at::kComplexFloat).conj(),
      at::_neg_view(at::zeros({2, 3})),
      at::quantize_per_tensor(at::zeros({2, 3}), 0.1, 0, at::kQInt8),
      at::_efficientzerotensor({2, 3}),
  };
  {
    c10::InferenceMode inference;
    tensors.push_back(at::zeros({2, 3}));
  }
  at::Tensor wrapped = at::zeros({});
  wrapped.unsafeGetTensorImpl()->set_wrapped_number(true);
  tensors.push_back(wrapped);
  return tensors;
}

TEST(ArgumentSpecTest, CallsThatDifferInNoFactHaveEqualSpecsAndHashes) {
  const Arguments one = {at::rand({2, 3}), 1, 2.5, "text", IValue(), c10::List<int64_t>({1, 2})};
  const Arguments other = {at::rand({7, 9}), 5, 0.0, "", IValue(), c10::List<int64_t>({8, 0})};
  EXPECT_EQ(SpecOf(one), SpecOf(other));
  EXPECT_EQ(SpecOf(one).hash(), SpecOf(other).hash());
}

TEST(ArgumentSpecTest, EveryKindOfTensorHasASpecOfItsOwn) {
  const std::vector<at::Tensor> tensors = ManyTensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      EXPECT_FALSE(SpecOf({tensors[i]}) == SpecOf({tensors[k]})) << TextOf({tensors[i]}) << " and " << k;
      EXPECT_NE(SpecOf({tensors[i]}).hash(), SpecOf({tensors[k]}).hash());
    }
  }
}

TEST(ArgumentSpecTest, FactsOfTensorsAreWhatLibTorchSays) {
  for (const at::Tensor& tensor : ManyTensors()) {
    SCOPED_TRACE(TextOf({tensor}));
    const TensorFacts facts = FactsOf(tensor);
    EXPECT_EQ(facts.dtype, tensor.scalar_type());
    EXPECT_EQ(facts.device, tensor.device());
    EXPECT_EQ(facts.layout, tensor.layout());
    EXPECT_EQ(facts.requires_grad, tensor.requires_grad());
    EXPECT_EQ(facts.is_inference, tensor.is_inference());
    EXPECT_EQ(facts.is_wrapped_number, tensor.unsafeGetTensorImpl()->is_wrapped_number());
    EXPECT_EQ(facts.suggested_format, tensor.suggest_memory_format());
    ASSERT_EQ(facts.rank, tensor.dim());
    for (int64_t i = 0; i < tensor.dim(); ++i) {
      const SizeClass size_class = facts.size_classes[i];
      EXPECT_EQ(LeastOf(size_class), std::min<int64_t>(tensor.size(i), 2)) << "none is large";
    }
    if (tensor.layout() == at::kStrided) {
      EXPECT_EQ(facts.layout_class == LayoutClass::kContiguous, tensor.is_contiguous());
      EXPECT_EQ(facts.layout_class <= LayoutClass::kDense, tensor.is_non_overlapping_and_dense());
      EXPECT_EQ(facts.layout_class == LayoutClass::kExpanded, at::has_internal_overlap(tensor) == at::MemOverlap::Yes);
    }
    const bool dense = tensor.layout() == at::kStrided && !tensor.is_conj() && !tensor.is_neg() &&
                       !tensor.is_quantized() && !tensor._is_zerotensor();
    EXPECT_EQ(facts.keys.has_value(), !dense);
    EXPECT_EQ(facts.keys.value_or(tensor.key_set().raw_repr()), tensor.key_set().raw_repr());
  }
}

TEST(ArgumentSpecTest, SpecsOfRandomStridedTensorsAreEqualIfAndOnlyIfTheirFactsAre) {
  std::mt19937 random(7);
  const auto draw = [&](int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); };
  const auto make = [&] {
    std::vector<int64_t> sizes(draw(3) + 3);
    for (int64_t& size : sizes) size = draw(3);
    at::Tensor tensor = at::zeros(sizes, draw(2) == 0 ? at::kFloat : at::kHalf);
    if (draw(2) == 0) tensor = tensor.transpose(draw(3), draw(3));
    if (sizes.size() == 4 && draw(2) == 0) tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
    if (draw(3) == 0) tensor = tensor.slice(draw(3), 0, 2, 2);
    return tensor;
  };
  const auto facts = [](const at::Tensor& tensor) {
    std::vector<int64_t> sizes;
    for (int64_t size : tensor.sizes()) sizes.push_back(std::min<int64_t>(size, 2));
    // Without elements every order is as good.
    const bool empty = tensor.numel() == 0;
    return std::tuple(tensor.scalar_type(), sizes, tensor.is_contiguous(),
                      !empty && tensor.is_contiguous(at::MemoryFormat::ChannelsLast),
                      !empty && tensor.is_contiguous(at::MemoryFormat::ChannelsLast3d),
                      tensor.is_non_overlapping_and_dense(), tensor.suggest_memory_format());
  };
  int equal = 0;
  for (int i = 0; i < 20000; ++i) {
    const at::Tensor a = make();
    const at::Tensor b = make();
    const bool same = facts(a) == facts(b);
    equal += same;
    ASSERT_EQ(SpecOf({a}) == SpecOf({b}), same) << TextOf({a}) << " and " << TextOf({b});
  }
  EXPECT_GT(equal, 20);
}

TEST(ArgumentSpecTest, SizesOfImagesAndSoundAreToldApartWhereWindowsSlide) {
  EXPECT_EQ(TextOf({at::zeros({2, 3, 64, 63})}), "Float[4: *, *, 64+, 16+] cpu contiguous");
  EXPECT_EQ(TextOf({at::zeros({70, 16, 15, 4096}, at::kByte)}), "Byte[4: *, 16+, *, 4096+] cpu contiguous")
      << "a batch is no image's side";
  EXPECT_EQ(TextOf({at::zeros({4095}, at::kHalf)}), "Half[1: 64+] cpu contiguous") << "no batch";
  EXPECT_EQ(TextOf({at::zeros({2, 300}, at::kLong)}), "Long[2: *, *] cpu contiguous") << "tokens";
  EXPECT_EQ(TextOf({at::zeros({2, 300}, at::kBool)}), "Bool[2: *, *] cpu contiguous") << "a mask";
  EXPECT_EQ(SpecOf({at::zeros({1, 3, 224, 224})}), SpecOf({at::zeros({1, 3, 300, 65})}));
  EXPECT_FALSE(SpecOf({at::zeros({1, 3, 224, 64})}) == SpecOf({at::zeros({1, 3, 224, 63})}));
}

TEST(ArgumentSpecTest, NestedTensorsHaveNoRank) {
  const at::Tensor nested = at::_nested_tensor_from_tensor_list({at::zeros({2, 3}), at::zeros({4, 3})});
  const TensorFacts facts = FactsOf(nested);
  EXPECT_EQ(facts.rank, std::nullopt);
  EXPECT_EQ(facts.keys, nested.key_set().raw_repr());
  EXPECT_EQ(facts.layout_class, LayoutClass::kNotStrided);
}

TEST(ArgumentSpecTest, NestedTypesComeBackAsATree) {
  const IValue tuple = c10::ivalue::Tuple::create({at::zeros({2, 1}), TensorList({at::zeros({3}), at::zeros({0, 4})}),
                                                   IValue(), c10::ivalue::Tuple::create(std::vector<IValue>{})});
  const std::vector<ArgumentFacts> facts =
      SpecOf({tuple, DictOf({{"a much longer key", at::zeros({2})}, {"", at::zeros({1}, at::kLong)}}), true}).Facts();
  ASSERT_EQ(facts.size(), 3);
  ASSERT_EQ(facts[0].kind, ArgumentKind::kTuple);
  ASSERT_EQ(facts[0].elements.size(), 4);
  EXPECT_EQ(facts[0].elements[0].tensor.size_classes[0], SizeClass::kSeveral);
  EXPECT_EQ(facts[0].elements[0].tensor.size_classes[1], SizeClass::kOne);
  EXPECT_EQ(facts[0].elements[1].kind, ArgumentKind::kList);
  EXPECT_EQ(facts[0].elements[1].contained, c10::TypeKind::TensorType);
  EXPECT_EQ(facts[0].elements[1].length, 2);
  EXPECT_EQ(facts[0].elements[1].elements.at(1).tensor.size_classes[0], SizeClass::kZero);
  EXPECT_EQ(facts[0].elements[2].kind, ArgumentKind::kNone);
  EXPECT_EQ(facts[0].elements[3].length, 0);
  ASSERT_EQ(facts[1].kind, ArgumentKind::kDict);
  ASSERT_EQ(facts[1].keys.size(), 2);
  EXPECT_EQ(facts[1].keys[0].toStringRef(), "a much longer key");
  EXPECT_EQ(facts[1].keys[1].toStringRef(), "");
  EXPECT_EQ(facts[1].elements[1].tensor.dtype, at::kLong);
  EXPECT_EQ(facts[2].kind, ArgumentKind::kBool);
}

TEST(ArgumentSpecTest, KeysOfDictsAreNumbersToo) {
  c10::impl::GenericDict ints(c10::IntType::get(), c10::BoolType::get());
  ints.insert(-5, true);
  c10::impl::GenericDict floats(c10::FloatType::get(), c10::StringType::get());
  floats.insert(2.5, "x");
  c10::impl::GenericDict bools(c10::BoolType::get(), c10::NoneType::get());
  bools.insert(true, IValue());
  EXPECT_EQ(TextOf({ints, floats, bools}), "{-5: bool}, {2.5: str}, {True: None}");
}

TEST(ArgumentSpecTest, ScalarsAreToldApartByTypeAndListsOfThemByShortLengths) {
  const std::vector<IValue> values = {IValue(),
                                      1,
                                      1.0,
                                      true,
                                      "1",
                                      c10::complex<double>(1, 1),
                                      c10::Device(at::kCPU),
                                      at::Tensor(),
                                      c10::List<int64_t>({1}),
                                      c10::List<int64_t>({1, 2}),
                                      c10::List<int64_t>(),
                                      c10::List<double>(),
                                      c10::List<bool>(),
                                      c10::List<std::string>(),
                                      TensorList({}),
                                      c10::List<int64_t>(std::vector<int64_t>(1000)),
                                      c10::ivalue::Tuple::create(std::vector<IValue>{}),
                                      DictOf({}),
                                      ObjectOf("__torch__.A"),
                                      ObjectOf("__torch__.B")};
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t k = 0; k < i; ++k) EXPECT_FALSE(SpecOf({values[i]}) == SpecOf({values[k]})) << i << " and " << k;
  }
  EXPECT_EQ(SpecOf({c10::List<int64_t>(std::vector<int64_t>(1000))}),
            SpecOf({c10::List<int64_t>(std::vector<int64_t>(9))}));
}

TEST(ArgumentSpecTest, WhatBelongsToOneArgumentIsNotTakenForAnother) {
  const at::Tensor t = at::zeros({2});
  const auto tuple = [](std::vector<IValue> elements) {
    return IValue(c10::ivalue::Tuple::create(std::move(elements)));
  };
  EXPECT_FALSE(SpecOf({tuple({t}), t}) == SpecOf({tuple({t, t})}));
  EXPECT_FALSE(SpecOf({tuple({t}), t}) == SpecOf({t, tuple({t})}));
  EXPECT_FALSE(SpecOf({DictOf({{"a", t}})}) == SpecOf({DictOf({{"b", t}})}));
}

TEST(ArgumentSpecTest, SpecsReadAsPeopleWriteThem) {
  EXPECT_EQ(TextOf({at::zeros({4, 1}), 1, IValue()}), "Float[2: *, 1] cpu contiguous, int, None");
  EXPECT_EQ(TextOf({at::zeros({})}), "Float[0] cpu contiguous");
  EXPECT_EQ(TextOf({at::zeros({0, 3}, at::kLong).t()}), "Long[2: *, 0] cpu contiguous");
  EXPECT_EQ(TextOf({at::zeros({2, 3, 4, 5}).to(at::MemoryFormat::ChannelsLast).requires_grad_()}),
            "Float[4: *, *, *, *] cpu channels_last requires_grad");
  EXPECT_EQ(TextOf({c10::List<double>(), c10::List<int64_t>(std::vector<int64_t>(9))}),
            "List[Float] of 0, List[Int] of more than 8");
  EXPECT_EQ(TextOf({TensorList({at::zeros({2})}), c10::ivalue::Tuple::create({IValue(1), IValue("x")})}),
            "[Float[1: *] cpu contiguous], (int, str)");
  EXPECT_EQ(TextOf({ObjectOf("__torch__.A")}), "__torch__.A");
  EXPECT_THAT(TextOf({at::zeros({2, 3}).to_sparse()}),
              testing::StartsWith("Float[2: *, *] cpu Sparse DispatchKeySet("));
}

TEST(ArgumentSpecTest, ListsOfArgumentsBeyondTheBoundsHaveNoSpec) {
  const at::Tensor t = at::zeros({2});
  const std::vector<at::Tensor> longest(ArgumentSpec::kMaxLength, t);
  std::vector<at::Tensor> too_long = longest;
  too_long.push_back(t);
  EXPECT_TRUE(ArgumentSpec::Of(Arguments{TensorList(longest)}));
  EXPECT_FALSE(ArgumentSpec::Of(Arguments{TensorList(too_long)}));
  EXPECT_FALSE(ArgumentSpec::Of(Arguments(ArgumentSpec::kMaxWords, t)));
  EXPECT_FALSE(ArgumentSpec::Of(Arguments{DictOf({{std::string(ArgumentSpec::kMaxKeyBytes + 1, 'k'), t}})}));
  EXPECT_FALSE(ArgumentSpec::Of(Arguments{at::zeros(std::vector<int64_t>(ArgumentSpec::kMaxRank + 1, 1))}));

  IValue deep = t;
  for (size_t i = 0; i < ArgumentSpec::kMaxDepth; ++i) deep = c10::ivalue::Tuple::create({deep});
  EXPECT_TRUE(ArgumentSpec::Of(Arguments{deep}));
  EXPECT_FALSE(ArgumentSpec::Of(Arguments{c10::ivalue::Tuple::create({deep})}));
}

TEST(ArgumentSpecTest, ACopyOfASpecWithManyWordsOutlivesIt) {
  std::optional<ArgumentSpec> spec = SpecOf(Arguments(100, at::zeros({2, 1})));
  const ArgumentSpec copy = *spec;
  spec.reset();
  EXPECT_EQ(copy, SpecOf(Arguments(100, at::zeros({2, 1}))));
  EXPECT_EQ(copy.Facts().size(), 100);
  EXPECT_GT(copy.bytes(), 200 * sizeof(uint64_t));
}

}  // namespace
}  // namespace hearth
