#include "server/settings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string SettingsError(const std::string& text) {
  const absl::Status status = ParseSettings(text, "f").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(SettingsFile, ValuesOfEveryTypeAreRead) {
  const auto settings = ParseSettings(R"(
      # A comment: memory_limit: "none".
      model_repository: ["a", "b"]
      grpc_port: 9000
      load_seconds: 2.5
      compiler: false
      device: "cuda")",
                                      "f");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(settings->model_repository(), ElementsAre("a", "b"));
  EXPECT_EQ(settings->grpc_port(), 9000);
  EXPECT_EQ(settings->load_seconds(), 2.5);
  EXPECT_FALSE(settings->compiler());
  EXPECT_EQ(settings->device(), "cuda");
}

TEST(SettingsFile, ASizeIsANumberOfBytesOrText) {
  const auto settings =
      ParseSettings(R"(memory_limit: 17  plan_bytes: "2GiB"  job_memory:'500MB' cache_dir: "1KB")", "f");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->memory_limit(), 17);
  EXPECT_EQ(settings->plan_bytes(), int64_t{2} << 30);
  EXPECT_EQ(settings->job_memory(), int64_t{500} << 20);
  EXPECT_EQ(settings->cache_dir(), "1KB");
}

TEST(SettingsFile, MistakesAreNamedWithTheirPlace) {
  EXPECT_THAT(SettingsError("threads: 1\n  grpc_prot: 1"), HasSubstr("f:2:12: "));
  EXPECT_THAT(SettingsError("threads: 1\n  grpc_prot: 1"), HasSubstr("\"grpc_prot\""));
  EXPECT_THAT(SettingsError("grpc_port: \"one\""), HasSubstr("f:1:12: Expected integer, got: \"one\""));
  EXPECT_THAT(SettingsError("\n\nplan_bytes: \"much\""), HasSubstr("f:3:13: 'much' is not a size"));
  EXPECT_THAT(SettingsError("cache_dir: \"open"), HasSubstr("f:1:"));
  EXPECT_THAT(SettingsError("{\"threads\": 1}"), HasSubstr("f:1:1: "));
  EXPECT_THAT(SettingsError("threads: 1 threads: 2"), HasSubstr("threads"));
}

TEST(SettingsFile, ATextMayStandOnSeveralLines) {
  const auto settings = ParseSettings("cache_dir: \"a\"\n  \"b\"\nthreads: 2\n\tmax_plans: 3", "f");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->cache_dir(), "ab");
  EXPECT_EQ(settings->max_plans(), 3);
}

TEST(SettingsFile, AFileMayHaveAMebibyte) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("settings_file_test." + std::to_string(getpid()));
  std::ofstream(file) << "threads: 2 #" << std::string((1 << 20) - 12, '#');
  ASSERT_EQ(std::filesystem::file_size(file), 1U << 20);
  const auto settings = ReadSettingsFile(file);
  EXPECT_TRUE(settings.ok()) << settings.status();
  std::ofstream(file, std::ios::app) << '#';
  const absl::Status status = ReadSettingsFile(file).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("has more than 1048576 bytes"));
  std::filesystem::remove(file);
}

TEST(SettingsFile, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(ReadSettingsFile("/nowhere/f").status().message(), HasSubstr("there is no file /nowhere/f"));
  EXPECT_THAT(ReadSettingsFile("/tmp").status().message(), HasSubstr("/tmp: it is not a regular file"));
}

}  // namespace
}  // namespace hearth::server
