// The table of states and calls, cell by cell.
#include <functional>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/fake_backend.h"

namespace aitune {
namespace {

using S = BackendState;

constexpr S kStates[] = {S::kInit, S::kActive, S::kInactive,
                         S::kCheckpointLoaded, S::kDeployed};
constexpr const char* kCalls[] = {"build", "activate", "deactivate", "deploy",
                                  "infer"};

const char kE1[] =
    "Backend TorchInductorBackend build should be called only once";
const char kE2[] =
    "Cannot activate backend TorchInductorBackend, backend should be built "
    "first";
const char kE3[] =
    "Cannot activate backend TorchInductorBackend, backend is already deployed";
const char kE4[] =
    "Cannot deactivate backend TorchInductorBackend, backend should be built "
    "first";
const char kE5[] =
    "Cannot deactivate backend TorchInductorBackend, backend is already "
    "deployed";
const char kE6[] =
    "Cannot deactivate backend TorchInductorBackend, backend has already been "
    "deployed";
const char kE7[] =
    "Cannot deploy backend TorchInductorBackend, backend should be loaded from "
    "a checkpoint";
const char kE8[] =
    "Cannot run inference, backend TorchInductorBackend should be activated "
    "first";

// What a call in a state gives: an error, or the state afterwards.
struct Cell {
  const char* error;
  S after;
};

Cell Expected(const std::string& call, S state) {
  const auto error = [state](const char* text) { return Cell{text, state}; };
  const auto to = [](S after) { return Cell{nullptr, after}; };
  const int column = static_cast<int>(state);
  const std::map<std::string, std::vector<Cell>> table = {
      {"build",
       {to(S::kActive), error(kE1), error(kE1), error(kE1), error(kE1)}},
      {"activate",
       {error(kE2), to(S::kActive), to(S::kActive), to(S::kActive),
        error(kE3)}},
      {"deactivate",
       {error(kE4), to(S::kInactive), to(S::kInactive), error(kE6),
        error(kE5)}},
      {"deploy",
       {error(kE7), error(kE7), error(kE7), to(S::kDeployed), error(kE7)}},
      {"infer",
       {error(kE8), to(S::kActive), error(kE8), error(kE8), to(S::kDeployed)}}};
  return table.at(call)[column];
}

std::unique_ptr<Backend> MakeInState(S state,
                                     std::shared_ptr<FakeBehavior> behavior) {
  std::unique_ptr<Backend> backend = MakeFakeBackend(behavior);
  if (state == S::kInit) return backend;
  if (state == S::kActive || state == S::kInactive) {
    EXPECT_TRUE(backend->Build(MakeFakeRequest()).ok());
    if (state == S::kInactive) EXPECT_TRUE(backend->Deactivate().ok());
    return backend;
  }
  std::unique_ptr<Backend> saved =
      MakeInState(S::kActive, std::make_shared<FakeBehavior>());
  EXPECT_TRUE(
      backend->FromDict(std::make_shared<FakeModel>(), *saved->ToDict()).ok());
  if (state == S::kDeployed) EXPECT_TRUE(backend->Deploy(Device()).ok());
  return backend;
}

absl::Status Call(Backend& backend, const std::string& call) {
  if (call == "build") return backend.Build(MakeFakeRequest());
  if (call == "activate") return backend.Activate();
  if (call == "deactivate") return backend.Deactivate();
  if (call == "deploy") return backend.Deploy(Device());
  return backend.Infer(Values({MakeTensor({1}, {3})})).status();
}

int ImplementationCalls(const FakeBehavior& behavior) {
  return behavior.builds + behavior.activations + behavior.deactivations +
         behavior.deployments + behavior.infers;
}

class StateTableTest
    : public testing::TestWithParam<std::tuple<const char*, S>> {
 protected:
  const std::string call_ = std::get<0>(GetParam());
  const S state_ = std::get<1>(GetParam());
  const Cell expected_ = Expected(call_, state_);
  const std::shared_ptr<FakeBehavior> behavior_ =
      std::make_shared<FakeBehavior>();
  const std::unique_ptr<Backend> backend_ = MakeInState(state_, behavior_);
};

// The cells in which the implementation is called.
class EffectiveCallTest : public StateTableTest {};

bool IsEffective(const char* call, S state) {
  const Cell cell = Expected(call, state);
  return cell.error == nullptr &&
         (cell.after != state || std::string(call) == "infer");
}

TEST_P(StateTableTest, Cell) {
  ASSERT_EQ(backend_->state(), state_);
  const int calls = ImplementationCalls(*behavior_);
  const absl::Status status = Call(*backend_, call_);
  EXPECT_EQ(backend_->state(), expected_.after);
  if (expected_.error != nullptr) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(), expected_.error);
    EXPECT_EQ(ImplementationCalls(*behavior_), calls);
    return;
  }
  EXPECT_TRUE(status.ok()) << status;
  const bool nothing = expected_.after == state_ && call_ != "infer";
  EXPECT_EQ(ImplementationCalls(*behavior_), calls + (nothing ? 0 : 1));
}

TEST_P(EffectiveCallTest, AFailedCallKeepsTheStateAndCanBeTriedAgain) {
  bool fails = true;
  const auto fail = [&]() -> absl::Status {
    return fails ? absl::UnavailableError("not now") : absl::OkStatus();
  };
  behavior_->build = [&](BuildContext&) { return fail(); };
  behavior_->activate = behavior_->deactivate = behavior_->deploy = fail;
  behavior_->infer = [&](absl::Span<const RegionValue>)
      -> absl::StatusOr<std::vector<OwnedValue>> {
    if (fails) return absl::UnavailableError("not now");
    return std::vector<OwnedValue>();
  };
  const std::optional<Device> device = backend_->device();
  EXPECT_EQ(Call(*backend_, call_), absl::UnavailableError("not now"));
  EXPECT_EQ(backend_->state(), state_);
  EXPECT_EQ(backend_->device(), device);
  fails = false;
  EXPECT_TRUE(Call(*backend_, call_).ok());
  EXPECT_EQ(backend_->state(), expected_.after);
}

TEST_P(EffectiveCallTest, AnExceptionIsAnErrorAndKeepsTheState) {
  const auto raise = []() -> absl::Status {
    throw std::runtime_error("c10 said no");
  };
  behavior_->build = [&](BuildContext&) { return raise(); };
  behavior_->activate = behavior_->deactivate = behavior_->deploy = raise;
  behavior_->infer = [&](absl::Span<const RegionValue>)
      -> absl::StatusOr<std::vector<OwnedValue>> { return raise(); };
  EXPECT_EQ(Call(*backend_, call_).message(),
            "Backend TorchInductorBackend " + call_ + " raised: c10 said no");
  EXPECT_EQ(backend_->state(), state_);
  const auto lack = []() -> absl::Status { throw std::bad_alloc(); };
  behavior_->build = [&](BuildContext&) { return lack(); };
  behavior_->activate = behavior_->deactivate = behavior_->deploy = lack;
  behavior_->infer = [&](absl::Span<const RegionValue>)
      -> absl::StatusOr<std::vector<OwnedValue>> { return lack(); };
  EXPECT_EQ(Call(*backend_, call_),
            absl::ResourceExhaustedError("Backend TorchInductorBackend " +
                                         call_ + ": out of memory"));
  EXPECT_EQ(backend_->state(), state_);
}

// Several threads make the same call at once: the result is one of doing so one
// after another, the implementation is called as often as then, and nothing
// overlaps that must not.
TEST_P(StateTableTest, CellFromSeveralThreads) {
  constexpr int kThreads = 4;
  const int calls = ImplementationCalls(*behavior_);
  std::vector<absl::Status> statuses(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { statuses[i] = Call(*backend_, call_); });
  for (std::thread& thread : threads) thread.join();

  int succeeded = 0;
  for (const absl::Status& status : statuses) {
    if (status.ok()) {
      ++succeeded;
      continue;
    }
    // The text of the state before, or of the state that another call made.
    const Cell later = Expected(call_, expected_.after);
    const char* text = expected_.error ? expected_.error : later.error;
    ASSERT_NE(text, nullptr) << status;
    EXPECT_EQ(status.message(), text);
  }
  EXPECT_EQ(backend_->state(), expected_.after);
  EXPECT_EQ(behavior_->overlaps, 0);
  const int made = ImplementationCalls(*behavior_) - calls;
  if (expected_.error != nullptr) {
    EXPECT_EQ(succeeded, 0);
    EXPECT_EQ(made, 0);
  } else if (call_ == "infer") {
    EXPECT_EQ(succeeded, kThreads);
    EXPECT_EQ(made, kThreads);
  } else {
    const bool repeatable = Expected(call_, expected_.after).error == nullptr;
    EXPECT_EQ(succeeded, repeatable ? kThreads : 1);
    EXPECT_EQ(made, expected_.after == state_ ? 0 : 1);
  }
}

std::vector<std::tuple<const char*, S>> Cells(bool effective_only) {
  std::vector<std::tuple<const char*, S>> cells;
  for (const char* call : kCalls) {
    for (S state : kStates) {
      if (!effective_only || IsEffective(call, state))
        cells.emplace_back(call, state);
    }
  }
  return cells;
}

std::string CellName(
    const testing::TestParamInfo<std::tuple<const char*, S>>& info) {
  return std::string(std::get<0>(info.param)) + "_" +
         std::string(Name(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(All, StateTableTest,
                         testing::ValuesIn(Cells(/*effective_only=*/false)),
                         CellName);
INSTANTIATE_TEST_SUITE_P(All, EffectiveCallTest,
                         testing::ValuesIn(Cells(/*effective_only=*/true)),
                         CellName);

}  // namespace
}  // namespace aitune
