#include "server/repository/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Layout : public ::testing::Test {
 protected:
  Layout() : root_(fs::temp_directory_path() / ("layout_test." + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Layout() override { fs::remove_all(root_); }

  fs::path root_;
};

TEST_F(Layout, ModelsAreFoldersThatAreNotHidden) {
  fs::create_directories(root_ / "resnet");
  fs::create_directories(root_ / "bert");
  fs::create_directories(root_ / ".git");
  std::ofstream(root_ / "README.md") << "x";
  EXPECT_THAT(*ListModels(root_), ElementsAre("bert", "resnet"));
}

TEST_F(Layout, AFolderThatIsNotThereIsNamed) {
  const auto models = ListModels(root_ / "nowhere");
  ASSERT_EQ(models.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(models.status().message()), HasSubstr("nowhere"));
}

TEST_F(Layout, VersionsArePositiveNumbersInNumericOrder) {
  for (const char* name : {"2", "10", "1", "0", "007", "-3", "v4", "99999999999999999999"}) {
    fs::create_directories(root_ / "m" / name);
  }
  std::ofstream(root_ / "m" / "5") << "a file";
  EXPECT_THAT(ListVersions(root_ / "m"), ElementsAre(1, 2, 10));
  EXPECT_THAT(ListVersions(root_ / "nothing"), IsEmpty());
}

TEST_F(Layout, ANameThatWouldLeaveTheRepositoryIsRefused) {
  for (const char* name : {"", ".", "..", "../etc", "a/b", "/etc", "a\\b", ".hidden", "a\nb"}) {
    EXPECT_EQ(CheckModelName(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(CheckModelName(std::string("a\0b", 3)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckModelName(std::string(256, 'x')).code(), absl::StatusCode::kInvalidArgument);
  for (const char* name : {"resnet50", "my model", "a..b", "modèle"}) EXPECT_TRUE(CheckModelName(name).ok()) << name;
}

}  // namespace
}  // namespace hearth::server
