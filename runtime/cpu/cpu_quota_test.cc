#include "runtime/cpu/cpu_quota.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace aitune {
namespace {

constexpr char kMounts2[] =
    "22 1 8:1 / / rw - ext4 /dev/root rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr char kMounts1[] =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup "
    "rw,cpu,cpuacct\n";

// A folder with files of a system in it.
class CpuQuotaTest : public ::testing::Test {
 protected:
  CpuQuotaTest() {
    root_ = ::testing::TempDir() + "quotaXXXXXX";
    EXPECT_NE(mkdtemp(root_.data()), nullptr);
  }
  ~CpuQuotaTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file(root_ + path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void System(const std::string& mounts, const std::string& groups) {
    Write("/proc/self/mountinfo", mounts);
    Write("/proc/self/cgroup", groups);
  }

  std::string root_;
};

TEST_F(CpuQuotaTest, Version2HasTheLeastOnThePathToTheTop) {
  System(kMounts2, "0::/pods/one/main\n");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  Write("/sys/fs/cgroup/pods/one/main/cpu.max", "max 100000\n");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  Write("/sys/fs/cgroup/pods/cpu.max", "400000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 4);
  Write("/sys/fs/cgroup/pods/one/cpu.max", "75000 50000\n");
  EXPECT_EQ(CpuQuota(root_), 1.5);
  Write("/sys/fs/cgroup/pods/two/cpu.max", "1000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 1.5) << "another's group";
}

TEST_F(CpuQuotaTest, Version1) {
  System(kMounts1, "3:cpuset:/other\n2:cpu,cpuacct:/one\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  Write("/sys/fs/cgroup/cpu/one/cpu.cfs_quota_us", "250000\n");
  Write("/sys/fs/cgroup/cpu/one/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), 2.5);
}

TEST_F(CpuQuotaTest, BothVersions) {
  System(std::string(kMounts1) +
             "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
         "2:cpu,cpuacct:/one\n0::/\n");
  Write("/sys/fs/cgroup/cpu/one/cpu.cfs_quota_us", "50000");
  Write("/sys/fs/cgroup/cpu/one/cpu.cfs_period_us", "100000");
  EXPECT_EQ(CpuQuota(root_), 0.5);
}

TEST_F(CpuQuotaTest, ContainersSeeTheirGroupAsTheTop) {
  const std::string mounts =
      "30 22 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
  Write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  for (const char* group : {"0::/docker/abc\n", "0::/\n", "0::/../x\n"}) {
    System(mounts, group);
    EXPECT_EQ(CpuQuota(root_), 1.5) << group;
  }
}

TEST_F(CpuQuotaTest, NoneWhereTheSystemDoesNotTell) {
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  for (const char* text :
       {"", " - ", "1 2 3 - cgroup2", "a:b", "\n\n", "0::"}) {
    System(text, text);
    EXPECT_EQ(CpuQuota(root_), std::nullopt) << text;
  }
  System(kMounts2, "0::/\n");
  for (const char* text :
       {"", "max", "10", "0 0", "-5 100", "nan nan", "1 2 3", "150000 0"}) {
    Write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(CpuQuota(root_), std::nullopt) << text;
  }
}

TEST_F(CpuQuotaTest, ThreadsForAQuota) {
  EXPECT_EQ(ThreadsFor(8, std::nullopt), 8);
  EXPECT_EQ(ThreadsFor(8, 64), 8);
  EXPECT_EQ(ThreadsFor(8, 4), 4);
  EXPECT_EQ(ThreadsFor(8, 1.5), 2);
  EXPECT_EQ(ThreadsFor(8, 0.1), 1);
  EXPECT_EQ(ThreadsFor(0, std::nullopt), 1);
}

}  // namespace
}  // namespace aitune
