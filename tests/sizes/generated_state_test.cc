// Generated programs that read and write views of their own buffers, or of
// their arguments, give what eager gives, call after call, and leave these as
// eager leaves them.
//
// By hand, with other numbers: --test_env=AITUNE_STATE_PROGRAMS=2000
// --test_env=AITUNE_FIRST_STATE_PROGRAM=100000, and AITUNE_STATE_DEVICE=cuda
// for programs that are compiled for a GPU, where later calls are CUDA graphs.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/environment.h"
#include "frontend/testing/models.h"
#include "frontend/torchscript/gpu_state.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_internal.h"
#include "runtime/status/status_macros.h"
#include "tests/sizes/state_device.h"

namespace aitune::sizes {
namespace {

using frontend::Model;
using frontend::ValueList;
using Sizes = std::vector<int64_t>;

constexpr int kCalls = 4;

// The tensors that the program reads and writes, and all of their sizes.
const char* const kTensors[] = {"a", "b", "turned", "c", "i"};

at::Tensor InitialTensor(const std::string& name) {
  if (name == "i") return at::tensor({0, 2}, at::kLong);
  const at::Tensor numbers = at::arange(24, at::kFloat).sin().reshape({4, 6});
  if (name == "b") return numbers.flip(0);
  if (name == "turned") return numbers.t();
  if (name == "c") return numbers[0].clone();
  return numbers;
}

// A tensor that the program names.
struct Named {
  std::string name;
  Sizes sizes;
};

class Generator {
 public:
  explicit Generator(int seed) : random_(static_cast<uint64_t>(seed)) {}

  std::string Program() {
    const int count = 4 + Below(12);
    for (int i = 0; i < count; ++i) {
      const int kind = Below(20);
      if (kind < 7) {
        MakeView();
      } else if (kind < 11) {
        MakeValue();
      } else if (kind < 19) {
        Write();
      } else {
        Line("self.i.add_(1)");
      }
      if (Below(3) == 0) MakeResult(Below(2) == 0 ? views_ : values_);
    }
    MakeResult(views_);
    MakeResult(values_);
    // In every second program some of its buffers are arguments instead.
    const bool has_arguments = Below(2) == 0;
    for (const char* name : kTensors) {
      if (has_arguments && Below(2) == 0) arguments_.push_back(name);
    }
    std::string parameters = "self, x: Tensor";
    for (const std::string& name : arguments_) {
      absl::StrAppend(&parameters, ", ", name, ": Tensor");
      absl::StrReplaceAll({{absl::StrCat("self.", name), name}}, &lines_);
    }
    return absl::StrCat("def forward(", parameters, "):\n", lines_, "  return ",
                        absl::StrJoin(results_, ", "), "\n");
  }
  // Of Program, behind x: names among kTensors.
  const std::vector<std::string>& arguments() const { return arguments_; }

 private:
  int Below(int64_t bound) {
    return static_cast<int>(random_() % static_cast<uint64_t>(bound));
  }
  const Named& OneOf(const std::vector<Named>& tensors) {
    return tensors[static_cast<size_t>(
        Below(static_cast<int64_t>(tensors.size())))];
  }
  void Line(const std::string& text) {
    absl::StrAppend(&lines_, "  ", text, "\n");
  }
  Named Make(std::vector<Named>& tensors, const std::string& value,
             Sizes sizes) {
    const Named made{absl::StrCat("t", made_++), std::move(sizes)};
    Line(absl::StrCat(made.name, " = ", value));
    tensors.push_back(made);
    return made;
  }

  void MakeView() {
    const Named source = OneOf(views_);
    Sizes sizes = source.sizes;
    if (sizes.empty()) return;
    const auto axis = Below(static_cast<int64_t>(sizes.size()));
    int64_t& size = sizes[static_cast<size_t>(axis)];
    const auto view = [&](const std::string& call) {
      Make(views_, absl::StrCat(source.name, ".", call), sizes);
    };
    switch (Below(6)) {
      case 0: {
        const int begin = Below(size);
        size = 1 + Below(size - begin);
        return view(
            absl::StrCat("narrow(", axis, ", ", begin, ", ", size, ")"));
      }
      case 1: {
        const int place = Below(size);
        sizes.erase(sizes.begin() + axis);
        return view(absl::StrCat("select(", axis, ", ", place, ")"));
      }
      case 2:
        std::swap(sizes.front(), sizes.back());
        return view("transpose(0, -1)");
      case 3:
        sizes.insert(sizes.begin() + axis, 1);
        return view(absl::StrCat("unsqueeze(", axis, ")"));
      case 4: {
        const int place = Below(size);
        sizes.erase(sizes.begin() + axis);
        return view(absl::StrCat("unbind(", axis, ")[", place, "]"));
      }
      default:
        if (size % 2 != 0) return;
        size /= 2;
        return view(absl::StrCat("chunk(2, ", axis, ")[", Below(2), "]"));
    }
  }

  void MakeValue() {
    const Named& source = OneOf(views_);
    Sizes sizes = source.sizes;
    const std::string& name = source.name;
    if (sizes.empty() || Below(2) == 0) {
      Make(values_, absl::StrCat(name, " * 1.5 - 0.1"), sizes);
      return;
    }
    const std::string rows = absl::StrCat("self.i % ", sizes[0]);
    sizes[0] = 2;
    Make(values_,
         Below(2) == 0 ? absl::StrCat(name, ".index_select(0, ", rows, ")")
                       : absl::StrCat(name, "[", rows, "]"),
         sizes);
  }

  // Of the tensors with these sizes, if there is one.
  std::string Expression(const Sizes& sizes) {
    std::vector<Named> fitting;
    for (const std::vector<Named>* tensors : {&views_, &values_}) {
      for (const Named& tensor : *tensors) {
        if (tensor.sizes == sizes) fitting.push_back(tensor);
      }
    }
    if (!fitting.empty() && Below(4) > 0)
      return absl::StrCat(OneOf(fitting).name, " * 0.5 + 0.1");
    return absl::StrCat("torch.zeros([", absl::StrJoin(sizes, ", "),
                        "]) + 0.1 * ", OneOf(views_).name, ".sum()");
  }

  void Write() {
    const Named target = OneOf(views_);
    const std::string& name = target.name;
    const Sizes& sizes = target.sizes;
    const int kind = Below(7);
    if (kind == 0) return Line(name + ".add_(0.3)");
    if (kind == 1) return Line(name + ".mul_(0.5)");
    if (kind == 2 || sizes.empty())
      return Line(absl::StrCat(name, ".copy_(", Expression(sizes), ")"));
    if (kind == 3)
      return Line(absl::StrCat(name, ".add_(", Expression(sizes), ")"));
    if (kind == 4)
      return Line(absl::StrCat(name, "[1:].copy_(", name, "[:-1].clone())"));
    Sizes rows = sizes;
    rows[0] = kind == 5 ? 2 : 1;
    const char* const call = kind == 5 ? "index_add_" : "index_copy_";
    Line(absl::StrCat(name, ".", call, "(0, self.i[:", rows[0], "] % ",
                      sizes[0], ", ", Expression(rows), ")"));
  }

  void MakeResult(const std::vector<Named>& tensors) {
    const std::string name = absl::StrCat("r", results_.size());
    Line(absl::StrCat(name, " = ", OneOf(tensors).name, " * 1.25 + 0.5"));
    results_.push_back(name);
  }

  std::mt19937_64 random_;
  std::vector<Named> views_ = {{"self.a", {4, 6}},
                               {"self.b", {4, 6}},
                               {"self.turned", {6, 4}},
                               {"self.c", {6}}};
  std::vector<Named> values_ = {{"x", {4, 6}}};
  std::string lines_;
  std::vector<std::string> results_, arguments_;
  int made_ = 0;
};

Model Make(const std::string& program) {
  torch::jit::Module module("Stateful");
  module.register_attribute("training", c10::BoolType::get(), false);
  for (const char* name : kTensors)
    module.register_buffer(name, InitialTensor(name));
  module.define(program);
  auto model = Model::FromModule(std::move(module));
  EXPECT_TRUE(model.ok()) << model.status() << program;
  return *std::move(model);
}

// Gives `model` the state that calls on a GPU have left.
absl::Status BringStateHome(const Model& model) {
  if (!StateDevice().is_gpu()) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(const auto state,
                          frontend::GpuState::Of(model, StateDevice()));
  return state == nullptr ? absl::OkStatus() : state->GiveToModel();
}

TEST(GeneratedState, IsThatOfEager) {
  const int count = FromEnvironment("AITUNE_STATE_PROGRAMS", 150);
  const int first = FromEnvironment("AITUNE_FIRST_STATE_PROGRAM", 1);
  int compiled_count = 0;
  for (int seed = first; seed < first + count && !HasFailure(); ++seed) {
    Generator generator(seed);
    const std::string program = generator.Program();
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", program));
    const Model ours = Make(program), eager = Make(program);
    frontend::ModelInputs inputs;
    inputs.specs = {*frontend::ParseInputSpec("float32[4,6]")};
    std::vector<c10::IValue> our_tensors, eagers_tensors;
    for (const std::string& name : generator.arguments()) {
      our_tensors.emplace_back(InitialTensor(name));
      eagers_tensors.emplace_back(InitialTensor(name));
      const at::Tensor& tensor = our_tensors.back().toTensor();
      inputs.specs.push_back(*frontend::ParseInputSpec(
          absl::StrCat(name == "i" ? "int64[" : "float32[",
                       absl::StrJoin(tensor.sizes(), ","), "]")));
    }
    frontend::BuildOptions options;
    options.compile.measureCandidates = false;
    options.compile.device = StateDevice().ToString();
    const auto compiled = frontend::CompiledModel::Build(ours, inputs, options);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    compiled_count += !(*compiled)->report().LibTorchRunsAll();
    for (int call = 0; call < kCalls; ++call) {
      at::manual_seed(static_cast<uint64_t>(call));
      const at::Tensor x = at::randn({4, 6});
      const auto with_x = [&](const std::vector<c10::IValue>& tensors) {
        std::vector<c10::IValue> arguments = {x.clone()};
        arguments.insert(arguments.end(), tensors.begin(), tensors.end());
        return ValueList(std::move(arguments));
      };
      const auto result = RunThere(**compiled, with_x(our_tensors));
      const auto wanted = eager.RunEager(with_x(eagers_tensors));
      for (size_t i = 0; i < our_tensors.size(); ++i) {
        EXPECT_TRUE(at::allclose(our_tensors[i].toTensor(),
                                 eagers_tensors[i].toTensor(), 1e-4, 1e-5))
            << generator.arguments()[i] << " after call " << call;
      }
      ASSERT_EQ(result.ok(), wanted.ok()) << result.status() << wanted.status();
      if (wanted.ok()) frontend::ExpectClose(*result, *wanted, 1e-4);
      // LibTorch's copy of a whole model on a GPU is its own.
      if (StateDevice().is_gpu() && (*compiled)->report().LibTorchRunsAll())
        continue;
      ASSERT_TRUE(BringStateHome(ours).ok());
      for (const auto& buffer : eager.impl().module().named_buffers()) {
        EXPECT_TRUE(
            at::allclose(ours.impl().module().attr(buffer.name).toTensor(),
                         buffer.value, 1e-4, 1e-5))
            << buffer.name << " after call " << call;
      }
      ASSERT_FALSE(HasFailure()) << "call " << call;
    }
  }
  EXPECT_GT(compiled_count, count * 9 / 10);
}

}  // namespace
}  // namespace aitune::sizes
