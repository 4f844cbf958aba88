// Each allocation of a call in C fails once: the call then says so, and the
// next one is right.
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

}  // namespace
}  // namespace ait
