// The first argument is the library testing/libtwice.so.
#include "frontend/torchscript/operator_library.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/library.h>

#include <fstream>

#include "frontend/torchscript/model.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

std::string* library = nullptr;

// A model whose operator nobody has registered any more.
std::string SaveModel() {
  const std::string path = testing::TempDir() + "/twice.pt";
  torch::Library known(torch::Library::DEF, "aitune_test", std::nullopt,
                       __FILE__, __LINE__);
  known.def("twice(Tensor x) -> Tensor");
  torch::jit::Module module("Twice");
  module.define("def forward(self, x: Tensor):\n  return torch.relu(x) + 1\n");
  // Source has no names for operators outside of LibTorch; graphs have.
  const std::shared_ptr<torch::jit::Graph> graph =
      module.get_method("forward").graph();
  for (torch::jit::Node* node : graph->nodes()) {
    if (node->kind() != c10::aten::relu) continue;
    torch::jit::Node* twice = graph->create(
        c10::Symbol::fromQualString("aitune_test::twice"), {node->input()});
    twice->insertBefore(node);
    node->output()->replaceAllUsesWith(twice->output());
    node->destroy();
    break;
  }
  module.save(path);
  return path;
}

TEST(LoadOperatorLibrary, BringsTheOperatorsOfAModel) {
  const std::string path = SaveModel();
  const absl::Status missing = Model::Load(path).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("aitune_test::twice"));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("--library"));

  const absl::Status loaded = LoadOperatorLibrary(*library);
  ASSERT_TRUE(loaded.ok()) << loaded;
  const absl::StatusOr<Model> model = Model::Load(path);
  ASSERT_TRUE(model.ok()) << model.status();
  const at::Tensor x = at::arange(4, at::kFloat);
  const absl::StatusOr<c10::IValue> result = model->RunEager(ValueList({x}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(at::equal(result->toTensor(), x.add(x).add(1)));
}

TEST(LoadOperatorLibrary, BadFilesAreErrors) {
  const absl::Status missing = LoadOperatorLibrary("/no/such/library.so");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/no/such/library.so"));
  const std::string path = testing::TempDir() + "/text.so";
  std::ofstream(path) << "not a library";
  const absl::Status damaged = LoadOperatorLibrary(path);
  EXPECT_EQ(damaged.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("cannot be loaded"));
}

}  // namespace
}  // namespace aitune::frontend

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 1;
  aitune::frontend::library = new std::string(argv[1]);
  return RUN_ALL_TESTS();
}
