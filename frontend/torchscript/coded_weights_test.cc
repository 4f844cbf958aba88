// Weights that are made of codes when something first reads them.
#include "frontend/torchscript/coded_weights.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/csrc/jit/api/module.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "frontend/torchscript/autocast.h"
#include "frontend/torchscript/dict_order.h"
#include "frontend/torchscript/input_queries.h"
#include "frontend/torchscript/layer_modules.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/model_tensors.h"
#include "frontend/torchscript/substitution.h"
#include "frontend/tracing/build_trace.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/memory_budget.h"

namespace aitune::frontend {
namespace {

// More elements than are made at a time.
constexpr int64_t kRows = 1100, kColumns = 1000;
constexpr int64_t kBytes = 2 * (2 * kRows * kColumns);  // of both weights

ConstantTensor Constant(const at::Tensor& tensor) {
  ConstantTensor constant;
  constant.view = ViewOf(tensor);
  constant.owner = std::make_shared<at::Tensor>(tensor);
  return constant;
}

// Codes of every value, and scales.
CodedTensor Codes(bool transposed) {
  at::manual_seed(5);
  return {Constant(at::randint(-127, 128, {kRows, kColumns}, at::kChar)),
          Constant(at::rand({kRows}).div_(1000)), transposed};
}

at::Tensor Expected(const CodedTensor& codes) {
  const at::Tensor weight =
      TensorOn(codes.codes.view).to(at::kFloat) *
      TensorOn(codes.scales.view).to(at::kFloat).unsqueeze(1);
  return (codes.transposed ? weight.t() : weight)
      .to(at::kBFloat16)
      .contiguous();
}

Model ModelWith(const at::Tensor& first, const at::Tensor& second) {
  torch::jit::Module net("net");
  net.register_parameter("first", first, false);
  net.register_parameter("second", second, false);
  net.register_buffer("bias", at::ones({kRows}, at::kBFloat16));
  net.define(
      "def forward(self, x: Tensor):\n"
      "  return torch.matmul(torch.matmul(x, self.first) , self.second) + "
      "self.bias[0]\n");
  net.eval();
  return *Model::FromModule(std::move(net));
}

// A model whose weights are not made, and the same one with them.
struct Models {
  Models() {
    const CodedTensor first = Codes(true), second = Codes(false);
    const at::Tensor weights[] = {Expected(first), Expected(second)};
    auto coded = std::make_shared<CodedWeights>();
    const at::Tensor unmade[] = {CodedWeights::Unmade(weights[0]),
                                 CodedWeights::Unmade(weights[1])};
    coded->Add(unmade[0], first);
    coded->Add(unmade[1], second);
    later.emplace(ModelWith(unmade[0], unmade[1]));
    later->MakeLater(std::move(coded));
    whole.emplace(ModelWith(weights[0], weights[1]));
  }

  std::optional<Model> later, whole;
};

at::Tensor Input() { return at::ones({3, kColumns}, at::kBFloat16); }

TEST(CodedWeights, AreNotMadeByThoseWhoReadTheProgram) {
  const Models models;
  const Model& model = *models.later;
  FindInputQueries(model);
  SeesDictOrder(model);
  FindLayerModules(model);
  EXPECT_FALSE(ModelState(model).exists());
  EXPECT_TRUE(SubstitutionsOf(model).ok());
  EXPECT_EQ(model.Signature(), models.whole->Signature());
  EXPECT_EQ(model.WeightBytes(), models.whole->WeightBytes());
  const std::vector<ConstantTensor> tensors = ModelTensors(model);
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "first");
  EXPECT_EQ(tensors[0].owner, nullptr);
  EXPECT_NE(tensors[2].owner, nullptr);
  const auto copy = model.WithWeights({});
  const auto cast = WithAutocast(model, DataType::kBFloat16);
  ASSERT_TRUE(copy.ok() && cast.ok()) << cast.status();
  EXPECT_EQ(model.UnmadeBytes(), kBytes);

  // Those that share tensors share what is made.
  EXPECT_EQ(copy->UnmadeBytes(), kBytes);
  ASSERT_TRUE(cast->RunEager(ValueList({Input()})).ok());
  EXPECT_EQ(model.UnmadeBytes(), 0);
  EXPECT_EQ(copy->UnmadeBytes(), 0);
  EXPECT_EQ(model.WeightBytes(), models.whole->WeightBytes());
  EXPECT_NE(ModelTensors(*copy)[0].view.data, nullptr);
}

TEST(CodedWeights, AreMadeByThoseWhoReadThem) {
  using Use = std::function<absl::Status(const Model& later, const Model&)>;
  const auto run = [](const Model& later, const Model& whole, auto method) {
    const auto ours = (later.*method)(ValueList({Input()}));
    const auto expected = (whole.*method)(ValueList({Input()}));
    if (!ours.ok()) return ours.status();
    EXPECT_TRUE(ours->toTensor().equal(expected->toTensor()));
    return absl::OkStatus();
  };
  const Use uses[] = {
      [&](const Model& later, const Model& whole) {
        return run(later, whole, &Model::RunEager);
      },
      [&](const Model& later, const Model& whole) {
        return run(later, whole, &Model::RunOptimized);
      },
      [](const Model& later, const Model& whole) {
        const auto hash = ModelSha256(later);
        EXPECT_EQ(hash.value_or(""), *ModelSha256(whole));
        return hash.status();
      },
      [&](const Model& later, const Model& whole) -> absl::Status {
        const auto bytes = ModelBytes(later);
        if (!bytes.ok()) return bytes.status();
        return run(*ModelFromBytes(*bytes), whole, &Model::RunEager);
      },
      [](const Model& later, const Model& whole) {
        return BuildTrace(later, ValueList({Input()}), {}).status();
      },
      [](const Model& later, const Model& whole) {
        EXPECT_TRUE(later.impl().module().attr("first").toTensor().equal(
            whole.impl().module().attr("first").toTensor()));
        return later.MakeWeights();
      },
  };
  for (const Use& use : uses) {
    const Models models;
    EXPECT_EQ(models.later->UnmadeBytes(), kBytes);
    const absl::Status used = use(*models.later, *models.whole);
    EXPECT_TRUE(used.ok()) << used;
    EXPECT_EQ(models.later->UnmadeBytes(), 0);
  }
}

TEST(CodedWeights, OfACopyForAPassingUseAreItsOwn) {
  const Models models;
  const auto own = models.later->WithOwnWeights();
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->UnmadeBytes(), 0);
  EXPECT_EQ(*ModelSha256(*own), *ModelSha256(*models.whole));
  EXPECT_EQ(models.later->UnmadeBytes(), kBytes);
  const auto attribute = [](const Model& model, const char* name) {
    return model.impl().bare_module.attr(name).toTensor();
  };
  EXPECT_TRUE(
      attribute(*own, "bias").is_same(attribute(*models.later, "bias")));
  // Once they are made, there are no others.
  ASSERT_TRUE(models.later->MakeWeights().ok());
  EXPECT_TRUE(attribute(*models.later->WithOwnWeights(), "first")
                  .is_same(attribute(*models.later, "first")));
}

TEST(CodedWeights, AreMadeOnceForAllThreads) {
  const Models models;
  const at::Tensor expected =
      models.whole->RunEager(ValueList({Input()}))->toTensor();
  std::atomic<bool> go = false;
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!go) std::this_thread::yield();
      // Others may look at what is there meanwhile.
      EXPECT_EQ(ModelTensors(*models.later).size(), 3U);
      EXPECT_EQ(models.later->WeightBytes(), models.whole->WeightBytes());
      const auto result = models.later->RunEager(ValueList({Input()}));
      if (result.ok() && result->toTensor().equal(expected)) ++equal;
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 4);
}

// Has no memory for as much as a weight takes while it lives.
class NoMemory : public c10::Allocator {
 public:
  NoMemory() { c10::SetCPUAllocator(this, kPriority); }
  ~NoMemory() override { c10::SetCPUAllocator(before_, kPriority); }
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes >= kBytes / 2) throw std::bad_alloc();
    return before_->allocate(bytes);
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static constexpr uint8_t kPriority = 255;
  c10::Allocator* const before_ = c10::GetCPUAllocator();
};

TEST(CodedWeights, WithoutMemoryForThemAreAnErrorUntilThereIs) {
  const Models models;
  const Model& model = *models.later;
  {
    const NoMemory none;
    const auto result = model.RunEager(ValueList({Input()}));
    EXPECT_TRUE(absl::IsResourceExhausted(result.status())) << result.status();
    EXPECT_TRUE(absl::IsResourceExhausted(ModelBytes(model).status()));
    EXPECT_TRUE(absl::IsResourceExhausted(ModelSha256(model).status()));
    EXPECT_TRUE(absl::IsResourceExhausted(
        BuildTrace(model, ValueList({Input()}), {}).status()));
    EXPECT_TRUE(absl::IsResourceExhausted(model.MakeWeights()));
    EXPECT_EQ(model.UnmadeBytes(), kBytes);
  }
  const auto result = model.RunEager(ValueList({Input()}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->toTensor().equal(
      models.whole->RunEager(ValueList({Input()}))->toTensor()));
}

TEST(CodedWeights, AreNotMadeForACallThatIsRefused) {
  const Models models;
  EXPECT_TRUE(absl::IsInvalidArgument(
      models.later->RunEager(ValueList(std::vector<c10::IValue>())).status()));
  EXPECT_EQ(models.later->UnmadeBytes(), kBytes);
}

// Counts what is to be made, and has too little.
struct NoRoom : MemoryBudget {
  explicit NoRoom(const Model& model) : model(model) {}
  absl::Status Check() override {
    EXPECT_EQ(model.UnmadeBytes(), 0);
    return absl::ResourceExhaustedError("the limit is reached");
  }
  const Model& model;
};

TEST(CodedWeights, AreNotMadeBeyondTheLimitOfMemory) {
  const Models models;
  NoRoom none(*models.later);
  {
    const ScopedMemoryBudget budget(&none);
    EXPECT_EQ(models.later->RunEager(ValueList({Input()})).status(),
              absl::ResourceExhaustedError("the limit is reached"));
    EXPECT_EQ(models.later->UnmadeBytes(), kBytes);
  }
  EXPECT_TRUE(models.later->MakeWeights().ok());
  EXPECT_EQ(models.later->UnmadeBytes(), 0);
}

TEST(CodedWeights, CanBeMadeInAChildWhateverAnotherThreadDoes) {
  const Models models;
  std::atomic<bool> holds = false;
  std::thread other([&] {
    const auto held = CodedWeights::Hold();
    holds = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  while (!holds) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // seconds
    _exit(models.later->MakeWeights().ok() ? 0 : 1);
  }
  other.join();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(models.later->MakeWeights().ok());
}

TEST(CodedWeights, FitAWeightOfTheirAxes) {
  EXPECT_TRUE(Fit(Codes(false), {kRows, kColumns}));
  EXPECT_FALSE(Fit(Codes(false), {kColumns, kRows}));
  EXPECT_TRUE(Fit(Codes(true), {kColumns, kRows}));
  EXPECT_FALSE(Fit(Codes(false), {kRows * kColumns}));
  CodedTensor codes = Codes(false);
  std::swap(codes.codes, codes.scales);
  EXPECT_FALSE(Fit(codes, {kRows, kColumns}));
}

}  // namespace
}  // namespace aitune::frontend
