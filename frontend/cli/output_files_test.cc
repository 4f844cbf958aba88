#include "frontend/cli/output_files.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::cli {
namespace {

using ::testing::HasSubstr;

TEST(OutputFiles, SaysThatSparseResultsAreNotSaved) {
  const std::string path = ::testing::TempDir() + "/result.pt";
  EXPECT_TRUE(SaveResult("--output", path, at::ones({2})).ok());
  const at::Tensor sparse = at::ones({2}).to_sparse();
  const absl::Status status = SaveResult(
      "--output", path, c10::ivalue::Tuple::create({at::ones({2}), sparse}));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the result cannot be saved: it has a sparse tensor"));
}

}  // namespace
}  // namespace aitune::cli
