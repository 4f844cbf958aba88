// Small models compiled and compared with eager: a case is a few lines of
// TorchScript and its inputs.
//
//   const Case kCases[] = {
//       {"relu", "def forward(self, x: Tensor):\n return torch.relu(x)",
//        {"float32[4,8]"}},
//   };
//   END_TO_END_TESTS(Pointwise, kCases);
//
// Each is traced, compiled, run on samples, random values at every size of the
// dynamic axes, zeros, ones, large values and NaN, and compared with eager as
// `aitune tune` does. Unless the case says otherwise every operator must have
// been compiled: a fallback would test LibTorch against itself.
#ifndef AITUNE_TESTS_END_TO_END_END_TO_END_H_
#define AITUNE_TESTS_END_TO_END_END_TO_END_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "gtest/gtest.h"

namespace aitune {

// `model` compiled for `inputs`, each as --input, without measuring: which
// candidate is faster varies from run to run; tests must not.
absl::StatusOr<std::unique_ptr<frontend::CompiledModel>> CompileUnmeasured(
    const frontend::Model& model, std::vector<std::string> inputs);

struct Case {
  const char* name;
  // `def forward(self, ...)` in TorchScript without imports: torch.* functions
  // only, dtypes as numbers (see kDtypes). self.weight(n, sizes) is a constant
  // tensor of n pseudo-random elements.
  const char* source;
  std::vector<std::string> inputs;  // as --input
  // Operators that LibTorch may run, by schema name; "*" allows all.
  std::vector<std::string> fallbacks = {};
  bool emulate_eager_casts = false;
};

// The numbers of c10::ScalarType in TorchScript source: uint8 0, int8 1,
// int16 2, int32 3, int64 4, float16 5, float32 6, float64 7, bool 11,
// bfloat16 15.

void PrintTo(const Case& c, std::ostream* out);

// Compiles and compares; failures are reported to GoogleTest.
void CheckCase(const Case& c);

// The message of the error that compiling or running the case on its own random
// inputs gives; fails if it gives none.
std::string ErrorOf(const Case& c);

class EndToEnd : public testing::TestWithParam<Case> {};

#define END_TO_END_TESTS(suite, cases)                                    \
  class suite : public EndToEnd {};                                       \
  TEST_P(suite, AgreesWithEager) { CheckCase(GetParam()); }               \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(cases),             \
                           [](const testing::TestParamInfo<Case>& info) { \
                             return std::string(info.param.name);         \
                           })

}  // namespace aitune

#endif  // AITUNE_TESTS_END_TO_END_END_TO_END_H_
