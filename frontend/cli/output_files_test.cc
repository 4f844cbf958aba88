#include "frontend/cli/output_files.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <fstream>
#include <iterator>
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

// A file with one could be read with weights_only=False alone.
TEST(OutputFiles, ConjugatesBeforeItSaves) {
  const std::string path = ::testing::TempDir() + "/conjugated.pt";
  const at::Tensor wanted = at::complex(at::ones({2}), at::ones({2}));
  ASSERT_TRUE(SaveResult("--output", path, at::conj(wanted)).ok());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(bytes.find("restore_type_tag"), std::string::npos);
  const c10::IValue saved =
      torch::jit::pickle_load({bytes.begin(), bytes.end()});
  EXPECT_FALSE(saved.toTensor().is_conj());
  EXPECT_TRUE(saved.toTensor().equal(at::conj(wanted).resolve_conj()));
}

}  // namespace
}  // namespace aitune::cli
