#include "jit/archive/mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "jit/archive/test_values.h"

namespace hearth {
namespace {

std::shared_ptr<const Mapping> OpenWhole(const std::string& path, Mapping::Mode mode) {
  auto mapping = Mapping::Open(path, mode);
  mapping->Fill(0, mapping->bytes().size());
  mapping->CloseFile();
  return mapping;
}

class MappingTest : public testing::TestWithParam<Mapping::Mode> {
 protected:
  void SetUp() override { WriteTestFile(path_, bytes_); }
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ = testing::TempDir() + "mapping_test_" + std::to_string(getpid());
  const std::string bytes_ = std::string(100000, 'a') + "end";
};

TEST_P(MappingTest, HasTheBytesOfTheFile) { EXPECT_EQ(OpenWhole(path_, GetParam())->bytes(), bytes_); }

TEST_P(MappingTest, WritingToItLeavesTheFileAlone) {
  const auto mapping = OpenWhole(path_, GetParam());
  mapping->data()[0] = 'X';
  EXPECT_EQ(mapping->bytes()[0], 'X');
  EXPECT_EQ(ReadTestFile(path_), bytes_);
  EXPECT_EQ(OpenWhole(path_, GetParam())->bytes(), bytes_);
}

TEST_P(MappingTest, OutlivesTheNameOfTheFile) {
  const auto mapping = OpenWhole(path_, GetParam());
  std::filesystem::remove(path_);
  EXPECT_EQ(mapping->bytes(), bytes_);
}

TEST_P(MappingTest, HasTheBytesOfALargeFileThatIsReadInPieces) {
  std::string bytes;
  bytes.resize(50'000'001);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
  WriteTestFile(path_, bytes);
  EXPECT_TRUE(OpenWhole(path_, GetParam())->bytes() == bytes);
}

TEST_P(MappingTest, AnEmptyFileIsMappedAsNoBytes) {
  WriteTestFile(path_, "");
  EXPECT_EQ(OpenWhole(path_, GetParam())->bytes().size(), 0u);
}

TEST_P(MappingTest, WhatIsNoReadableFileIsAnErrorWithItsNumber) {
  const auto error_of = [](const std::string& path) {
    try {
      Mapping::Open(path, GetParam());
    } catch (const FileError& error) {
      return error.error_number();
    }
    return 0;
  };
  EXPECT_EQ(error_of(path_ + ".missing"), ENOENT);
  EXPECT_EQ(error_of(testing::TempDir()), EISDIR);
  const std::string pipe = path_ + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of(pipe), EINVAL);
  std::filesystem::remove(pipe);
}

INSTANTIATE_TEST_SUITE_P(BothModes, MappingTest, testing::Values(Mapping::Mode::kInPlace, Mapping::Mode::kPrivateCopy),
                         [](const auto& info) {
                           return info.param == Mapping::Mode::kInPlace ? "InPlace" : "PrivateCopy";
                         });

TEST(PrivateMapping, KeepsItsBytesWhenTheFileIsOverwrittenAndCutOff) {
  const std::string path = testing::TempDir() + "mapping_private_" + std::to_string(getpid());
  WriteTestFile(path, std::string(10000, 'a'));
  const auto mapping = OpenWhole(path, Mapping::Mode::kPrivateCopy);
  const int fd = open(path.c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "bbbb", 4, 0), 4);
  ASSERT_EQ(ftruncate(fd, 10), 0);
  close(fd);
  EXPECT_EQ(mapping->bytes(), std::string(10000, 'a'));
  std::filesystem::remove(path);
}

TEST(PrivateMapping, IsFilledByStretchesAndSaysWhenTheFileBecameShorter) {
  const std::string path = testing::TempDir() + "mapping_short_" + std::to_string(getpid());
  WriteTestFile(path, "0123456789");
  const auto mapping = Mapping::Open(path, Mapping::Mode::kPrivateCopy);
  mapping->Fill(7, 10);
  mapping->Fill(2, 4);
  EXPECT_EQ(mapping->bytes(), std::string("\0\0"
                                          "23"
                                          "\0\0\0"
                                          "789",
                                          10));
  std::filesystem::resize_file(path, 5);
  EXPECT_THROW(mapping->Fill(4, 7), ArchiveError);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hearth
