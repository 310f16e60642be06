#include "jit/support/striped_pointer.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace hearth {
namespace {

TEST(StripedPointerTest, TheObjectLivesAsLongAsAReferenceOfAnyThread) {
  auto object = std::make_shared<int>(7);
  const std::weak_ptr<int> alive = object;
  auto pointer = std::make_unique<StripedPointer<int>>(object);
  object.reset();
  std::shared_ptr<int> elsewhere;
  std::thread([&] { elsewhere = pointer->Reference(); }).join();
  const int* const address = pointer->object().get();
  pointer.reset();
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(elsewhere.get(), address);
  EXPECT_EQ(*elsewhere, 7);
  elsewhere.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(StripedPointerTest, ThreadsCountApart) {
  const StripedPointer<int> pointer(std::make_shared<int>(7));
  const std::vector<std::shared_ptr<int>> here = {pointer.Reference()};
  const auto count = here[0].use_count();
  std::thread([&] {
    const std::vector<std::shared_ptr<int>> there = {pointer.Reference()};
    if (std::thread::hardware_concurrency() > 1) EXPECT_EQ(here[0].use_count(), count);
    EXPECT_EQ(*there[0], 7);
  }).join();
}

}  // namespace
}  // namespace hearth
