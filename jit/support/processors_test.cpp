#include "jit/support/processors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hearth {
namespace {

namespace fs = std::filesystem;

// A folder with files of /proc and /sys.
class ProcessorQuotaTest : public testing::Test {
 protected:
  ProcessorQuotaTest() { fs::create_directories(root_); }
  ~ProcessorQuotaTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ProcessorQuotaTest, IsAbsentWhereNoGroupSetsOne) {
  EXPECT_EQ(ProcessorQuota(root_), std::nullopt);
  Write("proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/a\n");
  EXPECT_EQ(ProcessorQuota(root_), std::nullopt);
  Write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(ProcessorQuota(root_), std::nullopt);
}

TEST_F(ProcessorQuotaTest, IsReadFromGroupsOfVersionTwo) {
  Write("proc/self/cgroup", "0::/machine/service\n");
  Write("sys/fs/cgroup/machine/service/cpu.max", "150000 100000\n");
  EXPECT_EQ(ProcessorQuota(root_), 1.5);
}

TEST_F(ProcessorQuotaTest, IsReadFromGroupsOfVersionOne) {
  Write("proc/self/cgroup", "9:name=systemd:/x\n4:cpu,cpuacct:/service\n3:cpuset:/y\n");
  Write("sys/fs/cgroup/cpu/service/cpu.cfs_quota_us", "50000\n");
  Write("sys/fs/cgroup/cpu/service/cpu.cfs_period_us", "20000\n");
  EXPECT_EQ(ProcessorQuota(root_), 2.5);
}

TEST_F(ProcessorQuotaTest, IsTheLeastOfTheGroupAndThoseAboveIt) {
  Write("proc/self/cgroup", "0::/outer/inner\n");
  Write("sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n");
  Write("sys/fs/cgroup/outer/cpu.max", "300000 100000\n");
  EXPECT_EQ(ProcessorQuota(root_), 3);
  // A container sees its own group as the root, and may see the path that it has outside.
  Write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(ProcessorQuota(root_), 2);
}

TEST(UsableProcessors, AreOneAtLeast) { EXPECT_GE(UsableProcessors(), 1); }

}  // namespace
}  // namespace hearth
