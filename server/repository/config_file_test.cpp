#include "server/repository/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/repository/model_config.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A model's folder of its own.
class ConfigFileTest : public testing::Test {
 protected:
  ConfigFileTest() { fs::create_directories(folder_); }
  ~ConfigFileTest() override { fs::remove_all(folder_); }

  // The load fails, and says why.
  void ExpectUnreadable(const std::string& reason) const {
    const absl::Status status = ReadModelConfig(folder_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(status.message(), HasSubstr("cannot read " + file_.string() + ": " + reason));
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("config_file_test." + std::to_string(getpid())) / "m";
  const fs::path file_ = folder_ / "config.pbtxt";
};

TEST_F(ConfigFileTest, OnlyAFolderWithoutTheFileHasTheDefaults) {
  const auto none = ReadConfigFile(file_);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(*none, std::nullopt);
  EXPECT_EQ(ReadModelConfig(folder_)->config.default_model_filename(), "model.pt");
  std::ofstream(file_) << "max_batch_size: 4";
  EXPECT_EQ(ReadModelConfig(folder_)->config.max_batch_size(), 4);
}

TEST_F(ConfigFileTest, ALinkToAFileIsRead) {
  std::ofstream(folder_ / "shared.pbtxt") << "max_batch_size: 4";
  fs::create_symlink("shared.pbtxt", file_);
  EXPECT_EQ(ReadModelConfig(folder_)->config.max_batch_size(), 4);
}

TEST_F(ConfigFileTest, ALinkToNowhereFails) {
  fs::create_symlink("nowhere", file_);
  ExpectUnreadable("No such file or directory");
}

TEST_F(ConfigFileTest, ALinkToItselfFails) {
  fs::create_symlink("config.pbtxt", file_);
  ExpectUnreadable("Too many levels of symbolic links");
}

TEST_F(ConfigFileTest, AFolderFails) {
  fs::create_directory(file_);
  ExpectUnreadable("it is not a regular file");
}

TEST_F(ConfigFileTest, APipeFailsAndIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  ExpectUnreadable("it is not a regular file");
}

TEST_F(ConfigFileTest, AFileWithoutPermissionFails) {
  std::ofstream(file_) << "max_batch_size: 4";
  fs::permissions(file_, fs::perms::none);
  if (access(file_.c_str(), R_OK) == 0) GTEST_SKIP() << "root may read every file";
  ExpectUnreadable("Permission denied");
}

TEST_F(ConfigFileTest, AFileThatIsTooLargeFailsHoweverLargeItIs) {
  std::ofstream(file_) << "#";
  fs::resize_file(file_, uintmax_t{1} << 40);
  const absl::Status status = ReadModelConfig(folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("has more than 1048576 bytes"));
}

}  // namespace
}  // namespace hearth::server
