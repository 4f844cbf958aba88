// A machine without NVRTC: this program's dlopen finds nothing.
#include "compiler/codegen/gpu/target/Nvrtc.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

extern "C" void *dlopen(const char *, int) { return nullptr; }

namespace aitune {
namespace {

using testing::HasSubstr;

TEST(Nvrtc, MissingSaysWhatToInstall) {
  for (const absl::Status &status :
       {compileToCubin("", GpuTarget()).status(), nvrtcVersion().status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("cannot load libnvrtc.so.13"));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("install the CUDA 13 run-time compiler or name its "
                          "folder in LD_LIBRARY_PATH"));
  }
}

} // namespace
} // namespace aitune
