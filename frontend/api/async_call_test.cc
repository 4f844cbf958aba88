// Calls that run while their caller does something else, in C++ and C.
#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"
#include "frontend/api/module_fixture.h"
#include "frontend/values/value_list.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/control.h"

namespace ait {
namespace {

using aitune::CallLimit;
using aitune::ScopedCallLimit;
using aitune::frontend::ValueList;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

class AsyncCallTest : public ModuleTest {
 protected:
  std::unique_ptr<Module> Tuned() {
    auto module = Wrap();
    EXPECT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
    EXPECT_TRUE(
        module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"))
            .ok());
    return module;
  }

  // A call after which the module's thread waits for `gate_`, as it does now.
  std::unique_ptr<AsyncCall> Blocking(const Module& module) {
    std::promise<void> waits;
    CallOptions options;
    options.done = [&waits, opened = gate_.get_future().share()] {
      waits.set_value();
      opened.wait();
    };
    auto call = module.RunAsync(ValueList({x_}), options);
    waits.get_future().wait();
    return call;
  }

  const at::Tensor x_ = at::randn({2, 3});
  std::promise<void> gate_;
};

TEST_F(AsyncCallTest, GivesTheResultsOfRun) {
  const auto module = Tuned();
  const c10::IValue expected = *model_->RunEager(ValueList({x_}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<std::unique_ptr<AsyncCall>> calls;
      for (int i = 0; i < 8; ++i)
        calls.push_back(module->RunAsync(ValueList({x_}), {}));
      for (const auto& call : calls) {
        const auto result = call->Result();
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_TRUE(call->has_ended());
        aitune::frontend::ExpectClose(*result, expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(module->Usage().calls, 32);
  const at::Tensor y = at::empty({2, 4});
  CallOptions options;
  options.outputs = ValueList({y});
  ASSERT_TRUE(module->RunAsync(ValueList({x_}), options)->Result().ok());
  aitune::frontend::ExpectClose(y, expected);
  const at::Tensor small = at::empty({2, 3});
  options.outputs = ValueList({small});
  EXPECT_THAT(std::string(module->RunAsync(ValueList({x_}), options)
                              ->Result()
                              .status()
                              .message()),
              testing::HasSubstr("memory for float32[2,3]"));
}

TEST_F(AsyncCallTest, WhatHasNotBegunIsDroppedAtOnce) {
  const auto module = Tuned();
  const auto first = Blocking(*module);
  const auto cancelled = module->RunAsync(ValueList({x_}), {});
  CallOptions options;
  options.deadline = steady_clock::now() + milliseconds(20);
  const auto late = module->RunAsync(ValueList({x_}), options);
  const auto third = module->RunAsync(ValueList({x_}), {});
  EXPECT_FALSE(cancelled->has_ended());
  cancelled->Cancel();
  EXPECT_TRUE(cancelled->has_ended());
  EXPECT_TRUE(absl::IsCancelled(cancelled->Result().status()));
  // The module's thread still waits for the gate.
  EXPECT_TRUE(absl::IsDeadlineExceeded(late->Result().status()));
  gate_.set_value();
  EXPECT_TRUE(third->Result().ok());
  EXPECT_TRUE(first->Result().ok());
  EXPECT_EQ(module->Usage().calls, 2) << "those that were dropped did not run";
  third->Cancel();
  EXPECT_TRUE(third->Result().ok()) << "it had ended";
}

TEST_F(AsyncCallTest, DoneHasTheResult) {
  const auto module = Tuned();
  std::promise<const AsyncCall*> made;
  std::promise<bool> told;
  CallOptions options;
  options.done = [&] {
    const AsyncCall* const call = made.get_future().get();
    told.set_value(call->has_ended() && call->Result().ok());
  };
  const auto call = module->RunAsync(ValueList({x_}), options);
  made.set_value(call.get());
  EXPECT_TRUE(told.get_future().get());
  EXPECT_TRUE(call->Result().ok());
}

TEST_F(AsyncCallTest, ACallOfThisThreadHasALimitToo) {
  const auto module = Tuned();
  CallLimit limit;
  const ScopedCallLimit scope(&limit);
  EXPECT_TRUE(module->Run(ValueList({x_})).ok());
  limit.Cancel();
  EXPECT_TRUE(absl::IsCancelled(module->Run(ValueList({x_})).status()));
  // Nor is anything compiled for it.
  const at::Tensor other = at::randn({5, 3});
  EXPECT_TRUE(absl::IsCancelled(module->Run(ValueList({other})).status()));
  EXPECT_EQ(module->Usage().recompilations, 0);
  const ScopedCallLimit none(nullptr);
  ExpectAgrees(*module, other);
  EXPECT_EQ(module->Usage().recompilations, 1);
}

TEST_F(AsyncCallTest, AModuleThatGoesCancelsItsCalls) {
  auto module = Tuned();
  const auto first = Blocking(*module);
  const auto second = module->RunAsync(ValueList({x_}), {});
  std::thread opens([&] {
    while (!second->has_ended()) std::this_thread::sleep_for(milliseconds(1));
    gate_.set_value();
  });
  module = nullptr;
  opens.join();
  EXPECT_TRUE(absl::IsCancelled(second->Result().status()));
}

TEST_F(AsyncCallTest, HasTheStanceOfItsCaller) {
  const auto module = Tuned();
  const aitune::ScopedStance stance(aitune::Stance::kForceEager);
  EXPECT_TRUE(module->RunAsync(ValueList({x_}), {})->Result().ok());
  EXPECT_EQ(module->Usage().eager_calls, 1);
}

TEST_F(AsyncCallTest, EagerServesWhileVersionsAreCompiled) {
  Tuned();  // for model_
  ModuleOptions options;
  options.compile_in_background = true;
  const auto module = Module::Wrap(model_, options);
  ASSERT_TRUE(module->Record(ValueList({x_})).ok());
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  const at::Tensor other = at::randn({9, 3});
  ExpectAgrees(*module, other);
  EXPECT_EQ(module->Usage().eager_calls, 1);
  for (int i = 0; i < 10000 && module->Usage().background_pending > 0; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(module->Usage().versions, 2);
  ExpectAgrees(*module, other);
  EXPECT_EQ(module->Usage().eager_calls, 1);
  EXPECT_EQ(module->Usage().recompilations, 1);
  EXPECT_EQ(module->Usage().background_pending, 0);
  EXPECT_EQ(module->Usage().background_builds, 1);
  EXPECT_EQ(module->Usage().background_failures, 0);
  EXPECT_THAT(ReportJson(module->report()),
              testing::HasSubstr("compiled in the background: 1 so far"));
}

TEST_F(AsyncCallTest, ATuningIsCancelled) {
  Tuned();  // for model_
  Module* tuned = nullptr;
  ModuleOptions options;
  options.compile.progress = [&](const std::string&, int, int) {
    if (tuned != nullptr) tuned->CancelTune();
  };
  const auto module = Module::Wrap(model_, options);
  ASSERT_TRUE(module->Record(ValueList({x_})).ok());
  module->CancelTune();  // there is none
  for (const auto& strategy :
       {aitune::OneBackend().release(), aitune::FirstWins().release()}) {
    const std::unique_ptr<aitune::Strategy> owned(strategy);
    TuneOptions quick = Quick("TorchInductorBackend");
    tuned = module.get();
    EXPECT_EQ(module->Tune(*owned, quick),
              absl::CancelledError("the tuning was cancelled"));
    EXPECT_FALSE(module->is_tuned());
    ExpectAgrees(*module, x_);
    tuned = nullptr;
  }
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  ExpectAgrees(*module, x_);
  EXPECT_TRUE(module->is_tuned());
}

#if !defined(__SANITIZE_THREAD__)  // which ends children that make threads
// The thread that runs a module's calls stays with the parent, which may have
// had any lock when it was copied.
TEST_F(AsyncCallTest, AForkedProcessHasAThreadOfItsOwnForThem) {
  auto module = Tuned();
  const c10::IValue expected = *model_->RunEager(ValueList({x_}));
  auto under_way = Blocking(*module);
  auto waiting = module->RunAsync(ValueList({x_}), {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    const auto gives = [&] {
      const auto call = module->RunAsync(ValueList({x_}), {});
      const auto result = call->Result();
      return result.ok() &&
             at::allclose(result->toTensor(), expected.toTensor());
    };
    bool good = gives() && gives();
    for (AsyncCall* call : {under_way.get(), waiting.get()}) {
      call->Cancel();
      good &= call->has_ended() &&
              absl::IsFailedPrecondition(call->Result().status());
    }
    under_way.reset();
    waiting.reset();
    module.reset();
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  gate_.set_value();
  for (const auto& call : {under_way.get(), waiting.get()})
    EXPECT_TRUE(call->Result().ok());
}

// exit destroys what the thread uses.
TEST_F(AsyncCallTest, ExitCancelsThem) {
  auto module = Tuned();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    static std::atomic<bool> is_cancelled = false;
    static const std::unique_ptr<int, void (*)(int*)> of_library(
        new int, [](int*) { _exit(is_cancelled ? 7 : 8); });
    CallOptions options;
    options.done = [] { is_cancelled = true; };
    (void)module->RunAsync(ValueList({x_}), {}).release();
    (void)module->RunAsync(ValueList({x_}), options).release();
    exit(9);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}
#endif

TEST_F(CApi, CallsRunWhileTheirCallerDoesSomethingElse) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  const int64_t sizes[] = {2, 3};
  const std::vector<float> x = {-1, 0, 1, 2, 3, 4}, y(6, 0.5f);
  const ait_tensor inputs[] = {Tensor(sizes, 2, x.data()),
                               Tensor(sizes, 2, y.data())};
  std::atomic<int> ended = 0;
  const auto done = [](void* count) {
    ++*static_cast<std::atomic<int>*>(count);
  };
  ait_call* call = nullptr;
  ASSERT_EQ(Take(ait_module_run_async(module, inputs, 2, nullptr, 0, 60e3, done,
                                      &ended, &call)),
            "");
  ait_result* result = nullptr;
  ASSERT_EQ(Take(ait_call_wait(call, &result)), "");
  EXPECT_EQ(ait_call_has_ended(call), 1);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(static_cast<float*>(OfResult(result, 1).data)[5], 8);
  ait_result_free(result);
  ait_call_free(call);

  std::vector<float> sum(6), twice(6);
  const ait_tensor outputs[] = {Tensor(sizes, 2, sum.data()),
                                Tensor(sizes, 2, twice.data())};
  ASSERT_EQ(Take(ait_module_run_async(module, inputs, 2, outputs, 2, -1,
                                      nullptr, nullptr, &call)),
            "");
  ASSERT_EQ(Take(ait_call_wait(call, nullptr)), "");
  EXPECT_EQ(twice[5], 8);
  ait_call_free(call);

  ait_code code = AIT_OK;
  ASSERT_EQ(Take(ait_module_run_async(module, inputs, 2, nullptr, 0, 0, done,
                                      &ended, &call)),
            "");
  EXPECT_THAT(Take(ait_call_wait(call, &result), &code),
              HasSubstr("deadline has passed"));
  EXPECT_EQ(code, AIT_DEADLINE_EXCEEDED);
  EXPECT_EQ(Take(ait_call_cancel(call)), "");
  ait_call_free(call);
  EXPECT_EQ(ended, 2);
  EXPECT_THAT(Take(ait_module_run_async(module, inputs, 2, nullptr, 0, NAN,
                                        nullptr, nullptr, &call)),
              HasSubstr("no number"));
  EXPECT_EQ(Take(ait_call_cancel(nullptr)), "call is NULL");
  EXPECT_EQ(Take(ait_module_cancel_tune(nullptr)), "module is NULL");
  EXPECT_EQ(Take(ait_module_cancel_tune(module)), "");
  EXPECT_EQ(Take(ait_call_wait(nullptr, &result)), "call is NULL");
  EXPECT_EQ(ait_call_has_ended(nullptr), 1);
  ait_call_free(nullptr);
  ait_module_free(module);
}

}  // namespace
}  // namespace ait
