// What compileToCubin says of text and chips that NVRTC refuses.
#include "compiler/codegen/gpu/target/Nvrtc.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::HasSubstr;

TEST(Nvrtc, AnErrorShowsItsLineAndKeepsTheText) {
  const std::string text = "extern \"C\" __global__ void kernel(float *x) {\n"
                           "  x[0] = missing + 1.0f;\n"
                           "}\n";
  auto cubin = compileToCubin(text, *GpuTarget::named("sm_90"));
  ASSERT_FALSE(cubin.ok());
  EXPECT_EQ(cubin.status().code(), absl::StatusCode::kInternal);
  const std::string message(cubin.status().message());
  EXPECT_THAT(message, HasSubstr("kernel.cu(2): error"));
  EXPECT_THAT(message, HasSubstr("\"missing\""));
  EXPECT_THAT(message, HasSubstr("the line is:   x[0] = missing + 1.0f;"));
  const std::string before = "the text is in ";
  ASSERT_THAT(message, HasSubstr(before));
  const std::string path = message.substr(message.find(before) + before.size());
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
  std::remove(path.c_str());
}

TEST(Nvrtc, EachCompilationGivesTheSameCode) {
  const std::string text =
      "extern \"C\" __global__ void kernel(float *x) {\n"
      "  x[threadIdx.x] = x[threadIdx.x] * 3.0f + rsqrtf(x[0]);\n"
      "}\n";
  auto first = compileToCubin(text, *GpuTarget::named("sm_90"));
  ASSERT_TRUE(first.ok()) << first.status();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(*compileToCubin(text, *GpuTarget::named("sm_90")), *first);
}

TEST(Nvrtc, AChipThatItDoesNotKnowIsNamed) {
  GpuTarget target;
  target.major = 7;
  target.minor = 1;
  auto cubin = compileToCubin("", target);
  ASSERT_FALSE(cubin.ok());
  EXPECT_EQ(cubin.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(cubin.status().message()),
              HasSubstr("this NVRTC cannot compile for sm_71"));
}

TEST(GpuTarget, AnUnknownNameListsTheKnownOnes) {
  auto target = GpuTarget::named("sm_75");
  ASSERT_FALSE(target.ok());
  EXPECT_THAT(std::string(target.status().message()),
              HasSubstr("unknown GPU 'sm_75'; known: sm_80, sm_86, sm_89, "
                        "sm_90, sm_100, sm_120"));
}

} // namespace
} // namespace aitune
