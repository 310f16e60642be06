#include "jit/weights/derived_constants.h"

#include <ATen/ops/add.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

// Elements of a weight of which the bound in copies is the greater one.
constexpr int64_t kLarge = int64_t{1} << 20;

class DerivedConstantsTest : public ::testing::Test {
 protected:
  at::Tensor PlusOne(const at::Tensor& from) {
    return derived_.Get("plus one", {from}, [&] {
      ++made_;
      return std::vector<at::Tensor>{at::add(from, 1)};
    })[0];
  }

  DerivedConstantTable table_;
  int rests_ = 0;
  DerivedConstants derived_{table_, [&] { ++rests_; }};
  int made_ = 0;
};

TEST_F(DerivedConstantsTest, WhatSomebodyHoldsIsNotMadeAgain) {
  const at::Tensor weight = at::ones({4});
  const at::Tensor first = PlusOne(weight);
  EXPECT_TRUE(PlusOne(weight).is_same(first));
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(table_.bytes(), 16U);
  EXPECT_FALSE(PlusOne(at::ones({4})).is_same(first));
}

TEST_F(DerivedConstantsTest, WhoMakesThemRestsAfterEachAndAtNoOtherTime) {
  const at::Tensor weight = at::ones({4});
  const at::Tensor first = PlusOne(weight);
  EXPECT_EQ(rests_, 1);
  const at::Tensor second = PlusOne(first);
  EXPECT_EQ(rests_, 2);
  PlusOne(weight);
  EXPECT_EQ(rests_, 2);
  // Another plan's making has the table meanwhile.
  DerivedConstants resting(table_, [&] { EXPECT_EQ(table_.bytes(), 48U); });
  const auto third = resting.Get("plus two", {second}, [&] { return std::vector<at::Tensor>{at::add(second, 2)}; });
}

TEST_F(DerivedConstantsTest, WhatNobodyHoldsIsFreed) {
  const at::Tensor weight = at::ones({4});
  PlusOne(weight);
  EXPECT_EQ(table_.bytes(), 0U);
  PlusOne(weight);
  EXPECT_EQ(made_, 2);
}

TEST_F(DerivedConstantsTest, WhatIsMadeOfAStepThatIsGoneIsFoundAllTheSame) {
  const at::Tensor weight = at::ones({4});
  const at::Tensor last = PlusOne(PlusOne(weight));
  EXPECT_EQ(table_.bytes(), 16U);
  EXPECT_TRUE(PlusOne(PlusOne(weight)).is_same(last));
  EXPECT_EQ(made_, 3) << "the step in between, and it alone, is made again";
}

// A gather of few weights may be larger than these, and is small all the same.
TEST_F(DerivedConstantsTest, WhatIsSmallInAllIsMadeOfHoweverFewWeights) {
  const at::Tensor weight = at::ones({4});
  constexpr auto kMost = static_cast<int64_t>(DerivedConstantTable::kAlwaysBytes / sizeof(float));
  const auto first = derived_.Get("expanded", {weight}, [] { return std::vector{at::ones({kMost})}; });
  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(derived_.Get("more", {weight}, [] { return std::vector{at::ones({1})}; }).empty());
}

TEST_F(DerivedConstantsTest, NoMoreIsMadeThanSoManyTimesTheWeights) {
  const at::Tensor weight = at::ones({kLarge});
  const auto get = [&](size_t i) {
    return derived_.Get(std::to_string(i), {weight}, [&] { return std::vector<at::Tensor>{at::add(weight, 1)}; });
  };
  std::vector<std::vector<at::Tensor>> held;
  for (size_t i = 0; i < DerivedConstantTable::kMostCopies; ++i) held.push_back(get(i));
  EXPECT_TRUE(get(99).empty());
  EXPECT_TRUE(get(0)[0].is_same(held[0][0])) << "what is there is given";
  held.pop_back();
  EXPECT_FALSE(get(99).empty());
}

TEST_F(DerivedConstantsTest, WhatIsMadeOfNumbersNeedsNoWeightsIfItIsSmall) {
  const auto ones = [&](int64_t size) {
    return derived_.Get("ones", std::to_string(size), {}, [&] {
      ++made_;
      return std::vector<at::Tensor>{at::ones({size})};
    });
  };
  const std::vector<at::Tensor> first = ones(4);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(ones(4)[0].is_same(first[0]));
  EXPECT_EQ(made_, 1);
  const at::Tensor more = PlusOne(first[0]);
  EXPECT_EQ(table_.bytes(), 32U);
  std::vector<at::Tensor> held;
  const auto fourth = static_cast<int64_t>(DerivedConstantTable::kAlwaysBytes / sizeof(float) / 4);
  for (int64_t i = 0; i < 3; ++i) held.push_back(ones(fourth + i).at(0));
  EXPECT_TRUE(ones(fourth + 3).empty());
  EXPECT_TRUE(derived_.lacks_room());
  const auto small = static_cast<int64_t>(DerivedConstantTable::kMostBytesOfNumbers / sizeof(float));
  for (int64_t size = small; size > small - 8; --size) held.push_back(ones(size).at(0));
}

TEST_F(DerivedConstantsTest, ElementsThatAreOneInMemoryCountOnce) {
  const at::Tensor weight = at::ones({4});
  const auto expanded =
      derived_.Get("expanded", {PlusOne(weight)}, [&] { return std::vector{at::ones({1}).expand({1000})}; });
  ASSERT_EQ(expanded.size(), 1U);
  EXPECT_EQ(table_.bytes(), 4U);
}

TEST_F(DerivedConstantsTest, AViewOfAWeightTakesNoMemory) {
  const at::Tensor weight = at::ones({2, 3});
  const auto turned = derived_.Get("turned", {weight}, [&] { return std::vector{weight.t()}; });
  const auto flat = derived_.Get("flat", turned, [&] { return std::vector{turned[0].unsqueeze(0)}; });
  EXPECT_EQ(table_.bytes(), 0U);
  const at::Tensor made = PlusOne(weight);
  const auto view = derived_.Get("turned", {made}, [&] { return std::vector{made.t()}; });
  EXPECT_EQ(table_.bytes(), 48U) << "a view of what was made keeps that";
}

TEST_F(DerivedConstantsTest, TheModelsOfAProcessHaveABoundTogether) {
  const auto budget = std::make_shared<DerivedConstantBudget>(48);
  DerivedConstantTable table(budget);
  std::optional<DerivedConstantTable> other(std::in_place, budget);
  const at::Tensor weight = at::ones({4});
  const auto get = [&](DerivedConstantTable& from, size_t i) {
    return from.Get(std::to_string(i), "", {weight}, [&] { return std::vector<at::Tensor>{at::add(weight, 1)}; });
  };
  std::vector<std::vector<at::Tensor>> held = {get(table, 0), get(*other, 0), get(*other, 1)};
  EXPECT_TRUE(get(table, 1).empty());
  EXPECT_TRUE(get(*other, 2).empty());
  held.pop_back();
  held.push_back(get(table, 1));
  EXPECT_FALSE(held.back().empty()) << "what the other's plans do not hold any more is free";
  EXPECT_TRUE(get(*other, 2).empty());
  EXPECT_EQ(table.bytes() + other->bytes(), 48U);
  held.erase(held.begin() + 1);
  other.reset();
  EXPECT_FALSE(get(table, 2).empty());
}

TEST_F(DerivedConstantsTest, WhatIsMadeDoesNotCountForWhoMakesIt) {
  MemoryAccount account(int64_t{1} << 20);
  const MemoryAccount::Scope counted(&account);
  const at::Tensor weight = at::ones({4});
  MemoryAccount* charged = &account;
  derived_.Get("more", {weight}, [&] {
    charged = MemoryAccount::Current();
    return std::vector<at::Tensor>{at::add(weight, 1)};
  });
  EXPECT_EQ(charged, nullptr);
}

TEST_F(DerivedConstantsTest, WhatWasMadeForManySizesIsRememberedForTheLatest) {
  const at::Tensor weight = at::ones({4});
  const auto get = [&](int size) {
    return derived_.Get("packed", std::to_string(size), {weight}, [&] {
      ++made_;
      return std::vector<at::Tensor>{at::add(weight, 1)};
    })[0];
  };
  const at::Tensor first = get(0);
  for (int size = 1; size < 1000; ++size) EXPECT_TRUE(get(size).is_same(first));
  EXPECT_EQ(table_.entries(), DerivedConstantTable::kMostVariants);
  EXPECT_EQ(made_, 1000);
  EXPECT_TRUE(get(999).is_same(first));
  EXPECT_EQ(made_, 1000);
}

TEST_F(DerivedConstantsTest, WhatNobodyHoldsIsNotRememberedForEver) {
  const at::Tensor weight = at::ones({4});
  const at::Tensor last = PlusOne(PlusOne(weight));
  for (int i = 0; i < 1000; ++i) {
    derived_.Get(std::to_string(i), {weight}, [&] { return std::vector<at::Tensor>{at::add(weight, 1)}; });
  }
  EXPECT_LE(table_.entries(), 64U);
  EXPECT_TRUE(PlusOne(PlusOne(weight)).is_same(last)) << "nor are the steps to what somebody holds forgotten";
}

TEST_F(DerivedConstantsTest, VariantsThatTurnOutTheSameAreOneTensor) {
  const at::Tensor weight = at::ones({4});
  const auto get = [&](const char* purpose, const char* variant, int64_t added) {
    return derived_.Get(purpose, variant, {weight}, [&] { return std::vector<at::Tensor>{at::add(weight, added)}; })[0];
  };
  const at::Tensor first = get("more", "1", 1);
  EXPECT_TRUE(get("more", "1 too", 1).is_same(first));
  EXPECT_FALSE(get("more", "2", 2).is_same(first));
  EXPECT_EQ(table_.bytes(), 16U);
  std::vector<at::Tensor> held;
  for (size_t i = 0; i < 2 * DerivedConstantTable::kMostCopies; ++i)
    held.push_back(get("more", std::to_string(i).c_str(), 7));
  EXPECT_EQ(table_.bytes(), 32U) << "what is one tensor takes no more room";
  EXPECT_FALSE(get("another", "1", 1).is_same(first)) << "bytes alone do not say what a packed tensor is";
}

TEST_F(DerivedConstantsTest, SizesAndStridesMakeADifferenceAndSoDoBytes) {
  const at::Tensor matrix = at::ones({2, 3});
  EXPECT_TRUE(AreSame(matrix, at::ones({2, 3})));
  EXPECT_FALSE(AreSame(matrix, at::ones({3, 2})));
  EXPECT_FALSE(AreSame(matrix, at::ones({3, 2}).t()));
  EXPECT_FALSE(AreSame(matrix, at::ones({2, 3}, at::kInt)));
  EXPECT_FALSE(AreSame(matrix, at::add(matrix, 1)));
  EXPECT_FALSE(AreSame(matrix, at::Tensor()));
}

TEST_F(DerivedConstantsTest, WhoDidNotGetWhatHeAskedForIsTold) {
  const at::Tensor weight = at::ones({kLarge});
  std::vector<at::Tensor> held;
  for (size_t i = 0; i < DerivedConstantTable::kMostCopies; ++i) {
    held.push_back(derived_.Get(std::to_string(i), {weight}, [&] { return std::vector{at::add(weight, 1)}; })[0]);
  }
  EXPECT_FALSE(derived_.lacks_room());
  derived_.Get("one more", {weight}, [&] { return std::vector{at::add(weight, 1)}; });
  EXPECT_TRUE(derived_.lacks_room());
}

// A device that this library has no code for, whose streams count how often somebody waits for them.
struct WaitedForDevice final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::XPU> {
  void synchronizeStream(const c10::Stream&) const override { ++waits; }
  static inline int waits = 0;
};
C10_REGISTER_GUARD_IMPL(XPU, WaitedForDevice);

TEST_F(DerivedConstantsTest, WhatIsMadeOnADeviceWithStreamsIsThereWhenItIsGiven) {
  const at::Tensor weight = at::ones({4});
  const auto get = [&] {
    return derived_.Get("moved", {weight}, [] {
      const c10::DispatchKeySet keys(c10::DispatchKey::XPU);
      return std::vector<at::Tensor>{
          at::detail::make_tensor<c10::TensorImpl>(keys, caffe2::TypeMeta::Make<float>(), c10::Device(c10::kXPU, 0))};
    });
  };
  const std::vector<at::Tensor> made = get();
  EXPECT_EQ(WaitedForDevice::waits, 1);
  EXPECT_TRUE(get()[0].is_same(made[0]));
  EXPECT_EQ(WaitedForDevice::waits, 1);
}

TEST_F(DerivedConstantsTest, UndefinedTensorsGoInAndComeOut) {
  const at::Tensor weight = at::ones({4});
  const auto make = [&] {
    ++made_;
    return std::vector<at::Tensor>{at::Tensor(), weight};
  };
  for (int i = 0; i < 2; ++i) {
    const std::vector<at::Tensor> tensors = derived_.Get("bias and weight", {weight, at::Tensor()}, make);
    EXPECT_FALSE(tensors[0].defined());
    EXPECT_TRUE(tensors[1].is_same(weight));
  }
  EXPECT_EQ(made_, 1);
}

}  // namespace
}  // namespace hearth
