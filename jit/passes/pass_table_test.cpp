#include "jit/passes/pass_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace hearth {
namespace {

TEST(PassTableTest, PassesAreInOrderAndSayWhatTheyDo) {
  EXPECT_TRUE(std::ranges::is_sorted(kPasses, std::ranges::less_equal(), &Pass::name));
  for (const Pass& pass : kPasses) {
    EXPECT_NE(pass.run, nullptr) << pass.name;
    EXPECT_FALSE(pass.help.empty()) << pass.name;
    EXPECT_LE(pass.help.size(), 90U) << pass.name << ": one line of help";
  }
}

TEST(PassTableTest, FindsPassesByName) {
  EXPECT_EQ(FindPass("fold_facts")->run, &FoldFacts);
  EXPECT_EQ(FindPass("fold"), nullptr);
}

}  // namespace
}  // namespace hearth
