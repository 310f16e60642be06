#include "jit/archive/debug_ranges.h"

#include <gtest/gtest.h>

#include "jit/archive/mapping.h"
#include "jit/archive/test_values.h"

namespace hearth {
namespace {

class DebugRangesTest : public testing::Test {
 protected:
  void Open(const std::string& file) {
    zip_ = std::make_shared<const ZipReader>(Mapping::Open(TestFilesFolder() + file, Mapping::Mode::kPrivateCopy));
    for (const ZipRecord& record : zip_->records()) {
      // The only class; in a file of another name if Python made classes of that name before.
      if (!record.name.ends_with(".py")) continue;
      code_ = zip_->Read(record).view();
      ranges_ = std::make_unique<DebugRanges>(zip_, *zip_->Find(std::string(record.name) + ".debug_pkl"));
    }
  }

  // Where the first occurrence of `text` in the serialized code came from.
  OriginalLocation Find(const std::string& text) {
    OriginalLocation location;
    EXPECT_TRUE(ranges_->Find(code_.find(text), &location)) << text;
    return location;
  }

  std::shared_ptr<const ZipReader> zip_;
  std::string code_;
  std::unique_ptr<DebugRanges> ranges_;
};

std::string Covered(const OriginalLocation& location) {
  return location.text.substr(location.begin, location.end - location.begin);
}

// The line of test_modules.py that holds `text`, counted from 1.
int64_t LineOf(const std::string& text) {
  const std::string file = ReadTestFile("jit/archive/test_modules.py");
  const size_t at = file.find(text);
  EXPECT_NE(at, std::string::npos);
  return 1 + std::count(file.begin(), file.begin() + static_cast<int64_t>(at), '\n');
}

TEST_F(DebugRangesTest, AnExpressionOfAScriptedModuleIsFoundInTheUsersFile) {
  Open("scripted.archive");
  const OriginalLocation location = Find("torch.linear(x");
  EXPECT_TRUE(location.file.find("test_modules.py") != std::string::npos) << location.file;
  const std::string line = "        y = torch.nn.functional.linear(x, self.weight)";
  EXPECT_EQ(location.line(), LineOf(line));
  EXPECT_EQ(Covered(location), "torch.nn.functional.linear");
}

TEST_F(DebugRangesTest, TheFormatWithoutAStringTableIsReadAlike) {
  Open("scripted.archive");
  const OriginalLocation expected = Find("torch.relu(");
  Open("scripted_old_debug.changed");
  const OriginalLocation location = Find("torch.relu(");
  EXPECT_EQ(location.file, expected.file);
  EXPECT_EQ(location.line(), LineOf("        return y.relu()"));
  EXPECT_EQ(location.text, expected.text);
  EXPECT_EQ(Covered(location), "y.relu");
}

TEST_F(DebugRangesTest, ACallOfATracedModuleIsFoundInTheUsersFile) {
  Open("traced.archive");
  const OriginalLocation location = Find("torch.relu(");
  EXPECT_TRUE(location.file.find("test_modules.py") != std::string::npos) << location.file;
  EXPECT_EQ(location.line(), LineOf("        return y.relu()"));
}

TEST_F(DebugRangesTest, CodeThatCameFromNowhereAndDamagedRecordsAnswerNothing) {
  Open("scripted.archive");
  OriginalLocation location;
  EXPECT_TRUE(ranges_->Find(0, &location));
  EXPECT_EQ(location.text, "");
  // Any record that is no debug record will do.
  const DebugRanges damaged(zip_, *zip_->Find("data.pkl"));
  EXPECT_FALSE(damaged.Find(100, &location));
}

}  // namespace
}  // namespace hearth
