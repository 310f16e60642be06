#include "server/repository/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TemporaryFolderTest : public ::testing::Test {
 protected:
  TemporaryFolderTest() : within_(fs::temp_directory_path() / ("temporary_folder_test." + std::to_string(getpid()))) {
    fs::remove_all(within_);
    fs::create_directories(within_);
  }
  ~TemporaryFolderTest() override { fs::remove_all(within_); }

  // What a process leaves that is killed while it has a folder.
  void LeaveOne() {
    const pid_t child = fork();
    if (child == 0) {
      const auto folder = TemporaryFolder::Make(within_, "mine.");
      std::ofstream((*folder)->path() / "file") << "text";
      raise(SIGKILL);
    }
    waitpid(child, nullptr, 0);
  }

  int64_t Count() const { return std::distance(fs::directory_iterator(within_), fs::directory_iterator()); }

  const fs::path within_;
};

TEST_F(TemporaryFolderTest, IsForThisUserAloneAndGoesWithEverythingInIt) {
  auto folder = TemporaryFolder::Make(within_, "mine.");
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_TRUE((*folder)->path().filename().string().starts_with("mine."));
  struct stat entry;
  ASSERT_EQ(stat((*folder)->path().c_str(), &entry), 0);
  EXPECT_EQ(entry.st_mode & 0777, 0700);
  fs::create_directories((*folder)->path() / "a/b");
  std::ofstream((*folder)->path() / "a/b/file") << "text";
  folder->reset();
  EXPECT_EQ(Count(), 0);
}

TEST_F(TemporaryFolderTest, WhereNoneCanBeMadeTheReasonIsTold) {
  const auto folder = TemporaryFolder::Make(within_ / "nowhere", "mine.");
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(folder.status().message(), HasSubstr("nowhere: No such file or directory"));
}

TEST_F(TemporaryFolderTest, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
  LeaveOne();
  const auto used = TemporaryFolder::Make(within_, "mine.");
  const auto other = TemporaryFolder::Make(within_, "other.");
  fs::create_directories(within_ / "elsewhere");
  fs::create_directory_symlink(within_ / "elsewhere", within_ / "mine.link");
  ASSERT_EQ(Count(), 5);
  RemoveAbandonedFolders(within_, "mine.");
  EXPECT_EQ(Count(), 4);
  EXPECT_TRUE(fs::exists((*used)->path()));
  EXPECT_TRUE(fs::exists((*other)->path()));
  EXPECT_TRUE(fs::exists(within_ / "elsewhere"));
  RemoveAbandonedFolders(within_ / "nowhere", "mine.");
}

}  // namespace
}  // namespace hearth::server
