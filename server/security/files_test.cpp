#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "server/security/text_file.h"
#include "server/security/watched_files.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() { fs::create_directories(folder_); }
  ~Files() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("files_test." + std::to_string(getpid()));
};

TEST_F(Files, AFileIsReadWholeUpToItsBound) {
  Write("a", "text");
  EXPECT_EQ(*ReadTextFile(folder_ / "a", 4), "text");
  EXPECT_EQ(ReadTextFile(folder_ / "a", 3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadTextFile(folder_ / "b").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadTextFile(folder_).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadTextFile(folder_ / "pipe").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Files, AChangeIsSeenAlsoThroughLinks) {
  fs::create_directories(folder_ / "one");
  fs::create_directories(folder_ / "two");
  Write("one/file", "1");
  Write("two/file", "2");
  Write("plain", "1");
  fs::create_symlink("one", folder_ / "..data");
  fs::create_symlink("..data/file", folder_ / "file");
  std::atomic<int> plain{0}, linked{0};
  WatchedFiles watched(std::chrono::milliseconds(1));
  watched.Add({folder_ / "plain"}, [&] { ++plain; });
  watched.Add({folder_ / "file", folder_ / "not there"}, [&] { ++linked; });
  watched.Start();
  fs::create_symlink("two", folder_ / "..new");
  fs::rename(folder_ / "..new", folder_ / "..data");
  while (linked < 1) std::this_thread::yield();
  EXPECT_EQ(plain, 0);
  Write("plain", "12");
  while (plain < 1) std::this_thread::yield();
  watched.Reload();
  while (linked < 2) std::this_thread::yield();
}

}  // namespace
}  // namespace hearth::server
