// The threads that calls of modules compute with, in C++ and in C.
#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "frontend/api/aitune.h"
#include "frontend/api/async_call.h"
#include "frontend/api/c_api_fixture.h"
#include "frontend/api/module.h"
#include "frontend/api/module_fixture.h"

namespace ait {
namespace {

using aitune::frontend::ValueList;
using testing::AnyOf;
using testing::Each;
using testing::IsEmpty;
using testing::Not;

constexpr char kProbe[] = "aitune_test::count_threads";

// What each call of the operator saw.
std::vector<int> seen;

// The identity, of which no compiler knows the operator.
[[maybe_unused]] const torch::jit::RegisterOperators probe(
    {torch::jit::Operator(
        std::string(kProbe) + "(Tensor x) -> Tensor",
        [](torch::jit::Stack& stack) {
          seen.push_back(at::get_num_threads());
          const at::Tensor x = torch::jit::pop(stack).toTensor();
          torch::jit::push(stack, x * 1);
        },
        c10::AliasAnalysisKind::FROM_SCHEMA)});

class ProbeResolver : public torch::jit::Resolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction& method,
      const torch::jit::SourceRange& range) override {
    if (name == "count_threads")
      return std::make_shared<torch::jit::BuiltinFunction>(
          c10::Symbol::fromQualString(kProbe), std::nullopt);
    return torch::jit::nativeResolver()->resolveValue(name, method, range);
  }
};

// A module whose program may call the operator.
torch::jit::Module WithProbe(const std::string& program) {
  torch::jit::Module module("__torch__.Probed");
  module.define(program, std::make_shared<ProbeResolver>());
  return module;
}

// The calls since the last asking computed with `threads`. Where other
// processes take the cores, libraries are given half of them.
void ExpectSeen(int threads) {
  EXPECT_THAT(seen, Not(IsEmpty()));
  EXPECT_THAT(seen, Each(AnyOf(threads, threads / 2)));
  seen.clear();
}

class ThreadsTest : public ModuleTest {
 protected:
  std::unique_ptr<Module> Probed() {
    auto model = aitune::frontend::Model::FromModule(WithProbe(
        "def forward(self, x: Tensor):\n"
        "    return torch.matmul(torch.relu(count_threads(x)), x) + 1.\n"));
    EXPECT_TRUE(model.ok()) << model.status();
    model_ = std::make_shared<const aitune::frontend::Model>(*std::move(model));
    return Module::Wrap(model_, {"probed", folder_ / "cache"});
  }
};

TEST_F(ThreadsTest, AreThoseOfTheModuleWhateverRunsIt) {
  const at::Tensor x = at::randn({4, 4});
  const auto module = Probed();
  const int before = at::get_num_threads();
  for (const char* backend : {"", "TorchEagerBackend", "TorchScriptBackend",
                              "TorchInductorBackend"}) {
    SCOPED_TRACE(backend);
    if (*backend != '\0') {
      ASSERT_TRUE(module->SetThreads(7).ok());
      ASSERT_TRUE(module->Record(ValueList({x})).ok());
      const absl::Status tuned =
          module->Tune(*aitune::OneBackend(), Quick(backend));
      ASSERT_TRUE(tuned.ok()) << tuned;
      seen.clear();
      ASSERT_TRUE(module->Run(ValueList({x})).ok());
      ExpectSeen(7);  // as before the tuning
    }
    ASSERT_TRUE(module->SetThreads(5).ok());
    EXPECT_EQ(module->threads(), 5);
    ExpectAgrees(*module, x);
    seen.pop_back();  // the eager run that it was compared with
    ExpectSeen(5);
    EXPECT_EQ(at::get_num_threads(), before);
    ASSERT_TRUE(module->RunAsync(ValueList({x}), {})->Result().ok());
    ExpectSeen(5);
    ASSERT_TRUE(module->Profile(ValueList({x})).ok());
    ExpectSeen(5);
    at::Tensor out = at::randn({4, 4});
    auto bound = module->Bind(ValueList({x}), ValueList({out}));
    ASSERT_TRUE(bound.ok()) << bound.status();
    ASSERT_TRUE((*bound)->Run(nullptr).ok());
    ExpectSeen(5);
    // A thread that LibTorch has not seen yet, whose number it sets first.
    std::thread([&] { ExpectAgrees(*module, x); }).join();
    seen.pop_back();
    ExpectSeen(5);
    ASSERT_TRUE(module->SetThreads(0).ok());
    ExpectAgrees(*module, x);
    ExpectSeen(before);
  }
}

TEST_F(ThreadsTest, NumbersThatNoMachineHasAreRefused) {
  const auto module = Wrap();
  ASSERT_TRUE(module->SetThreads(1024).ok());
  for (const int threads : {-2, 1025}) {
    const absl::Status refused = module->SetThreads(threads);
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_EQ(std::string(refused.message()),
              std::to_string(threads) +
                  " threads were asked for; give 1 to 1024, or 0 for as many "
                  "as the calling thread has");
    EXPECT_EQ(module->threads(), 1024);
  }
}

#if !defined(__SANITIZE_THREAD__)  // which ends children that make threads
TEST_F(ThreadsTest, AForkedProcessCallsTheModulesOfItsParent) {
  const at::Tensor x = at::randn({512, 512});
  const int before = at::get_num_threads();
  at::set_num_threads(4);
  const auto module = Wrap(
      "def forward(self, x: Tensor):\n"
      "    return torch.softmax(torch.matmul(x, x) * 0.01, 1) + 1.\n");
  const auto expect = module->Run(ValueList({x}));
  ASSERT_TRUE(expect.ok()) << expect.status();
  for (const bool tuned : {false, true}) {
    SCOPED_TRACE(tuned);
    if (tuned) {
      ASSERT_TRUE(module->Record(ValueList({x})).ok());
      ASSERT_TRUE(
          module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"))
              .ok());
      ASSERT_TRUE(module->Run(ValueList({x})).ok());
    }
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      const auto agrees = [&] {
        const auto result = module->Run(ValueList({x}));
        return result.ok() &&
               at::allclose(result->toTensor(), expect->toTensor());
      };
      ait_set_threads(4);
      bool good = agrees() && at::get_num_threads() == 1;
      good = module->SetThreads(3).ok() && agrees() && good;
      std::thread([&] {
        at::set_num_threads(4);
        good = agrees() && at::get_num_threads() == 4 && good;
      }).join();
      _exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(at::get_num_threads(), 4);  // of the parent
  }
  at::set_num_threads(before);
}
#endif

TEST_F(CApi, ThreadsOfAModule) {
  WithProbe(
      "def forward(self, x: Tensor, y: Tensor):\n"
      "    return torch.relu(count_threads(x)) + y, x * 2\n")
      .save(model_);
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  const int before = at::get_num_threads();
  seen.clear();
  ExpectRuns(module, 2);
  ExpectSeen(before);
  ASSERT_EQ(Take(ait_module_set_threads(module, 5)), "");
  ExpectRuns(module, 2);
  ExpectSeen(5);
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  seen.clear();
  ExpectRuns(module, 2);
  ExpectSeen(5);
  for (const int threads : {-1, 1025}) {
    ait_code code = AIT_OK;
    EXPECT_THAT(Take(ait_module_set_threads(module, threads), &code),
                HasSubstr("give 1 to 1024, or 0"));
    EXPECT_EQ(code, AIT_INVALID_ARGUMENT);
  }
  EXPECT_NE(Take(ait_module_set_threads(nullptr, 1)), "");
  ExpectRuns(module, 2);
  ExpectSeen(5);
  ASSERT_EQ(Take(ait_module_set_threads(module, 0)), "");
  ExpectRuns(module, 2);
  ExpectSeen(before);
  ait_module_free(module);
}

}  // namespace
}  // namespace ait
