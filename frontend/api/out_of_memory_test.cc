// Each allocation of a call in C fails once: the call then says so, and the
// next one is right.
#include <ATen/Functions.h>
#include <sys/wait.h>
#include <torch/csrc/jit/api/module.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"

namespace {

// The number of allocations of this thread until one fails; below 0: none does.
thread_local int64_t until_failure = -1;

}  // namespace

void* operator new(size_t bytes) {
  if (until_failure >= 0 && until_failure-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace ait {
namespace {

TEST_F(CApi, OutOfMemoryIsAnErrorWhereverItIs) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  const int64_t sizes[] = {2, 3};
  std::vector<float> x(6, 1), y(6, 2), sums(6), doubles(6);
  const ait_tensor inputs[] = {Tensor(sizes, 2, x.data()),
                               Tensor(sizes, 2, y.data())};
  const ait_tensor outputs[] = {Tensor(sizes, 2, sums.data()),
                                Tensor(sizes, 2, doubles.data())};
  const std::pair<const char*, std::function<ait_error*()>> calls[] = {
      {"run",
       [&] {
         ait_result* result = nullptr;
         ait_error* error = ait_module_run(module, inputs, 2, &result);
         ait_result_free(result);
         return error;
       }},
      {"run_into",
       [&] { return ait_module_run_into(module, inputs, 2, outputs, 2); }},
      {"bind",
       [&] {
         ait_binding* binding = nullptr;
         ait_error* error =
             ait_module_bind(module, inputs, 2, outputs, 2, &binding);
         if (error == nullptr) error = ait_binding_run(binding, nullptr);
         ait_binding_free(binding);
         return error;
       }},
      {"signature",
       [&] {
         ait_signature* signature = nullptr;
         ait_error* error = ait_module_signature(module, &signature);
         ait_signature_free(signature);
         return error;
       }},
      {"warm up", [&] { return ait_module_warm_up(module, inputs, 2); }},
      {"list backends",
       [&] {
         ait_backends* backends = nullptr;
         ait_error* error = ait_list_backends(&backends);
         ait_backends_free(backends);
         return error;
       }},
      {"describe",
       [&] {
         char* text = nullptr;
         ait_error* error = ait_module_describe(module, &text);
         ait_text_free(text);
         return error;
       }},
      {"usage",
       [&] {
         ait_usage usage = {};
         usage.struct_size = sizeof(usage);
         return ait_module_usage(module, &usage);
       }},
  };
  for (const auto& [name, call] : calls) {
    ASSERT_EQ(Take(call()), "") << name;
    int failures = 0;
    for (int64_t n = 0;; ++n) {
      until_failure = n;
      ait_error* error = call();
      const bool failed = std::exchange(until_failure, -1) < 0;
      ait_code code = AIT_OK;
      const std::string text = Take(error, &code);
      if (code != AIT_OK) {
        EXPECT_EQ(code, AIT_RESOURCE_EXHAUSTED) << name << " " << n << text;
        ++failures;
      }
      if (!failed) break;
      ASSERT_LT(n, 10000) << name;
    }
    EXPECT_GT(failures, 0) << name;
    ExpectRuns(module, 2);
  }
  ait_module_free(module);
}

// How a process ended whose allocation `n` of `call` failed.
enum class Ending { kReached, kNotReached, kOtherCode, kNextFails, kDied };

Ending RunWithout(int64_t n, const std::function<ait_error*()>& call) {
  const pid_t child = fork();
  if (child == 0) {
    close(STDERR_FILENO);  // LibTorch's last words
    until_failure = n;
    ait_error* error = call();
    const bool failed = std::exchange(until_failure, -1) < 0;
    const ait_code code = ait_error_code(error);
    ait_error_free(error);
    Ending ending = Ending::kReached;
    if (!failed)
      ending = Ending::kNotReached;
    else if (code != AIT_OK && code != AIT_RESOURCE_EXHAUSTED)
      ending = Ending::kOtherCode;
    else if (call() != nullptr)
      ending = Ending::kNextFails;
    _exit(static_cast<int>(ending));
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? static_cast<Ending>(WEXITSTATUS(status))
                           : Ending::kDied;
}

// The functions that allocate thousands of times: some of these, each in a
// process of its own.
TEST_F(CApi, OutOfMemoryEndsNoProcessOutsideOfLibTorch) {
  torch::jit::Module net("Net");
  net.register_parameter("weight", at::full({3}, 2.f), false);
  net.define(R"(
def forward(self, x: Tensor):
    return torch.relu(x) * self.weight
)");
  net.save(model_);
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  const int64_t sizes[] = {2, 3};
  std::vector<float> x(6, 1);
  const ait_tensor input = Tensor(sizes, 2, x.data());
  ASSERT_EQ(Take(ait_module_record(module, &input, 1, 2)), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  const std::string saved = folder_ + "/net.aitune";
  ASSERT_EQ(Take(ait_module_save(module, saved.c_str(), nullptr)), "");
  const char* const name = "weight";
  const int64_t three = 3;
  const ait_tensor weight = Tensor(&three, 1, x.data());
  struct Call {
    const char* name;
    std::function<ait_error*()> call;
    // How many of a hundred failures may end the process, and in which of
    // LibTorch's functions, that allocate where nothing may be thrown.
    int deaths;
    const char* where;
  };
  const Call calls[] = {
      {"report",
       [&] {
         char* text = nullptr;
         ait_error* error = ait_module_report(module, "json", &text);
         ait_text_free(text);
         return error;
       },
       0, ""},
      {"save", [&] { return ait_module_save(module, saved.c_str(), nullptr); },
       2, "torch::jit::ExportModule, which ends its archive in a destructor"},
      {"load_checkpoint",
       [&] {
         ait_module* loaded = nullptr;
         ait_error* error =
             ait_module_load_checkpoint(saved.c_str(), nullptr, &loaded);
         ait_module_free(loaded);
         return error;
       },
       3, "torch::jit::AliasDb, torch::jit::Module::clone"},
      {"load",
       [&] {
         ait_module* loaded = nullptr;
         ait_error* error = ait_module_load(model_.c_str(), nullptr, &loaded);
         ait_module_free(loaded);
         return error;
       },
       3, "torch::jit::AliasDb"},
      {"replace_weights",
       [&] { return ait_module_replace_weights(module, &name, &weight, 1); }, 6,
       "c10::Dict, torch::jit::Module::clone, torch::jit::AliasDb"},
  };
  for (const Call& call : calls) {
    ASSERT_EQ(Take(call.call()), "") << call.name;
    int count = 0, deaths = 0, other_codes = 0;
    for (int64_t n = 0;; n += n < 60 ? 1 : 41) {
      const Ending ending = RunWithout(n, call.call);
      if (ending == Ending::kNotReached || count == 90) break;
      ++count;
      deaths += ending == Ending::kDied;
      other_codes += ending == Ending::kOtherCode;
      EXPECT_NE(ending, Ending::kNextFails) << call.name << " " << n;
    }
    EXPECT_GT(count, 30) << call.name;
    EXPECT_LE(100 * deaths, call.deaths * count)
        << call.name << " " << count << " " << call.where;
    EXPECT_LE(100 * other_codes, 2 * count) << call.name << " " << count;
    RecordProperty(std::string(call.name) + "_failures", count);
    RecordProperty(std::string(call.name) + "_deaths", deaths);
    RecordProperty(std::string(call.name) + "_other_codes", other_codes);
  }
  ait_module_free(module);
}

}  // namespace
}  // namespace ait
