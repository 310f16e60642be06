// With a script in rclone's place, which serves a folder as rclone does object storage.
#include "server/storage/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kRclone = R"bash(#!/bin/bash
# rclone FLAG... lsjson|copy FLAG... REMOTE [FOLDER]; serves STORAGE, and does what the file "fails" there says first.
set -e
words=() flags=()
for word in "$@"; do [[ $word == -* ]] && flags+=("$word") || words+=("$word"); done
echo "${words[0]}" >> "$STORAGE/../calls"
[[ -e $STORAGE/../fails ]] && . "$STORAGE/../fails"
remote=${words[1]#:gcs:bucket}
folder=$STORAGE$remote
cd "$folder" 2>/dev/null || { [[ ${words[0]} == lsjson ]] && echo '[]'; exit 0; }
if [[ ${words[0]} == copy ]]; then
  for flag in "${flags[@]}"; do [[ $flag == --files-from-raw=* ]] && list=${flag#*=}; done
  while read -r file; do
    mkdir -p "$(dirname "${words[2]}/$file")"
    cp "$file" "${words[2]}/$file"
  done < "$list"
  exit
fi
kind=f
[[ " ${flags[*]} " == *" --dirs-only "* ]] && kind=d
depth=(-maxdepth 1)
[[ " ${flags[*]} " == *" --recursive "* ]] && depth=()
find . -mindepth 1 "${depth[@]}" -type $kind -printf '{"Path":"%P","Size":%s,"ModTime":"%TY-%Tm-%TdT%TH:%TM:%TSZ"}\n' |
  sort | paste -sd, | sed 's/^/[/; s/$/]/'
)bash";

std::string Contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class MirrorTest : public ::testing::Test {
 protected:
  MirrorTest() : home_(fs::temp_directory_path() / ("mirror_test." + std::to_string(getpid()))) {
    fs::remove_all(home_);
    fs::create_directories(home_ / "bin");
    fs::create_directories(home_ / "storage");
    Write(home_ / "bin/rclone", kRclone);
    fs::permissions(home_ / "bin/rclone", fs::perms::owner_all);
    path_before_ = std::getenv("PATH");
    setenv("PATH", ((home_ / "bin").string() + ":" + path_before_).c_str(), 1);
    setenv("STORAGE", (home_ / "storage").c_str(), 1);
    setenv("TZ", "UTC", 1);
    Open();
  }
  ~MirrorTest() override {
    setenv("PATH", path_before_.c_str(), 1);
    fs::remove_all(home_);
  }

  void Open() { mirror_ = Mirror::Open("gs://bucket", home_ / "mirror", counts_).value(); }
  static void Write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void Store(const std::string& path, const std::string& text) { Write(home_ / "storage" / path, text); }
  // What the next calls do first, in bash.
  void Fail(const std::string& script) { Write(home_ / "fails", script); }
  // All that lies in the mirror, sorted.
  std::vector<std::string> Mirrored() const {
    std::vector<std::string> paths;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(home_ / "mirror")) {
      paths.push_back(entry.path().lexically_relative(home_ / "mirror").string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  std::string Mirrored(const std::string& path) const { return Contents(home_ / "mirror" / path); }
  absl::Status Fetch(const std::string& model) { return mirror_->Fetch(model, {}); }

  const fs::path home_;
  std::string path_before_;
  MirrorCounts counts_;
  std::unique_ptr<Mirror> mirror_;
};

TEST_F(MirrorTest, ModelsAreFoundAndFetchedOneByOne) {
  Store("m/1/model.pt", "one");
  Store("m/config.pbtxt", "config");
  Store("n/1/model.pt", "other");
  Store("no_model", "text");
  ASSERT_TRUE(mirror_->FindModels({}).ok());
  EXPECT_THAT(Mirrored(), ElementsAre("m", "n"));
  ASSERT_TRUE(Fetch("m").ok());
  EXPECT_THAT(Mirrored(), ElementsAre("m", "m/1", "m/1/model.pt", "m/config.pbtxt", "n"));
  EXPECT_EQ(Mirrored("m/1/model.pt"), "one");
  EXPECT_EQ(counts_.files, 2U);
  EXPECT_EQ(counts_.bytes, 9U);
}

TEST_F(MirrorTest, OnlyWhatHasChangedIsDownloadedAndTheLastProcessesCounts) {
  Store("m/1/model.pt", "one");
  Store("m/2/model.pt", "two");
  ASSERT_TRUE(Fetch("m").ok());
  Open();
  ASSERT_TRUE(Fetch("m").ok());
  EXPECT_EQ(Contents(home_ / "calls"), "lsjson\ncopy\nlsjson\n");
  Store("m/2/model.pt", "TWO");
  ASSERT_TRUE(Fetch("m").ok());
  EXPECT_EQ(counts_.files, 3U);
  EXPECT_EQ(Mirrored("m/2/model.pt"), "TWO");
}

TEST_F(MirrorTest, WhatIsGoneThereGoesHere) {
  Store("m/1/model.pt", "one");
  Store("m/2/extra/file", "two");
  Store("n/1/model.pt", "other");
  ASSERT_TRUE(mirror_->FetchAll({}).ok());
  fs::remove_all(home_ / "storage/m/2");
  fs::remove_all(home_ / "storage/n");
  ASSERT_TRUE(mirror_->FetchAll({}).ok());
  EXPECT_THAT(Mirrored(), ElementsAre("m", "m/1", "m/1/model.pt"));
  fs::remove_all(home_ / "storage/m");
  ASSERT_TRUE(Fetch("m").ok());
  EXPECT_THAT(Mirrored(), IsEmpty());
}

TEST_F(MirrorTest, AFileTakesItsPlaceByARename) {
  Store("m/1/model.pt", "one");
  ASSERT_TRUE(Fetch("m").ok());
  std::ifstream open_before(home_ / "mirror/m/1/model.pt");
  Store("m/1/model.pt", "two");
  ASSERT_TRUE(Fetch("m").ok());
  std::string text;
  open_before >> text;
  EXPECT_EQ(text, "one");
}

TEST_F(MirrorTest, AFailureSaysWhatRcloneSaysAndLeavesWhatIsThere) {
  Store("m/1/model.pt", "one");
  ASSERT_TRUE(mirror_->FetchAll({}).ok());
  Store("m/1/model.pt", "two");
  Fail("if [[ ${words[0]} == copy ]]; then echo '2026/11/27 09:08:48 Failed to copy: no way' >&2; exit 1; fi");
  const absl::Status failed = Fetch("m");
  EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(failed.message()), "gs://bucket: Failed to copy: no way");
  EXPECT_EQ(Mirrored("m/1/model.pt"), "one");
  EXPECT_THAT(Mirrored(), ElementsAre("m", "m/1", "m/1/model.pt"));  // nothing that was arriving is left
  EXPECT_EQ(counts_.failures, 1U);
}

TEST_F(MirrorTest, AFileThatChangesOnItsWayIsNoneThatHasCome) {
  Store("m/1/model.pt", "one");
  Fail("if [[ ${words[0]} == copy ]]; then echo longer > $STORAGE/m/1/model.pt; fi");
  EXPECT_THAT(std::string(Fetch("m").message()), HasSubstr("m/1/model.pt changed while it was downloaded"));
  Fail("");
  EXPECT_TRUE(Fetch("m").ok());
  EXPECT_EQ(Mirrored("m/1/model.pt"), "longer\n");
}

TEST_F(MirrorTest, StorageThatIsNotReachedAtTheStartLeavesTheModelsOfBefore) {
  Fail("exit 1");
  EXPECT_EQ(mirror_->FindModels({}).code(), absl::StatusCode::kUnavailable);
  Fail("");
  Store("m/1/model.pt", "one");
  ASSERT_TRUE(mirror_->FetchAll({}).ok());
  Fail("exit 1");
  EXPECT_TRUE(mirror_->FindModels({}).ok());
  EXPECT_THAT(Mirrored(), ElementsAre("m", "m/1", "m/1/model.pt"));
}

TEST_F(MirrorTest, AListingThatIsNoneIsAnError) {
  Fail("echo '[1]'; exit 0");
  EXPECT_THAT(std::string(Fetch("m").message()), HasSubstr("listing"));
  EXPECT_THAT(std::string(mirror_->FetchAll({}).message()), HasSubstr("listing"));
}

TEST_F(MirrorTest, ANameThatIsNoModelsIsNeverFetched) {
  EXPECT_EQ(Fetch("../m").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Fetch("").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(home_ / "calls"));
}

TEST_F(MirrorTest, WithoutRcloneItIsSaidWhatIsMissing) {
  setenv("PATH", "/nonexistent", 1);
  EXPECT_THAT(std::string(Fetch("m").message()), HasSubstr("apt-get install rclone"));
}

TEST_F(MirrorTest, RepositoriesKeepTheirOrderAndATemporaryFolderGoes) {
  auto mirrors = Mirrors::Open({"/srv/a", "gs://bucket", "/srv/b"}, "").value();
  ASSERT_EQ(mirrors->roots().size(), 3U);
  EXPECT_EQ(mirrors->roots()[0], "/srv/a");
  EXPECT_EQ(mirrors->roots()[2], "/srv/b");
  const fs::path root = mirrors->roots()[1];
  Store("m/1/model.pt", "one");
  ASSERT_TRUE(mirrors->FindModels({}).ok());
  ASSERT_TRUE(mirrors->Fetch("m", {}).ok());
  EXPECT_TRUE(fs::exists(root / "m/1/model.pt"));
  mirrors.reset();
  EXPECT_FALSE(fs::exists(root));
  EXPECT_EQ(Mirrors::Open({"ftp://bucket"}, "").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hearth::server
