#include <ATen/Parallel.h>

#include <thread>

#include "gtest/gtest.h"
#include "runtime/cpu/thread_pool.h"

namespace aitune {
namespace {

// A thread that OpenMP and LibTorch have not seen takes LibTorch's number too.
TEST(TorchThreadsTest, CompiledCodeUsesAsManyThreadsAsLibTorch) {
  const int before = at::get_num_threads();
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    std::thread([&] { EXPECT_EQ(ThreadCount(), threads); }).join();
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace aitune
