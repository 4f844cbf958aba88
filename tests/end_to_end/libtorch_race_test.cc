// LibTorch's own operators in place of kernels that are slower.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/candidates/Kernel.h"
#include "compiler/candidates/SpoilForTesting.h"
#include "compiler/plan/PlanBuilder.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

using frontend::CompiledModel;
using frontend::Model;
using frontend::ValueList;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kSoftmax[] =
    "def forward(self, x: Tensor):\n"
    "    return torch.softmax(torch.matmul(x, x.transpose(0, 1)), 1) * 2.0\n";

// Lets each kernel of this name compute its results some more times, in other
// memory, before it does.
void SlowDown(const std::string& name, int times) {
  spoilCandidatesForTesting = [=](llvm::MutableArrayRef<Kernel> kernels,
                                  mlir::ModuleOp) {
    for (Kernel& kernel : kernels) {
      if (kernel.function.getSymName().str().find(name) == std::string::npos)
        continue;
      const int operands = static_cast<int>(kernel.function.getNumArguments() +
                                            kernel.function.getNumResults());
      for (KernelImplementation& candidate : kernel.candidates) {
        const ImplementationStep last = candidate.steps.back();
        const auto type = mlir::cast<mlir::RankedTensorType>(
            kernel.function.getResultTypes()[0]);
        for (int i = 0; i < times; ++i) {
          ImplementationStep extra = last;
          extra.outputs = {operands +
                           static_cast<int>(candidate.temporaries.size())};
          candidate.temporaries.push_back(toProto(type));
          candidate.steps.insert(candidate.steps.end() - 1, extra);
        }
      }
    }
  };
}

class LibTorchRace : public testing::Test {
 protected:
  // LibTorch's threads wait for each other, long on a busy machine.
  LibTorchRace() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
  ~LibTorchRace() override {
    spoilCandidatesForTesting = nullptr;
    at::set_num_threads(threads_);
  }

  std::unique_ptr<CompiledModel> Build(const std::string& source,
                                       const std::string& input) {
    auto model = Model::FromSource(source);
    EXPECT_TRUE(model.ok()) << model.status();
    return Build(*std::move(model), input, "");
  }

  // Quantised as `quantization` says, if it is not empty.
  std::unique_ptr<CompiledModel> Build(Model model, const std::string& input,
                                       const std::string& quantization) {
    model_ = std::make_unique<Model>(std::move(model));
    frontend::InputChoice choice;
    choice.specs = {input};
    auto inputs = frontend::ChooseInputs(*model_, choice);
    EXPECT_TRUE(inputs.ok()) << inputs.status();
    frontend::BuildOptions options;
    options.compile.quantization = quantization;
    auto built = CompiledModel::Build(*model_, *inputs, options);
    EXPECT_TRUE(built.ok()) << built.status();
    if (!built.ok()) return nullptr;
    return *std::move(built);
  }

  void ExpectEager(const CompiledModel& compiled, const at::Tensor& x) {
    auto ours = compiled.Run(ValueList({x}));
    ASSERT_TRUE(ours.ok()) << ours.status();
    auto eager = model_->RunEager(ValueList({x}));
    ASSERT_TRUE(eager.ok()) << eager.status();
    EXPECT_TRUE(at::allclose(ours->toTensor(), eager->toTensor(), 1e-4, 1e-5));
  }

  const int threads_;
  std::unique_ptr<Model> model_;
};

TEST_F(LibTorchRace, ASlowKernelLoses) {
  SlowDown("softmax", 60);
  // So small that LibTorch's call of an operator takes longer than a kernel.
  auto compiled = Build(kSoftmax, "float32[2..16,64]");
  ASSERT_NE(compiled, nullptr);
  const frontend::BuildReport& report = compiled->report();
  ASSERT_THAT(report.libtorch_wins, SizeIs(1));
  EXPECT_THAT(report.libtorch_wins[0].kernels, HasSubstr("softmax"));
  EXPECT_LT(report.libtorch_wins[0].libtorchMicroseconds,
            report.libtorch_wins[0].microseconds);
  // The product with its transpose, and what is pointwise, stay.
  EXPECT_THAT(report.fallbacks,
              ElementsAre(testing::AllOf(
                  Field(&frontend::FallbackOp::op, HasSubstr("softmax")),
                  Field(&frontend::FallbackOp::reason,
                        HasSubstr("LibTorch is faster: ")))));
  for (int64_t n : {2, 9, 16}) ExpectEager(*compiled, at::randn({n, 64}));
}

TEST_F(LibTorchRace, QuantizedLayersStayWhereAnotherKernelLoses) {
  SlowDown("softmax", 60);
  torch::jit::Module module("Layer");
  module.register_parameter("weight", at::randn({64, 64}) / 8, false);
  module.define(
      "def forward(self, x: Tensor):\n"
      "    y = torch.linear(x, self.weight)\n"
      "    return torch.softmax(torch.matmul(y, y.transpose(0, 1)), 1) * "
      "2.0\n");
  module.eval();
  auto compiled =
      Build(*Model::FromModule(std::move(module)), "float32[256,64]",
            "int8wo,verdict=off,extended_layers=on");
  ASSERT_NE(compiled, nullptr);
  const frontend::BuildReport& report = compiled->report();
  ASSERT_THAT(report.libtorch_wins, SizeIs(1));
  EXPECT_THAT(report.libtorch_wins[0].kernels, HasSubstr("softmax"));
  EXPECT_THAT(report.fallbacks, ElementsAre(Field(&frontend::FallbackOp::op,
                                                  HasSubstr("softmax"))));
  ASSERT_THAT(report.quantized_layers, SizeIs(1));
  EXPECT_EQ(report.quantized_layers[0].refusal, "");
  const at::Tensor x = at::randn({256, 64}) / 4;
  auto ours = compiled->Run(ValueList({x})),
       eager = model_->RunEager(ValueList({x}));
  ASSERT_TRUE(ours.ok() && eager.ok()) << ours.status();
  EXPECT_GT(at::cosine_similarity(ours->toTensor().flatten(),
                                  eager->toTensor().flatten(), 0)
                .item<double>(),
            0.999);
}

TEST_F(LibTorchRace, AFastKernelStays) {
  auto compiled = Build(
      "def forward(self, x: Tensor):\n"
      "    y = torch.sigmoid(x) * 3.0 + torch.tanh(x)\n"
      "    y = torch.relu(y - 1.0) * torch.exp(-x * x)\n"
      "    return torch.sqrt(y * y + 1.0) - torch.abs(x)\n",
      "float32[512,1024]");
  ASSERT_NE(compiled, nullptr);
  EXPECT_THAT(compiled->report().libtorch_wins, IsEmpty());
  EXPECT_THAT(compiled->report().fallbacks, IsEmpty());
}

TEST_F(LibTorchRace, NothingIsMeasuredWithoutMeasurements) {
  SlowDown("softmax", 60);
  auto model = Model::FromSource(kSoftmax);
  ASSERT_TRUE(model.ok()) << model.status();
  auto built = CompileUnmeasured(*model, {"float32[256,64]"});
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT((*built)->report().libtorch_wins, IsEmpty());
  EXPECT_THAT((*built)->report().fallbacks, IsEmpty());
}

}  // namespace
}  // namespace aitune
