#include "jit/support/usable_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMebibyte = 1 << 20;

// A folder with files of /proc and /sys.
class UsableMemoryTest : public testing::Test {
 protected:
  UsableMemoryTest() { fs::create_directories(root_); }
  ~UsableMemoryTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void Write(const std::string& path, int64_t bytes) const { Write(path, std::to_string(bytes) + "\n"); }

  const int64_t machine_ = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  const fs::path root_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(UsableMemoryTest, IsTheMachinesWhereNoGroupSetsALimit) {
  EXPECT_EQ(UsableMemory(root_), machine_);
  Write("proc/self/cgroup", "4:memory:/a\n0::/a\n");
  Write("sys/fs/cgroup/a/memory.max", "max\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", 9223372036854771712);
  EXPECT_EQ(UsableMemory(root_), machine_);
}

TEST_F(UsableMemoryTest, IsTheLeastOfAServicesGroupAndThoseAboveIt) {
  Write("proc/self/cgroup", "0::/system.slice/serving.slice/hearthd.service\n");
  Write("sys/fs/cgroup/system.slice/serving.slice/hearthd.service/memory.max", 300 * kMebibyte);
  EXPECT_EQ(UsableMemory(root_), 300 * kMebibyte);
  Write("sys/fs/cgroup/system.slice/memory.max", 200 * kMebibyte);
  Write("sys/fs/cgroup/system.slice/serving.slice/memory.max", "max\n");
  EXPECT_EQ(UsableMemory(root_), 200 * kMebibyte);
  Write("sys/fs/cgroup/system.slice/serving.slice/memory.max", 100 * kMebibyte);
  EXPECT_EQ(UsableMemory(root_), 100 * kMebibyte);
}

TEST_F(UsableMemoryTest, IsReadFromTheGroupThatAContainerSeesAsTheRoot) {
  Write("proc/self/cgroup", "0::/docker/1234\n");
  Write("sys/fs/cgroup/memory.max", 100 * kMebibyte);
  EXPECT_EQ(UsableMemory(root_), 100 * kMebibyte);
}

TEST_F(UsableMemoryTest, IsReadFromGroupsOfVersionOne) {
  Write("proc/self/cgroup", "9:name=systemd:/x\n5:memory:/outer/inner\n4:cpu,cpuacct:/y\n");
  Write("sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", 300 * kMebibyte);
  EXPECT_EQ(UsableMemory(root_), 300 * kMebibyte);
  Write("sys/fs/cgroup/memory/outer/memory.limit_in_bytes", 200 * kMebibyte);
  EXPECT_EQ(UsableMemory(root_), 200 * kMebibyte);
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", 100 * kMebibyte);
  EXPECT_EQ(UsableMemory(root_), 100 * kMebibyte);
}

}  // namespace
}  // namespace hearth
