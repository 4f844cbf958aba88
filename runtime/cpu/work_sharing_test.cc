#include "runtime/cpu/work_sharing.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "runtime/cpu/interleavings.h"

namespace aitune {
namespace {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define AITUNE_SANITIZED 1
#endif
#endif

struct Configuration {
  StoreBuffers buffers;
  int threads;
  std::vector<int> grids;  // units of one task after another
  // Whether the first thread goes on without the others in the end.
  bool dismiss = false;
};

// One region: its first thread shares tasks and ends it, the others serve.
class Region : public InterleavedProgram {
 public:
  explicit Region(const Configuration& configuration)
      : configuration_(configuration), sharing_(configuration.threads) {
    for (int grid : configuration.grids) done_.emplace_back(grid, 0);
  }

  int threads() const override { return configuration_.threads; }

  void Run(int thread) override {
    if (thread > 0) {
      sharing_.Serve(thread);
      return;
    }
    for (size_t task = 0; task < done_.size(); ++task) {
      const int grid = configuration_.grids[task];
      sharing_.Share(
          grid, std::min(grid, sharing_.threads()),
          [&, task](int64_t begin, int64_t end) { Work(task, begin, end); });
      ++returned_;
      ForgetPast(returned_);
      if (done_[task] != std::vector<int>(grid, 1)) {
        FailInterleaving(absl::StrCat(
            "when Share of task ", task, " returns, its units are done ",
            absl::StrJoin(done_[task], ", "), " times"));
      }
    }
    if (configuration_.dismiss) {
      sharing_.Dismiss();
    } else {
      sharing_.End(threads() - 1);
    }
  }

  size_t State() const override { return absl::HashOf(returned_, done_); }

 private:
  void Work(size_t task, int64_t begin, int64_t end) {
    if (returned_ > task || begin < 0 || begin >= end ||
        end > configuration_.grids[task]) {
      FailInterleaving(absl::StrCat("after ", returned_, " tasks, task ", task,
                                    " is given units ", begin, " to ", end));
      return;
    }
    for (int64_t i = begin; i < end; ++i) ++done_[task][i];
  }

  const Configuration& configuration_;
  WorkSharing<ModelAtomics> sharing_;
  size_t returned_ = 0;                 // tasks
  std::vector<std::vector<int>> done_;  // times, of each unit of each task
};

class WorkSharingTest : public ::testing::TestWithParam<Configuration> {};

TEST_P(WorkSharingTest, EachUnitIsDoneOnceInEveryOrder) {
#ifdef AITUNE_SANITIZED
  GTEST_SKIP() << "sanitizers do not follow changes of stacks";
#endif
  const InterleavingResult result = RunInterleavings(
      [] { return std::make_unique<Region>(GetParam()); }, GetParam().buffers);
  EXPECT_EQ(result.error, "");
  RecordProperty("states", static_cast<int>(result.states));
  RecordProperty("orders", static_cast<int>(result.orders));
}

constexpr StoreBuffers kNone = StoreBuffers::kNone, kX86 = StoreBuffers::kX86;
INSTANTIATE_TEST_SUITE_P(
    Small, WorkSharingTest,
    ::testing::Values(Configuration{kX86, 2, {1}}, Configuration{kX86, 2, {2}},
                      Configuration{kX86, 2, {2, 3}},
                      Configuration{kNone, 2, {2, 3, 2}},
                      Configuration{kNone, 3, {2}},
                      Configuration{kX86, 2, {2, 3}, true},
                      Configuration{kNone, 3, {2}, true}),
    [](const ::testing::TestParamInfo<Configuration>& info) {
      return absl::StrCat(info.param.buffers == kX86 ? "Buffers_" : "",
                          info.param.threads, "Threads_",
                          absl::StrJoin(info.param.grids, "_"),
                          info.param.dismiss ? "_Dismissed" : "");
    });

}  // namespace
}  // namespace aitune
