#include "jit/analysis/stored_spec.h"

#include <ATen/ATen.h>
#include <ATen/core/class_type.h>
#include <gtest/gtest.h>

#include <random>

namespace hearth {
namespace {

using c10::IValue;

c10::ClassTypePtr Class(const std::string& name) { return c10::ClassType::create(c10::QualifiedName(name), {}); }
IValue ObjectOfType(const c10::ClassTypePtr& type) {
  return c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 0);
}

std::vector<std::vector<IValue>> ManyArguments(const c10::ClassTypePtr& type) {
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("a key of more than one word", at::ones({1, 0}));
  dict.insert("", at::ones({}));
  c10::Dict<int64_t, int64_t> numbers;
  numbers.insert(-3, 1);
  c10::impl::GenericDict floats(c10::FloatType::get(), c10::AnyType::get());
  floats.insert(0.5, ObjectOfType(type));
  return {
      {},
      {IValue(), 1, 2.0, true, "text", c10::complex<double>(1, 2), at::Device("cpu")},
      {at::ones({2, 1, 4, 5}).to(at::MemoryFormat::ChannelsLast), at::ones({3, 2}, at::kLong).t(), at::Tensor()},
      {at::ones({1}).expand({4}), at::ones({2, 3}).requires_grad_()},
      {dict, numbers, floats, c10::List<int64_t>({1, 2}), c10::List<double>()},
      {c10::List<at::Tensor>({at::ones({1}), at::ones({2})}), c10::ivalue::Tuple::create({1, ObjectOfType(type), "x"})},
      {ObjectOfType(type), ObjectOfType(Class("__torch__.Other")), ObjectOfType(type)},
  };
}

TEST(StoredSpecTest, ASpecComesBackWithTheClassesOfAnotherLoad) {
  const auto first = Class("__torch__.C");
  const auto second = Class("__torch__.C");
  const auto other = Class("__torch__.Other");
  const auto find = [&](const std::string& name) -> const c10::Type* {
    return name == "__torch__.C" ? second.get() : name == "__torch__.Other" ? other.get() : nullptr;
  };
  const auto arguments = ManyArguments(first);
  const auto of_second = ManyArguments(second);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto stored = StoredSpec::Of(*ArgumentSpec::Of(arguments[i]));
    ASSERT_TRUE(stored) << i;
    const auto restored = stored->Restore(find);
    ASSERT_TRUE(restored) << i;
    EXPECT_EQ(restored->ToString(), ArgumentSpec::Of(arguments[i])->ToString());
    // The class Other is another one each time.
    if (i + 1 < arguments.size()) {
      EXPECT_EQ(*restored, *ArgumentSpec::Of(of_second[i]));
    }
    EXPECT_EQ(*StoredSpec::Of(*restored), *stored);
  }
}

TEST(StoredSpecTest, TensorsThatAreNotPlainAreNotStored) {
  EXPECT_FALSE(StoredSpec::Of(*ArgumentSpec::Of(std::vector<IValue>{at::ones({2, 2}).to_sparse()})));
  EXPECT_FALSE(StoredSpec::Of(*ArgumentSpec::Of(std::vector<IValue>{at::ones({2}, at::kComplexFloat).conj()})));
}

TEST(StoredSpecTest, AClassThatIsNotThereAnyMoreMakesNoSpec) {
  const auto stored = StoredSpec::Of(*ArgumentSpec::Of(std::vector<IValue>{ObjectOfType(Class("__torch__.C"))}));
  EXPECT_FALSE(stored->Restore([](const std::string&) { return nullptr; }));
}

TEST(StoredSpecTest, WordsThatAreNoSpecAreRefusedAndThoseThatAreCanBeRead) {
  const auto type = Class("__torch__.C");
  const auto find = [&](const std::string&) -> const c10::Type* { return type.get(); };
  std::mt19937_64 random(1);
  size_t refused = 0;
  size_t restored = 0;
  for (const auto& arguments : ManyArguments(type)) {
    if (arguments.empty()) continue;
    const StoredSpec stored = *StoredSpec::Of(*ArgumentSpec::Of(arguments));
    for (int round = 0; round < 2000; ++round) {
      std::vector<uint64_t> words = stored.words();
      for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
        uint64_t& word = words[random() % words.size()];
        word = random() % 4 == 0 ? random() : word ^ uint64_t { 1 } << random() % 64;
      }
      if (random() % 8 == 0) words.pop_back();
      const auto spec = StoredSpec(words, stored.classes()).Restore(find);
      if (!spec) {
        ++refused;
        continue;
      }
      ++restored;
      (void)spec->ToString();
      EXPECT_TRUE(StoredSpec::Of(*spec));
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(restored, 100);
  EXPECT_EQ(StoredSpec().Restore(find)->ToString(), "") << "no words are a spec of no arguments";
}

}  // namespace
}  // namespace hearth
