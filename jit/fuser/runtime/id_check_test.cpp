#include "jit/fuser/runtime/id_check.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace hearth::fuser {
namespace {

bool AreIds(const at::Tensor& ids, int64_t size, bool from_end = false) {
  try {
    CheckIds(ids, size, from_end);
    return true;
  } catch (const c10::IndexError&) {
    return false;
  }
}

TEST(IdCheckTest, FindsTheOneThatIsOutOfRange) {
  for (const at::ScalarType dtype : {at::kLong, at::kInt}) {
    for (const int64_t id : {-6, -5, -1, 0, 4, 5, 1 << 30}) {
      const at::Tensor all = at::randint(5, {3, 4, 50}, at::kLong).to(dtype);
      ASSERT_TRUE(AreIds(all, 5));
      for (const int64_t place : {0, 77, 599}) {
        at::Tensor ids = all.clone();
        ids.view(-1)[place] = id;
        for (const at::Tensor& view :
             {ids, ids.transpose(0, 2), ids.unsqueeze(1).expand({3, 2, 4, 50}), ids.view(-1)}) {
          EXPECT_EQ(AreIds(view, 5), id >= 0 && id < 5) << id;
          EXPECT_EQ(AreIds(view, 5, /*from_end=*/true), id >= -5 && id < 5) << id;
        }
      }
    }
  }
}

TEST(IdCheckTest, ReadsTheViewAlone) {
  const at::Tensor all = at::full({4, 6}, 9, at::kLong);
  at::Tensor part = all.slice(0, 1, 4, 2).slice(1, 1, 6, 3);
  part.fill_(2);
  EXPECT_TRUE(AreIds(part, 3));
  EXPECT_FALSE(AreIds(part, 2));
  EXPECT_FALSE(AreIds(all, 3));
  EXPECT_TRUE(AreIds(all.select(0, 1)[1], 3));
}

TEST(IdCheckTest, ThereMayBeNone) {
  EXPECT_TRUE(AreIds(at::empty({0}, at::kLong), 0));
  EXPECT_TRUE(AreIds(at::empty({2, 0}, at::kInt), 3));
  EXPECT_TRUE(AreIds(at::empty({1, 0}, at::kLong).expand({4, 0}), 3));
  EXPECT_FALSE(AreIds(at::zeros({}, at::kLong), 0));
}

}  // namespace
}  // namespace hearth::fuser
