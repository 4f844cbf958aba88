#include "frontend/cli/output_files.h"

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <filesystem>
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

std::string ContentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// torch.load takes files of these as trusted ones alone.
TEST(OutputFiles, ListsAndDictsAreSavedWithoutTheirTypes) {
  const std::string path = ::testing::TempDir() + "/containers.pt";
  c10::Dict<std::string, c10::List<int64_t>> dict;
  dict.insert("a", c10::List<int64_t>({1, 2}));
  const c10::IValue result = c10::ivalue::Tuple::create(
      c10::List<at::Tensor>({at::ones({2}), at::zeros({3})}), std::move(dict),
      c10::List<double>({1.5}));
  ASSERT_TRUE(SaveResult("--output", path, result).ok());
  const std::string bytes = ContentsOf(path);
  EXPECT_EQ(bytes.find("torch.jit"), std::string::npos);
  const c10::IValue saved =
      torch::jit::pickle_load({bytes.begin(), bytes.end()});
  const auto& parts = saved.toTupleRef().elements();
  EXPECT_TRUE(parts[0].toListRef()[1].toTensor().equal(at::zeros({3})));
  EXPECT_EQ(parts[1].toGenericDict().at("a").toListRef()[1].toInt(), 2);
  EXPECT_EQ(parts[2].toListRef()[0].toDouble(), 1.5);
}

TEST(OutputFiles, UndefinedTensorsAreSavedAsNone) {
  const std::string path = ::testing::TempDir() + "/undefined.pt";
  ASSERT_TRUE(SaveResult("--output", path,
                         c10::ivalue::Tuple::create(
                             at::Tensor(), at::ones({2}),
                             c10::List<at::Tensor>({at::Tensor()})))
                  .ok());
  const std::string bytes = ContentsOf(path);
  const c10::IValue saved =
      torch::jit::pickle_load({bytes.begin(), bytes.end()});
  const auto& parts = saved.toTupleRef().elements();
  EXPECT_TRUE(parts[0].isNone());
  EXPECT_TRUE(parts[1].toTensor().equal(at::ones({2})));
  EXPECT_TRUE(parts[2].toListRef()[0].isNone());
}

TEST(OutputFiles, AFileStaysWhatItWasUntilAnotherIsWritten) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "outputs";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = folder / "report", link = folder / "link";
  ASSERT_TRUE(WriteOutputFile("--json", path, "first").ok());
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("report", link);
  fs::create_hard_link(path, folder / "kept");
  ASSERT_TRUE(WriteOutputFile("--json", link, "second").ok());
  EXPECT_EQ(ContentsOf(folder / "kept"), "first");  // not written over
  EXPECT_EQ(ContentsOf(path), "second");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::status(path).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_FALSE(WriteOutputFile("--json", "/dev/full", "third").ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 3);
}

}  // namespace
}  // namespace aitune::cli
