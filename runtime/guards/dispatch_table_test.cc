#include "runtime/guards/dispatch_table.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/logging/logging.h"

namespace aitune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Executable {
 public:
  explicit Executable(int version) : version(version) {}
  const int version;
};
using Table = DispatchTable<Executable>;

class DispatchTableTest : public testing::Test {
 protected:
  DispatchTableTest() {
    options_.name = "bert";
    SetLogSink([this](LogChannel channel, std::string_view text) {
      log_.push_back(std::string(Name(channel)) + ": " + std::string(text));
    });
    SetEnabled(LogChannel::kRecompiles, true);
  }
  ~DispatchTableTest() override {
    SetLogSink(nullptr);
    SetEnabled(LogChannel::kRecompiles, false);
  }

  absl::StatusOr<Table::Version> Compile(const CompileRequest& request) {
    requests_.push_back(request);
    if (!error_.ok()) return error_;
    return Table::Version{std::make_shared<Executable>(request.version),
                          answer_.empty() ? request.inputs : answer_};
  }

  absl::StatusOr<std::shared_ptr<Executable>> Find(
      Table& table, absl::Span<const CallInput> inputs,
      OnMiss on_miss = OnMiss::kCompile) {
    return table.Find(
        inputs,
        [this](const CompileRequest& request) { return Compile(request); },
        on_miss);
  }

  static constexpr int kNoVersion = -2;

  // The version that a tensor of these sizes gets, -1 for an error.
  int Run(Table& table, std::vector<int64_t> sizes,
          OnMiss on_miss = OnMiss::kCompile) {
    CallInput input;
    input.sizes = sizes;
    const absl::StatusOr<std::shared_ptr<Executable>> found =
        Find(table, {input}, on_miss);
    status_ = found.status();
    if (!found.ok()) return -1;
    return *found == nullptr ? kNoVersion : (*found)->version;
  }

  DispatchOptions options_;
  absl::Status error_;
  std::vector<InputDescription> answer_;
  std::vector<CompileRequest> requests_;
  std::vector<std::string> log_;
  absl::Status status_;
};

TEST_F(DispatchTableTest, StaticFirstDynamicAtTheSecondSize) {
  Table table(options_);
  EXPECT_EQ(Run(table, {8, 16}), 0);
  EXPECT_EQ(Run(table, {8, 16}), 0);
  EXPECT_EQ(Run(table, {12, 16}), 1);
  EXPECT_EQ(Run(table, {99, 16}), 1);
  EXPECT_THAT(requests_, SizeIs(2));
  EXPECT_EQ(ToString(requests_[1].inputs[0]), "float32[2.., 16]");
}

TEST_F(DispatchTableTest, TheVersionForExactlyTheSizesGoesFirst) {
  Table table(options_);
  Run(table, {8, 16});
  Run(table, {12, 16});
  EXPECT_EQ(Run(table, {8, 16}), 0);
}

TEST_F(DispatchTableTest, FalseAlwaysSpecialises) {
  options_.sizes.dynamic = false;
  Table table(options_);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Run(table, {8 + i, 16}), i);
  EXPECT_EQ(Run(table, {9, 16}), 1);
}

TEST_F(DispatchTableTest, TrueIsDynamicUpFront) {
  options_.sizes.dynamic = true;
  Table table(options_);
  EXPECT_EQ(Run(table, {8, 16}), 0);
  EXPECT_EQ(Run(table, {9, 17}), 0);
  EXPECT_THAT(requests_, SizeIs(1));
}

TEST_F(DispatchTableTest, ARecompileTellsTheGuardTheValuesAndTheRemedy) {
  Table table(options_);
  Run(table, {8, 16});
  EXPECT_THAT(log_, IsEmpty());
  Run(table, {12, 16});
  EXPECT_THAT(
      log_,
      ElementsAre("recompiles: compiling version 1 of bert for "
                  "float32[2.., 16]. version 0: the size of axis 0 of input 0 "
                  "is 12, compiled for 8; to avoid it, set dynamic to True, "
                  "or give the axis a range of sizes"));
  EXPECT_EQ(requests_[0].reason, "");
  EXPECT_THAT(requests_[1].reason, HasSubstr("compiled for 8"));
}

TEST_F(DispatchTableTest, BeyondTheLimitCallsAreLibTorchsLoudAndCounted) {
  options_.sizes.dynamic = false;
  options_.recompile_limit = 2;
  SetEnabled(LogChannel::kRecompiles, false);
  Table table(options_);
  EXPECT_EQ(Run(table, {1}), 0);
  EXPECT_EQ(Run(table, {2}), 1);
  EXPECT_EQ(table.calls_beyond_limit(), 0);
  EXPECT_EQ(Run(table, {3}), kNoVersion);
  EXPECT_THAT(
      log_,
      ElementsAre(HasSubstr(
          "warning: bert has reached the limit of 2 compiled versions: "
          "LibTorch runs what they don't fit, unless you raise "
          "recompile_limit. version 0: the size of axis 0 of input 0 is 3")));
  EXPECT_EQ(Run(table, {4}), kNoVersion);
  EXPECT_EQ(Run(table, {2}), 1);
  EXPECT_THAT(requests_, SizeIs(2));
  EXPECT_EQ(table.calls_beyond_limit(), 2);
  EXPECT_THAT(log_, SizeIs(1)) << "it is told once";
  SetEnabled(LogChannel::kRecompiles, true);
  Run(table, {4});
  EXPECT_THAT(log_, SizeIs(2));
  EXPECT_EQ(Run(table, {4}, OnMiss::kFail), -1);
  EXPECT_EQ(status_.code(), absl::StatusCode::kFailedPrecondition);
  table.Reset();
  EXPECT_EQ(table.calls_beyond_limit(), 0);
  EXPECT_EQ(Run(table, {4}), 0);
}

TEST_F(DispatchTableTest, FailuresDoNotCountAgainstTheLimit) {
  options_.sizes.dynamic = false;
  options_.recompile_limit = 2;
  Table table(options_);
  error_ = absl::InvalidArgumentError("the model raises");
  for (int64_t size = 1; size <= 3 * kRememberedFailures; ++size)
    EXPECT_EQ(Run(table, {size}), -1);
  EXPECT_EQ(table.version_count(), 0);
  error_ = absl::OkStatus();
  EXPECT_EQ(Run(table, {1000}), 0);
  EXPECT_EQ(Run(table, {1001}), 1);
}

TEST_F(DispatchTableTest, OnlyTheLatestFailuresAreRemembered) {
  options_.sizes.dynamic = false;
  Table table(options_);
  error_ = absl::InvalidArgumentError("the model raises");
  for (int64_t size = 0; size <= kRememberedFailures; ++size)
    Run(table, {size});
  requests_.clear();
  Run(table, {kRememberedFailures});
  Run(table, {1});
  EXPECT_THAT(requests_, IsEmpty());
  Run(table, {0});
  EXPECT_THAT(requests_, SizeIs(1)) << "the oldest is forgotten";
}

TEST_F(DispatchTableTest, OnMissFailCompilesNothing) {
  Table table(options_);
  EXPECT_EQ(Run(table, {8}, OnMiss::kFail), -1);
  EXPECT_EQ(status_.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status_.message(),
            "bert would have to be compiled: there is no version yet");
  EXPECT_EQ(Run(table, {8}), 0);
  EXPECT_EQ(Run(table, {8}, OnMiss::kFail), 0);
  EXPECT_EQ(Run(table, {9}, OnMiss::kFail), -1);
  EXPECT_THAT(std::string(status_.message()),
              HasSubstr("is 9, compiled for 8"));
  EXPECT_THAT(requests_, SizeIs(1));
}

TEST_F(DispatchTableTest, TheCompilerMaySpecialise) {
  Table table(options_);
  Run(table, {8, 16});
  CallInput input;
  const std::vector<int64_t> sizes = {12, 16};
  input.sizes = sizes;
  answer_ = {InputDescription::Of(input)};
  answer_[0].axes[0] = {2, 32};
  EXPECT_EQ(Run(table, {12, 16}), 1);
  EXPECT_EQ(Run(table, {32, 16}), 1);
  answer_.clear();
  EXPECT_EQ(Run(table, {33, 16}), 2);
}

TEST_F(DispatchTableTest, AVersionThatDoesNotFitTheCallIsAnError) {
  Table table(options_);
  CallInput input;
  const std::vector<int64_t> sizes = {7};
  input.sizes = sizes;
  answer_ = {InputDescription::Of(input)};
  EXPECT_EQ(Run(table, {8}), -1);
  EXPECT_EQ(status_.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(table.version_count(), 0);
}

TEST_F(DispatchTableTest, AFailureIsRememberedForItsInputs) {
  Table table(options_);
  error_ = absl::UnimplementedError("no code for aten::foo");
  EXPECT_EQ(Run(table, {8}), -1);
  EXPECT_EQ(Run(table, {8}), -1);
  EXPECT_EQ(status_, error_);
  EXPECT_THAT(requests_, SizeIs(1));
  error_ = absl::OkStatus();
  EXPECT_EQ(Run(table, {8}), -1);
  EXPECT_EQ(Run(table, {9}), 0);
  // Until there is a version that fits.
  EXPECT_EQ(Run(table, {8}), 0);
}

TEST_F(DispatchTableTest, AFailureThatMayPassIsTriedAgain) {
  Table table(options_);
  error_ = absl::UnavailableError("the machine is busy");
  EXPECT_EQ(Run(table, {8}), -1);
  error_ = absl::OkStatus();
  EXPECT_EQ(Run(table, {8}), 0);
}

TEST_F(DispatchTableTest, ResetForgetsAll) {
  Table table(options_);
  Run(table, {8});
  Run(table, {9});
  table.Reset();
  EXPECT_EQ(table.version_count(), 0);
  EXPECT_EQ(Run(table, {10}), 0);
  EXPECT_EQ(ToString(requests_.back().inputs[0]), "float32[10]");
}

TEST_F(DispatchTableTest, AVersionInUseOutlivesReset) {
  Table table(options_);
  CallInput input;
  const std::vector<int64_t> sizes = {8};
  input.sizes = sizes;
  const std::shared_ptr<Executable> version = *Find(table, {input});
  table.Reset();
  EXPECT_EQ(version->version, 0);
}

TEST_F(DispatchTableTest, TheGuardFilterDecidesWhatIsChecked) {
  options_.guard_filter = FindGuardFilter("keep_tensor_guards_unsafe");
  Table table(options_);
  ASSERT_TRUE(Find(table, {CallInput::Int(1)}).ok());
  ASSERT_TRUE(Find(table, {CallInput::Int(2)}).ok());
  EXPECT_THAT(requests_, SizeIs(1));
}

TEST_F(DispatchTableTest, ThreadsCompileEachVersionOnce) {
  options_.sizes.dynamic = false;
  options_.recompile_limit = 100;
  Table table(options_);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int64_t j = 0; j < 200; ++j) {
        const std::vector<int64_t> sizes = {(i + j) % 10};
        CallInput input;
        input.sizes = sizes;
        wrong += !Find(table, {input}).ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(requests_, SizeIs(10));
}

// Calls that find a version do not wait for one that is compiled.
TEST_F(DispatchTableTest, HitsGoOnWhileAVersionIsCompiled) {
  std::atomic<bool> compiling{false}, go{false};
  Table table(options_);
  EXPECT_EQ(Run(table, {8}), 0);
  std::thread other([&] {
    const std::vector<int64_t> sizes = {9};
    CallInput input;
    input.sizes = sizes;
    const auto wait = [&](const CompileRequest& request) {
      compiling = true;
      while (!go) std::this_thread::yield();
      return Compile(request);
    };
    EXPECT_TRUE(table.Find({input}, wait).ok());
  });
  while (!compiling) std::this_thread::yield();
  EXPECT_EQ(Run(table, {8}), 0);
  go = true;
  other.join();
  EXPECT_EQ(Run(table, {9}), 1);
}

// Who saves asks for the history, with locks that who compiles takes too.
TEST_F(DispatchTableTest, TheHistoryCanBeHadWhileAVersionIsCompiled) {
  Table table(options_);
  EXPECT_EQ(Run(table, {8}), 0);
  const std::vector<int64_t> sizes = {9};
  CallInput input;
  input.sizes = sizes;
  std::future<SizeHistory::Groups> history;
  const auto wait = [&](const CompileRequest& request) {
    history = std::async(std::launch::async, [&] { return table.history(); });
    EXPECT_EQ(history.wait_for(std::chrono::seconds(20)),
              std::future_status::ready);
    return Compile(request);
  };
  EXPECT_TRUE(table.Find({input}, wait).ok());
  EXPECT_THAT(history.get(), SizeIs(1));
}

TEST_F(DispatchTableTest, NothingIsCompiledWhileAResetForgets) {
  Table table(options_);
  EXPECT_EQ(Run(table, {8}), 0);
  std::thread other;
  table.Reset([&] {
    other = std::thread([&] { EXPECT_EQ(Run(table, {8}), 0); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(table.version_count(), 0);
  });
  other.join();
  EXPECT_EQ(table.version_count(), 1);
}

// Such as one whose results were found wrong: its calls are LibTorch's, and
// nothing is compiled for them again.
TEST_F(DispatchTableTest, AVersionMayHaveNoExecutable) {
  Table table(options_);
  int compiled = 0;
  const std::vector<int64_t> sizes = {4, 3};
  CallInput input;
  input.sizes = sizes;
  EXPECT_FALSE(table.Knows({input}));
  for (int call = 0; call < 2; ++call) {
    const auto found = table.Find({input}, [&](const CompileRequest& request) {
      ++compiled;
      return Table::Version{nullptr, request.inputs};
    });
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, nullptr);
  }
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(table.version_count(), 1);
  EXPECT_TRUE(table.Knows({input}));
}

}  // namespace
}  // namespace aitune
