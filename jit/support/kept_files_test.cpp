#include "jit/support/kept_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace hearth {
namespace {

namespace fs = std::filesystem;

class KeptFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "kept_files_test";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& name, size_t bytes, std::chrono::minutes age) {
    std::ofstream(folder_ / name) << std::string(bytes, 'x');
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - age);
  }
  bool Has(const std::string& name) const { return fs::exists(folder_ / name); }

  fs::path folder_;
};

using std::chrono::minutes;

TEST_F(KeptFilesTest, OldestGoFirst) {
  Write("new.kept", 40, minutes(1));
  Write("oldest.kept", 40, minutes(30));
  Write("old.kept", 40, minutes(20));
  KeepNewest(folder_, ".kept", 80);
  EXPECT_FALSE(Has("oldest.kept"));
  EXPECT_TRUE(Has("old.kept"));
  EXPECT_TRUE(Has("new.kept"));
}

TEST_F(KeptFilesTest, OtherFilesStayAndCountForNothing) {
  Write("a.kept", 40, minutes(1));
  Write("b.other", 4000, minutes(600));
  KeepNewest(folder_, ".kept", 40);
  EXPECT_TRUE(Has("a.kept"));
  EXPECT_TRUE(Has("b.other"));
}

TEST_F(KeptFilesTest, WhatWasNeverFinishedGoesAfterAnHour) {
  Write("a.kept.new-12-0", 40, minutes(90));
  Write("b.kept.new-12-1", 40, minutes(1));
  KeepNewest(folder_, ".kept", 0);
  EXPECT_FALSE(Has("a.kept.new-12-0"));
  EXPECT_TRUE(Has("b.kept.new-12-1"));
}

TEST_F(KeptFilesTest, AFolderThatIsNotThere) { KeepNewest(folder_ / "missing", ".kept", 0); }

}  // namespace
}  // namespace hearth
