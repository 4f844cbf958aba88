// The ranges that a profiler sees of backends. argv[1] is a made-up library of
// NVTX (runtime/cuda/testing/fake_profiler.cc).
#include <ATen/ATen.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "frontend/testing/backends.h"

namespace aitune::frontend {
namespace {

std::string library_path;

TEST(Profiler, ActivatingIsARange) {
  // As a profiler does. The library is then found by its name.
  ASSERT_EQ(setenv("NVTX_INJECTION64_PATH", "made-up", 1), 0);
  void* const library = dlopen(library_path.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto take_events =
      reinterpret_cast<const char* (*)()>(dlsym(library, "TakeEvents"));
  ASSERT_NE(take_events, nullptr) << dlerror();
  const auto source = SourceOf(kNet);
  for (const char* name : {"TorchEagerBackend", "TorchInductorBackend"}) {
    const auto backend = BackendOf(name);
    ASSERT_TRUE(backend->Build(RequestOf(source, {at::randn({2, 3})})).ok());
    ASSERT_TRUE(backend->Deactivate().ok());
    take_events();
    ASSERT_TRUE(backend->Activate().ok());
    EXPECT_STREQ(take_events(), "aitune activate)") << name;
    // It is active already.
    ASSERT_TRUE(backend->Activate().ok());
    EXPECT_STREQ(take_events(), "") << name;
  }
}

}  // namespace
}  // namespace aitune::frontend

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) aitune::frontend::library_path = argv[1];
  return RUN_ALL_TESTS();
}
