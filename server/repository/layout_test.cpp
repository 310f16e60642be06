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

// As Kubernetes mounts a volume: ..data points to the folder of the current state, and every name into ..data.
TEST_F(Layout, LinksThatStayWithinTheirRepositoryAreFollowed) {
  fs::create_directories(root_ / "..2026" / "m" / "1");
  std::ofstream(root_ / "..2026" / "m" / "1" / "model.pt") << "x";
  fs::create_symlink("..2026", root_ / "..data");
  fs::create_symlink("..data/m", root_ / "m");
  fs::create_symlink(root_ / "m", root_ / "absolute");
  const fs::path real = fs::canonical(root_) / "..2026" / "m" / "1" / "model.pt";
  for (const char* name : {"m", "absolute"}) EXPECT_EQ(*ResolveWithin({root_}, root_ / name / "1" / "model.pt"), real);
  fs::create_directory_symlink(root_, root_.string() + ".link");
  EXPECT_EQ(*ResolveWithin({root_.string() + ".link"}, root_ / "m" / "1" / "model.pt"), real);
  fs::remove(root_.string() + ".link");
}

TEST_F(Layout, LinksThatLeadOutAreRefused) {
  const fs::path outside = root_.string() + ".outside";
  fs::create_directories(outside / "m" / "1");
  std::ofstream(outside / "m" / "1" / "model.pt") << "x";
  fs::create_directories(root_ / "file");
  fs::create_symlink(outside / "m", root_ / "folder");
  fs::create_symlink("../../" + outside.filename().string() + "/m/1/model.pt", root_ / "file" / "model.pt");
  for (const fs::path& path : {root_ / "folder" / "1" / "model.pt", root_ / "file" / "model.pt"}) {
    const auto resolved = ResolveWithin({root_}, path);
    ASSERT_EQ(resolved.status().code(), absl::StatusCode::kFailedPrecondition) << path;
    EXPECT_THAT(std::string(resolved.status().message()), HasSubstr(fs::canonical(outside).string()));
    // A name that only begins as the repository's is another folder.
    EXPECT_TRUE(ResolveWithin({root_, outside}, path).ok());
  }
  fs::remove_all(outside);
  EXPECT_EQ(*ResolveWithin({root_}, root_ / "nothing"), root_ / "nothing");
}

}  // namespace
}  // namespace hearth::server
