#include "jit/fuser/runtime/kernel_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>

#include "jit/fuser/runtime/code_origin.h"

namespace hearth::fuser {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kText[] = "kernel() {\n}\n";

KernelImage ImageOf(const std::string& text) {
  KernelImage image;
  image.target = "znver4";
  image.kernel_hash = HashOf(text);
  image.block = std::string(100, '\xc3');
  return image;
}

std::string BytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

class KernelStoreTest : public testing::Test {
 protected:
  ~KernelStoreTest() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("kernels-" + std::to_string(std::random_device()()));
  KernelStore store_{folder_, "hearth 1"};
};

TEST_F(KernelStoreTest, WhatIsWrittenIsReadByTheNextProcessAndByNobodyOfAnotherOrigin) {
  EXPECT_EQ(store_.Read(kText), std::nullopt);
  store_.Write(kText, ImageOf(kText));
  const KernelFile expected{.key = "hearth 1", .text = kText, .image = ImageOf(kText), .reason = ""};
  EXPECT_EQ(KernelStore(folder_, "hearth 1").Read(kText), expected);
  EXPECT_EQ(KernelStore(folder_, "hearth 2").Read(kText), std::nullopt);
  EXPECT_EQ(store_.Read("kernel(%0) {\n}\n"), std::nullopt);
}

TEST_F(KernelStoreTest, AFileThatIsNotSoundIsIgnoredAndReplaced) {
  store_.Write(kText, ImageOf(kText));
  const fs::path path = store_.PathOf(kText);
  const std::string bytes = BytesOf(path);
  std::string changed = bytes;
  changed[bytes.size() / 2] ^= 1;
  for (const std::string& other : {std::string(), bytes.substr(0, bytes.size() / 2), changed, bytes + "x"}) {
    Put(path, other);
    EXPECT_EQ(store_.Read(kText), std::nullopt);
    store_.Write(kText, ImageOf(kText));
    EXPECT_NE(store_.Read(kText), std::nullopt);
  }
  // Another kernel's, under this one's name.
  store_.Write("kernel(%0) {\n}\n", ImageOf("kernel(%0) {\n}\n"));
  fs::rename(store_.PathOf("kernel(%0) {\n}\n"), path);
  EXPECT_EQ(store_.Read(kText), std::nullopt);
}

TEST_F(KernelStoreTest, CodeThatOthersMayHaveWrittenIsNotRun) {
  store_.Write(kText, ImageOf(kText));
  const fs::path path = store_.PathOf(kText);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(store_.Read(kText), std::nullopt);
  fs::permissions(path, fs::perms::group_write, fs::perm_options::remove);
  EXPECT_NE(store_.Read(kText), std::nullopt);
  fs::rename(path, folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", path);
  EXPECT_EQ(store_.Read(kText), std::nullopt);
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(store_.Read(kText), std::nullopt);
  store_.Write(kText, ImageOf(kText));
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to somebody else";
  fs::remove(path);
  store_.Write(kText, ImageOf(kText));
  ASSERT_NE(store_.Read(kText), std::nullopt);
  ASSERT_EQ(chown(path.c_str(), 1, 1), 0);
  EXPECT_EQ(store_.Read(kText), std::nullopt);
}

TEST_F(KernelStoreTest, TheFilesThatWereNotUsedForLongestGo) {
  const size_t one = SerializeKernelFile({.key = "hearth 1", .text = "kernel 0", .image = ImageOf("kernel 0")}).size();
  KernelStore store(folder_, "hearth 1", {.bytes = 4 * one});
  const auto age = [&](const std::string& text, int hours) {
    fs::last_write_time(store.PathOf(text), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (int i = 0; i < 4; ++i) {
    const std::string text = "kernel " + std::to_string(i);
    store.Write(text, ImageOf(text));
    age(text, 10 - i);
  }
  EXPECT_NE(store.Read("kernel 0"), std::nullopt);
  store.Write("kernel 4", ImageOf("kernel 4"));
  EXPECT_NE(store.Read("kernel 0"), std::nullopt);
  EXPECT_EQ(store.Read("kernel 1"), std::nullopt);
  EXPECT_NE(store.Read("kernel 4"), std::nullopt);
}

TEST_F(KernelStoreTest, AKernelWithoutCodeIsKeptWithTheReasonAndAFileThatShowsIt) {
  KernelStore store(folder_, "hearth 1", {.reproducers = 2});
  for (const char* text : {"kernel 1", "kernel 2", "kernel 3"}) store.WriteReason(text, "it crashed:\nhere");
  EXPECT_EQ(store.Read("kernel 3")->image, std::nullopt);
  EXPECT_EQ(store.Read("kernel 3")->reason, "it crashed:\nhere");
  EXPECT_EQ(BytesOf(store.ReproducerOf("kernel 2")), "// it crashed:\n// here\n// hearth 1\nkernel 2");
  EXPECT_FALSE(fs::exists(store.ReproducerOf("kernel 3")));
}

TEST_F(KernelStoreTest, AFolderThatCannotBeMadeDoesNoHarm) {
  fs::create_directory(folder_);
  Put(folder_ / "kernels", "a file");
  store_.Write(kText, ImageOf(kText));
  EXPECT_EQ(store_.Read(kText), std::nullopt);
}

TEST(CodeOriginTest, AProgramsBuildIsKnownByItsIdAndOtherFilesHaveNone) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  const std::string id = BuildIdOf(self);
  EXPECT_EQ(id.size(), 40U);
  EXPECT_NE(BuildIdOf(self.parent_path() / "hearth-codegen"), id);
  EXPECT_EQ(BuildIdOf("/proc/self/status"), "");
  EXPECT_EQ(BuildIdOf("/nowhere"), "");
  EXPECT_EQ(CodeOrigin("/nowhere", "native"), "");
  EXPECT_EQ(CodeOrigin(self, "native"), CodeOrigin(self, "native"));
  EXPECT_THAT(CodeOrigin(self, "native"), HasSubstr(id));
  EXPECT_NE(CodeOrigin(self, "native"), CodeOrigin(self, "x86-64"));
}

}  // namespace
}  // namespace hearth::fuser
