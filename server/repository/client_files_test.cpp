#include "server/repository/client_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>

#include "server/repository/repository_testing.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kAllVersions = R"({"version_policy": {"all": {}}})";
constexpr int64_t kMostBytes = 1000;

std::string WhyFilesRefused(const FileContents& files) {
  const absl::Status status = CheckClientFiles(files);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(CheckClientFiles, PathsOfVersionsAndOfFilesBesideThemAreTaken) {
  EXPECT_TRUE(CheckClientFiles({}).ok());
  EXPECT_TRUE(CheckClientFiles({{"1/model.pt", ""}}).ok());
  EXPECT_TRUE(CheckClientFiles({{"1/model.pt", ""}, {"20/model.pt", ""}, {"labels.txt", ""}, {"1/x/y.txt", ""}}).ok());
  EXPECT_TRUE(CheckClientFiles({{"1/model.pt", ""}, {"warmup/x.bin", ""}, {"initial_state/x.bin", ""}}).ok());
}

TEST(CheckClientFiles, WhatLeadsElsewhereIsRefusedWithWhatCame) {
  EXPECT_EQ(WhyFilesRefused({{"v1/model.pt", ""}}),
            "a file of a load should be file:VERSION/NAME, with a VERSION that is a positive number without leading "
            "zeros; it is 'file:v1/model.pt'");
  for (const char* path : {"0/model.pt", "-1/model.pt", "01/model.pt", "+1/model.pt", " 1/model.pt", "1.0/model.pt",
                           "99999999999999999999/model.pt", "/1/model.pt", "/etc/passwd", "../model.pt", "./1/model.pt",
                           "model.pt", "labels/one.txt", "warmup/x.bin", "warmup/x/y"}) {
    EXPECT_THAT(WhyFilesRefused({{path, ""}}), HasSubstr("VERSION that is")) << path;
  }
  for (const char* path : {"1/", "1//model.pt", "1/.", "1/..", "1/../../model.pt", "1/a/../../../model.pt", "1/.hidden",
                           "1/a/", "1/a\\b", "1/a\nb", "", ".."}) {
    EXPECT_THAT(WhyFilesRefused({{path, ""}}), HasSubstr("NAME of plain names")) << path;
  }
  EXPECT_THAT(WhyFilesRefused({{std::string("1/a\0b", 5), ""}}), HasSubstr("it is 'file:1/a\\x00"));
  EXPECT_THAT(WhyFilesRefused({{"1/" + std::string(256, 'n'), ""}}), HasSubstr("is longer than 255 bytes"));
  EXPECT_THAT(WhyFilesRefused({{"1/" + std::string(2000, '/'), ""}}), HasSubstr("of at most 1024 bytes"));
  EXPECT_THAT(WhyFilesRefused({{"1", ""}}), HasSubstr("with a NAME; it is 'file:1'"));
}

TEST(CheckClientFiles, AFileCannotBeAFolderNorTheConfigurationNorOneOfManyMore) {
  EXPECT_THAT(WhyFilesRefused({{"1/a", ""}, {"1/a/b/c", ""}}),
              HasSubstr("but '1/a' is a file, too; it is 'file:1/a/b/c'"));
  EXPECT_THAT(WhyFilesRefused({{"1/model.pt", ""}, {"config.pbtxt", ""}}), HasSubstr("the parameter 'config'"));
  FileContents many;
  for (size_t i = 1; i <= kMostClientFiles; ++i) many["1/" + std::to_string(i)] = "";
  EXPECT_TRUE(CheckClientFiles(many).ok());
  many["1/more"] = "";
  EXPECT_EQ(WhyFilesRefused(many), "a load should have at most 128 files; it has 129");
}

// Loads with files, of a repository that takes some.
class ClientFilesTest : public RepositoryTest {
 protected:
  ClientFilesTest() {
    store_ = *ClientFilesStore::Open(root_ / "files", kMostBytes);
    options_.client_files = store_;
  }
  ~ClientFilesTest() override {
    repository_.reset();
    options_.client_files = nullptr;
  }

  absl::Status LoadFiles(const std::string& name, const FileContents& files, std::optional<std::string> config = "{}") {
    std::promise<absl::Status> done;
    repository_->Load(
        name, std::move(config), [&](absl::Status status) { done.set_value(status); }, {}, files);
    return done.get_future().get();
  }

  // The files of all loads that are there.
  std::vector<std::string> OnDisk() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(store_->root())) {
      if (entry.is_directory()) continue;
      const fs::path inside = entry.path().lexically_relative(store_->root());
      files.push_back(inside.lexically_relative(*inside.begin()).string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  std::shared_ptr<ClientFilesStore> store_;
};

TEST_F(ClientFilesTest, AModelIsLoadedFromTheFilesAloneAndAPlainLoadGoesBack) {
  Put("a/m/1/model.pt", "ok repository");
  Put("a/m/3/model.pt", "ok third");
  Put("a/m/config.pbtxt", "version_policy { all {} }");
  StartAndLoad();
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", "ok one"}, {"2/model.pt", "ok two"}}, kAllVersions).ok());
  EXPECT_EQ(Answer("m", "1"), "one");
  EXPECT_EQ(Answer("m"), "two");
  EXPECT_THAT(repository_->ServedVersions("m"), ElementsAre(1, 2));
  EXPECT_THAT(IndexLines(), Contains("m/2 READY loaded from files that came with the load"));
  EXPECT_THAT(OnDisk(), ElementsAre("1/model.pt", "2/model.pt"));
  EXPECT_EQ(store_->bytes(), 12);
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ(Answer("m", "1"), "repository");
  EXPECT_EQ(Answer("m"), "third");
  EXPECT_THAT(OnDisk(), IsEmpty());
  EXPECT_EQ(store_->bytes(), 0);
}

TEST_F(ClientFilesTest, NoRepositoryNeedsToHaveTheModel) {
  StartAndLoad();
  ASSERT_TRUE(LoadFiles("new", {{"7/net.pt", "ok new"}}, R"({"default_model_filename": "net.pt"})").ok());
  EXPECT_EQ(Answer("new"), "new");
  // What a plain load lacks does not harm what serves.
  EXPECT_EQ(Load("new").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Answer("new"), "new");
  ASSERT_TRUE(Unload("new").ok());
  EXPECT_THAT(OnDisk(), IsEmpty());
  EXPECT_THAT(IndexLines(), ElementsAre("new/7 UNAVAILABLE unloaded"));
}

TEST_F(ClientFilesTest, AFailedLoadLeavesWhatServesAndNoFiles) {
  StartAndLoad();
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", "ok old"}}).ok());
  const absl::Status bad = LoadFiles("m", {{"1/model.pt", "bad reason"}});
  EXPECT_THAT(bad.message(), HasSubstr("version 1 of 'm': bad archive: reason"));
  EXPECT_EQ(Answer("m"), "old");
  EXPECT_THAT(OnDisk(), ElementsAre("1/model.pt"));
  EXPECT_EQ(store_->bytes(), 6);
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY bad archive: reason"));
  EXPECT_THAT(LoadFailures(), ElementsAre("m/1 1"));
  EXPECT_THAT(LoadFiles("m", {{"1/model.pt", "ok new"}}, "{").message(), HasSubstr("config"));
  EXPECT_THAT(LoadFiles("m", {{"1/other.pt", "ok new"}}).message(), HasSubstr("there is no file"));
  EXPECT_EQ(Answer("m"), "old");
  EXPECT_EQ(store_->bytes(), 6);
  EXPECT_EQ(LoadFiles("never", {{"1/model.pt", "bad reason"}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(IndexLines(), Contains("never/1 UNAVAILABLE bad archive: reason"));
  EXPECT_EQ(store_->bytes(), 6);
}

TEST_F(ClientFilesTest, WhatIsNotAllowedIsRefusedBeforeAnythingIsWritten) {
  StartAndLoad();
  const FileContents files = {{"1/model.pt", "ok one"}};
  EXPECT_EQ(LoadFiles("m", files, std::nullopt).message(),
            "a load with files should have the parameter 'config', with the model's configuration; it has none");
  EXPECT_THAT(LoadFiles("m", {{"../1/model.pt", "ok one"}}).message(), HasSubstr("'file:../1/model.pt'"));
  EXPECT_EQ(LoadFiles("../m", files).code(), absl::StatusCode::kInvalidArgument);
  const absl::Status large = LoadFiles("m", {{"1/model.pt", std::string(kMostBytes + 1, 'x')}});
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(large.message(), HasSubstr("have 1001 bytes; those of all loads may have 1000"));
  EXPECT_THAT(IndexLines(), IsEmpty());
  EXPECT_EQ(store_->bytes(), 0);
  EXPECT_TRUE(fs::is_empty(store_->root()));

  StartWith(ModelControl::kPoll);
  EXPECT_EQ(LoadFiles("m", files).code(), absl::StatusCode::kUnavailable);
  options_.client_files = nullptr;
  StartWith(ModelControl::kExplicit);
  EXPECT_EQ(LoadFiles("m", files).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(LoadFiles("m", files).message(), HasSubstr("client_files_bytes"));
}

TEST_F(ClientFilesTest, AllLoadsShareTheBytes) {
  StartAndLoad();
  const std::string large = "ok large\n" + std::string(600, 'x');
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", large}}).ok());
  EXPECT_THAT(LoadFiles("n", {{"1/model.pt", large}}).message(), HasSubstr("of which other models have 609"));
  ASSERT_TRUE(Unload("m").ok());
  EXPECT_TRUE(LoadFiles("n", {{"1/model.pt", large}}).ok());
}

TEST_F(ClientFilesTest, WhatCannotBeWrittenIsRefusedAndLeavesWhatServes) {
  Put("a/m/1/model.pt", "ok repository");
  StartAndLoad();
  fs::remove(store_->root());
  Put(store_->root().lexically_relative(root_).string(), "a file where the folder was");
  const absl::Status status = LoadFiles("m", {{"1/model.pt", "ok client"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("Not a directory"));
  EXPECT_EQ(store_->bytes(), 0);
  EXPECT_EQ(Answer("m"), "repository");
}

TEST_F(ClientFilesTest, FilesStayWhileARequestUsesTheVersionAndGoAtTheEnd) {
  StartAndLoad();
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", "ok one"}}).ok());
  const fs::path folder = store_->root();
  struct stat entry;
  ASSERT_EQ(stat(folder.c_str(), &entry), 0);
  EXPECT_EQ(entry.st_mode & 0777, 0700);
  ServablePtr used = *repository_->Find("m", "");
  ASSERT_TRUE(Unload("m").ok());
  EXPECT_THAT(OnDisk(), ElementsAre("1/model.pt"));
  used = nullptr;
  EXPECT_THAT(OnDisk(), IsEmpty());
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", "ok one"}}).ok());
  repository_.reset();
  options_.client_files = nullptr;
  store_ = nullptr;
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(ClientFilesTest, LabelsAreReadFromTheFiles) {
  Put("a/m/labels.txt", "of the repository\n");
  StartAndLoad();
  const char* config =
      R"({"output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2], "label_filename": "l.txt"}]})";
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", "ok one"}, {"l.txt", "cat\ndog\n"}}, config).ok());
  EXPECT_THAT((*repository_->Find("m", ""))->labels.at("y"), ElementsAre("cat", "dog"));
}

TEST_F(ClientFilesTest, AnIdleModelComesBackFromItsFiles) {
  Put("a/m/1/model.pt", "ok repository");
  StartAndLoad();
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", "ok client"}}).ok());
  ASSERT_EQ(repository_->UnloadIdle(std::chrono::seconds(0)), 1);
  EXPECT_THAT(OnDisk(), ElementsAre("1/model.pt"));
  const auto who = std::make_shared<int>();
  std::promise<absl::Status> done;
  repository_->LoadIdle("m", who, [&](absl::Status status) { done.set_value(status); });
  ASSERT_TRUE(done.get_future().get().ok());
  EXPECT_EQ(Answer("m"), "client");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY loaded from files that came with the load"));
  ASSERT_EQ(repository_->UnloadIdle(std::chrono::seconds(0)), 1);
  ASSERT_TRUE(Unload("m").ok());
  EXPECT_THAT(OnDisk(), IsEmpty());
}

TEST_F(ClientFilesTest, ARollbackTakesALoadWithFilesBack) {
  Put("a/m/1/model.pt", "ok repository");
  StartAndLoad();
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", "ok client"}}).ok());
  ASSERT_TRUE(RollBack("m").ok());
  EXPECT_EQ(Answer("m"), "repository");
  EXPECT_THAT(OnDisk(), IsEmpty());
  // Nor are they there for a rollback of the rollback.
  const absl::Status gone = RollBack("m");
  EXPECT_EQ(gone.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(gone.message(), HasSubstr("files that came with a load, which are gone"));
  ASSERT_TRUE(LoadFiles("m", {{"2/model.pt", "ok client"}}).ok());
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ(RollBack("m", 2).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Answer("m"), "repository");
}

TEST_F(ClientFilesTest, ARollbackFindsVersionsThatServeOrAreKept) {
  Put("a/m/1/model.pt", "ok repository");
  Put("a/m/config.pbtxt", R"(parameters { key: "keep_previous" value { string_value: "true" } })");
  StartAndLoad();
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", "ok one"}, {"2/model.pt", "ok two"}}, kAllVersions).ok());
  ASSERT_TRUE(RollBack("m", 1).ok());
  EXPECT_EQ(Answer("m"), "one");
  ASSERT_TRUE(RollBack("m", 2).ok()) << "its files are those of the version that serves";
  EXPECT_EQ(Answer("m"), "two");
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ(Answer("m"), "repository");
  ASSERT_TRUE(RollBack("m").ok());
  EXPECT_EQ(Answer("m"), "two");
}

TEST_F(ClientFilesTest, OperatorLibrariesAreLoadedFromTheRepositoryAlone) {
  options_.model_operator_libraries = true;
  StartAndLoad();
  const char* config = R"({"model_operations": {"op_library_filename": ["x.so"]}})";
  const absl::Status status = LoadFiles("m", {{"1/model.pt", "ok one"}, {"x.so", "native"}}, config);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("operator library 'x.so'"));
}

TEST_F(ClientFilesTest, OfNamesThatClientsInventTheOldestAreForgotten) {
  Put("a/m/1/model.pt", "ok repository");
  StartAndLoad();
  ASSERT_TRUE(LoadFiles("m", {{"1/model.pt", "ok one"}}).ok());
  ASSERT_TRUE(Unload("m").ok());
  ASSERT_TRUE(LoadFiles("serves", {{"1/model.pt", "ok one"}}).ok());
  EXPECT_FALSE(LoadFiles("serves", {{"1/model.pt", "bad one"}}).ok());
  ASSERT_TRUE(LoadFiles("unloaded", {{"1/model.pt", "ok one"}}).ok());
  ASSERT_TRUE(Unload("unloaded").ok());
  for (size_t i = 0; i < kMostGoneOfClients; ++i) {
    EXPECT_FALSE(LoadFiles("bad" + std::to_string(i), {{"1/model.pt", "bad one"}}).ok());
  }
  EXPECT_FALSE(repository_->Knows("unloaded"));
  EXPECT_THAT(IndexLines(), Not(Contains(HasSubstr("unloaded/1"))));
  EXPECT_EQ(Answer("serves"), "one");
  EXPECT_THAT(IndexLines(), Contains("m/1 UNAVAILABLE unloaded")) << "which the repository has";
  EXPECT_TRUE(repository_->Knows("bad0"));
}

}  // namespace
}  // namespace hearth::server
