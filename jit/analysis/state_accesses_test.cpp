#include "jit/analysis/state_accesses.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hearth {
namespace {

TEST(StatePartsTest, IteratesOverWhatWasAddedAndNothingElse) {
  const std::set<size_t> numbers = {0, 1, 62, 63, 64, 65, 127, 128, 320};
  StateParts parts;
  for (size_t part : numbers) parts.Add(part);
  std::vector<size_t> found;
  for (const size_t part : parts) found.push_back(part);
  EXPECT_EQ(found, std::vector<size_t>(numbers.begin(), numbers.end()));
}

TEST(StatePartsTest, IteratesOverNothingWhereNothingWasAdded) {
  const StateParts parts;
  EXPECT_TRUE(parts.begin() == parts.end());
}

}  // namespace
}  // namespace hearth
