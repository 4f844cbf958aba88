// The machine code that NVRTC makes of device functions of the prelude.
#include "compiler/codegen/gpu/target/Nvrtc.h"
#include "compiler/codegen/gpu/text/KernelText.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

// The machine code of a kernel that stores the extremum of three numbers, of
// which `middle` is the second.
std::string extremumOfThree(const std::string &function,
                            const std::string &type,
                            const std::string &middle) {
  const std::string text = std::string(preludeText("Common")) +
                           "extern \"C\" __global__ void kernel(const " + type +
                           " *p, " + type + " *out) {\n  const " + type +
                           " a = p[0], b = p[1], c = p[2], d = " + middle +
                           ";\n  const " + type + " e = " + function +
                           "(a, d);\n  *out = " + function + "(e, c);\n}\n";
  auto code = compileToCubin(text, *GpuTarget::named("sm_90"));
  EXPECT_TRUE(code.ok()) << code.status();
  return code.value_or("");
}

TEST(Prelude, ExtremaOfIntegersKeepTheSignOfANegatedOperand) {
  for (const char *type : {"signed char", "short", "int", "long long"})
    for (const char *function : {"minimum", "maximum"})
      EXPECT_NE(extremumOfThree(function, type, "-b"),
                extremumOfThree(function, type, "b"))
          << function << " of " << type;
}

} // namespace
} // namespace aitune
