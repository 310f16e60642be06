#include "server/repository/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LabelsTest : public ::testing::Test {
 protected:
  LabelsTest() { fs::create_directories(folder_); }
  ~LabelsTest() override { fs::remove_all(folder_); }

  absl::StatusOr<Labels> Read(const std::string& file) {
    inference::ModelConfig config;
    config.add_output()->set_name("plain");
    auto* output = config.add_output();
    output->set_name("scores");
    output->set_label_filename(file);
    return ReadLabels(folder_, config, [](const fs::path& path) { return path; });
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  const fs::path folder_ = fs::temp_directory_path() / ("hearth_labels_" + std::to_string(getpid()));
};

TEST_F(LabelsTest, EachLineIsALabelAlsoAnEmptyOne) {
  Write("labels.txt", "cat\n\ndog\r\nlast");
  const auto labels = Read("labels.txt");
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(labels->at("scores"), ElementsAre("cat", "", "dog", "last"));
  EXPECT_FALSE(labels->contains("plain"));
}

TEST_F(LabelsTest, ABreakAtTheEndIsNoLabel) {
  Write("labels.txt", "cat\ndog\n");
  EXPECT_THAT(Read("labels.txt")->at("scores"), ElementsAre("cat", "dog"));
}

TEST_F(LabelsTest, AFileThatIsNotThereIsNamed) {
  const auto labels = Read("missing.txt");
  EXPECT_TRUE(absl::IsFailedPrecondition(labels.status()));
  EXPECT_THAT(std::string(labels.status().message()), HasSubstr("missing.txt"));
}

TEST_F(LabelsTest, NoNameLeadsOutOfTheFolder) {
  for (const char* name : {"/etc/hostname", "../labels.txt", "a/../../labels.txt", ".."}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Read(name).status())) << name;
  }
}

TEST_F(LabelsTest, SizeAndNumberAreBounded) {
  Write("many.txt", std::string(kMostLabels + 1, '\n'));
  EXPECT_TRUE(absl::IsInvalidArgument(Read("many.txt").status()));
  Write("large.txt", std::string(kMostLabelBytes + 1, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(Read("large.txt").status()));
}

}  // namespace
}  // namespace hearth::server
