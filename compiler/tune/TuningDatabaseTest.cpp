#include "compiler/tune/TuningDatabase.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "sqlite3.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::HasSubstr;

std::string freshPath(const std::string &name) {
  const std::string path = testing::TempDir() + "tuning_" + name;
  for (const char *suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(path + suffix);
  return path;
}

TuningRecord makeRecord(const std::string &kernel, const std::string &config,
                        double microseconds, int64_t time = 1) {
  return {kernel,
          "cpu",
          "matmul",
          config,
          {1, 2.5},
          10,
          20,
          microseconds,
          microseconds - 1,
          microseconds + 1,
          microseconds < 0 ? "crashed" : "",
          "1",
          time};
}

std::unique_ptr<TuningDatabase> open(const std::string &path) {
  auto database = TuningDatabase::open(path);
  EXPECT_TRUE(database.ok()) << database.status();
  return *std::move(database);
}

TEST(TuningDatabase, FindsFastestFirstAndFailedLast) {
  auto database = open(freshPath("order"));
  ASSERT_TRUE(
      database
          ->record({makeRecord("k", "slow", 9), makeRecord("k", "broken", -1),
                    makeRecord("k", "fast", 3), makeRecord("other", "fast", 1)})
          .ok());
  auto found = database->find("k", "cpu");
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ((*found)[0].config, "fast");
  EXPECT_EQ((*found)[0].features, (std::vector<double>{1, 2.5}));
  EXPECT_EQ((*found)[2].note, "crashed");
  EXPECT_TRUE(database->find("k", "other cpu")->empty());
}

TEST(TuningDatabase, LaterRecordsReplaceEarlierOnes) {
  auto database = open(freshPath("replace"));
  ASSERT_TRUE(database->record({makeRecord("k", "c", 9, 5)}).ok());
  ASSERT_TRUE(database->record({makeRecord("k", "c", 4, 3)}).ok());
  EXPECT_EQ(database->find("k", "cpu")->at(0).microseconds, 9);
  ASSERT_TRUE(database->record({makeRecord("k", "c", 2, 6)}).ok());
  EXPECT_EQ(database->find("k", "cpu")->at(0).microseconds, 2);
}

TEST(TuningDatabase, ChoicesAreOfOneVersion) {
  auto database = open(freshPath("choices"));
  ASSERT_TRUE(database->choose("k", "cpu", "1", "{mr = 8 : i64}").ok());
  EXPECT_EQ(*database->chosen("k", "cpu", "1"), "{mr = 8 : i64}");
  EXPECT_EQ(*database->chosen("k", "cpu", "2"), "");
  EXPECT_EQ(*database->chosen("l", "cpu", "1"), "");
}

TEST(TuningDatabase, ExportAndImportMerge) {
  auto first = open(freshPath("export"));
  ASSERT_TRUE(
      first->record({makeRecord("k", "a", 9), makeRecord("k", "b", -1)}).ok());
  const std::string file = testing::TempDir() + "tuning_export.jsonl";
  ASSERT_EQ(*first->exportTo(file), 2);
  auto second = open(freshPath("import"));
  ASSERT_TRUE(second->record({makeRecord("k", "c", 5)}).ok());
  ASSERT_EQ(*second->importFrom(file), 2);
  EXPECT_EQ(second->find("k", "cpu")->size(), 3u);
  EXPECT_EQ(second->summarize()->failed, 1);
  EXPECT_EQ(second->summarize()->kernels, 1);
}

TEST(TuningDatabase, ADamagedImportAddsNothing) {
  auto database = open(freshPath("damaged_import"));
  ASSERT_TRUE(database->record({makeRecord("k", "a", 9)}).ok());
  const std::string file = testing::TempDir() + "tuning_damaged.jsonl";
  ASSERT_TRUE(database->exportTo(file).ok());
  std::ofstream(file, std::ios::app) << "{\"kernel\": 3}\n";
  auto other = open(freshPath("damaged_target"));
  auto imported = other->importFrom(file);
  EXPECT_EQ(imported.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(imported.status().message()), HasSubstr("line 2"));
  EXPECT_EQ(other->summarize()->records, 0);
}

/// In a process of its own, as only its file systems are then changed.
TEST(TuningDatabase, OnAReadOnlyFileSystemIsRead) {
  constexpr int kNoMount = 77;
  const std::string folder = testing::TempDir() + "tuning # read%20only?";
  std::filesystem::create_directories(folder);
  const auto body = [&] {
    if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", folder.c_str(), "tmpfs", 0, nullptr) != 0)
      return kNoMount;
    const std::string path = folder + "/schedules.db";
    if (!open(path)->record({makeRecord("k", "a", 9)}).ok())
      return 1;
    if (mount("none", folder.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY,
              nullptr) != 0)
      return kNoMount;
    const auto database = open(path);
    const auto found = database->find("k", "cpu");
    if (!found.ok() || found->size() != 1)
      return 2;
    if (!absl::IsPermissionDenied(database->record({makeRecord("k", "b", 8)})))
      return 3;
    return TuningDatabase::open(folder + "/none.db").ok() ? 4 : 0;
  };
  const pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoMount)
    GTEST_SKIP() << "this user may not mount a tmpfs";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(TuningDatabase, RefusesFilesOfOthers) {
  const std::string path = freshPath("text");
  std::ofstream(path) << std::string(4096, 'x');
  EXPECT_EQ(TuningDatabase::open(path).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(TuningDatabase::open("/proc/nowhere/tuning").ok());
}

TEST(TuningDatabase, RefusesDatabasesOfOthersAndLeavesThemAlone) {
  const std::string path = freshPath("other_program");
  sqlite3 *other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(other, "CREATE TABLE theirs (x)", nullptr, nullptr, nullptr),
      SQLITE_OK);
  const absl::Status refused = TuningDatabase::open(path).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another program"));
  // No lock is left behind.
  EXPECT_EQ(sqlite3_exec(other, "INSERT INTO theirs VALUES (1)", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(other);
}

/// Opens a database from several threads at once, as soon as `start` has no
/// writer any more; returns how many failed.
int openFromThreads(const std::string &path, int start) {
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&] {
      char none;
      if (read(start, &none, 1) != 0)
        ++failed;
      auto database = TuningDatabase::open(path);
      absl::Status status = database.status();
      if (status.ok())
        status = (*database)->record({makeRecord("k", "c", 1)});
      if (!status.ok()) {
        ++failed;
        std::cerr << status << std::endl;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return failed;
}

TEST(TuningDatabase, ManyOpenANewFileAtOnce) {
  for (int round = 0; round < 20; ++round) {
    const std::string path = freshPath("opened_at_once");
    int start[2];
    ASSERT_EQ(pipe(start), 0);
    std::vector<pid_t> children;
    for (int child = 0; child < 4; ++child) {
      const pid_t pid = fork();
      ASSERT_GE(pid, 0);
      if (pid == 0) {
        close(start[1]);
        _exit(openFromThreads(path, start[0]));
      }
      children.push_back(pid);
    }
    close(start[1]);
    for (pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << "in round " << round;
    }
    close(start[0]);
    EXPECT_EQ(open(path)->summarize()->records, 1);
  }
}

TEST(TuningDatabase, WritersDoNotLoseEachOthersRecords) {
  const std::string path = freshPath("writers");
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&path, writer] {
      auto database = open(path);
      for (int i = 0; i < 25; ++i)
        EXPECT_TRUE(database
                        ->record({makeRecord("k" + std::to_string(writer),
                                             std::to_string(i), i + 1)})
                        .ok());
    });
  for (std::thread &writer : writers)
    writer.join();
  EXPECT_EQ(open(path)->summarize()->records, 100);
}

} // namespace
} // namespace aitune
