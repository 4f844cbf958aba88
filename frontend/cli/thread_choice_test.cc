#include "frontend/cli/thread_choice.h"

#include <ATen/Parallel.h>
#include <stdlib.h>

#include "gtest/gtest.h"

namespace aitune::cli {
namespace {

TEST(SetThreadCount, WhatIsWantedOrElseTheQuota) {
  unsetenv("OMP_NUM_THREADS");
  unsetenv("MKL_NUM_THREADS");
  at::set_num_threads(8);  // LibTorch's default on so many cores
  SetThreadCount(0, std::nullopt);
  EXPECT_EQ(at::get_num_threads(), 8);
  SetThreadCount(0, 100);
  EXPECT_EQ(at::get_num_threads(), 8);
  setenv("OMP_NUM_THREADS", "8", 1);
  SetThreadCount(0, 2.5);
  EXPECT_EQ(at::get_num_threads(), 8);
  unsetenv("OMP_NUM_THREADS");
  SetThreadCount(0, 2.5);
  EXPECT_EQ(at::get_num_threads(), 3);
  SetThreadCount(5, 2.5);
  EXPECT_EQ(at::get_num_threads(), 5);
}

}  // namespace
}  // namespace aitune::cli
