#include "server/repository/file_stamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

class FileStampTest : public ::testing::Test {
 protected:
  FileStampTest() : root_(fs::temp_directory_path() / ("file_stamp_test." + std::to_string(getpid()))) {
    fs::remove_all(root_);
    Put("m/config.pbtxt", "");
    Put("m/1/model.pt", "one");
    Put("n/1/model.pt", "one");
  }
  ~FileStampTest() override { fs::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string Stamp(const std::string& model) { return StampModels({root_})->at(model); }

  const fs::path root_;
};

TEST_F(FileStampTest, EveryFileOfALoadCounts) {
  std::string before = Stamp("m");
  EXPECT_EQ(Stamp("m"), before);
  const auto changed = [&] {
    const std::string now = Stamp("m");
    return std::exchange(before, now) != now;
  };
  Put("m/1/model.pt", "longer");
  EXPECT_TRUE(changed());
  Put("m/config.pbtxt", "max_batch_size: 1");
  EXPECT_TRUE(changed());
  Put("m/2/model.pt", "two");
  EXPECT_TRUE(changed());
  fs::remove_all(root_ / "m/2");
  EXPECT_TRUE(changed());
  fs::remove(root_ / "m/config.pbtxt");
  EXPECT_TRUE(changed());
  Put("m/warmup/x.bin", "x");
  EXPECT_TRUE(changed());
  Put("m/warmup/x.bin", "longer");
  EXPECT_TRUE(changed());
  Put("m/initial_state/x.bin", "x");
  EXPECT_TRUE(changed());
  Put("n/1/model.pt", "other");
  EXPECT_FALSE(changed());
}

TEST_F(FileStampTest, AFileThatTakesThePlaceOfAnotherOfItsSizeAndTimeIsAnotherOne) {
  const fs::path archive = root_ / "m/1/model.pt";
  const std::string before = FileStamp(archive);
  Put("m/1/new", "two");
  fs::last_write_time(root_ / "m/1/new", fs::last_write_time(archive));
  fs::rename(root_ / "m/1/new", archive);
  EXPECT_NE(FileStamp(archive), before);
}

TEST_F(FileStampTest, ALinkIsWhatItLeadsTo) {
  Put("data/one", "one");
  Put("data/two", "two!");
  fs::create_symlink(root_ / "data/one", root_ / "link");
  const std::string before = FileStamp(root_ / "link");
  fs::remove(root_ / "link");
  fs::create_symlink(root_ / "data/two", root_ / "link");
  EXPECT_NE(FileStamp(root_ / "link"), before);
}

TEST_F(FileStampTest, ModelsAreListedAndAMissingRootIsAnError) {
  EXPECT_THAT(*StampModels({root_}), ElementsAre(Key("m"), Key("n")));
  EXPECT_EQ(StampModels({root_, root_ / "nowhere"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(FileStamp(root_ / "nowhere"), HasSubstr("No such file"));
}

}  // namespace
}  // namespace hearth::server
