// Loading, describing and running models; errors for files that are none.
#include "frontend/torchscript/model.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <sys/stat.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TempFile(const std::string& name) {
  return (std::filesystem::path(::testing::TempDir()) / name).string();
}

void Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

torch::jit::Module MakeModule() {
  torch::jit::Module module("__torch__.Scale");
  module.register_parameter("weight", at::full({3}, 2.0), /*is_buffer=*/false);
  module.register_buffer("steps", at::zeros({1}, at::kLong));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(
      "def forward(self, x: Tensor, bias: float = 1.0) -> Tensor:\n  return x "
      "* self.weight + bias\n");
  return module;
}

absl::Status LoadError(const std::string& path) {
  const auto model = Model::Load(path);
  EXPECT_FALSE(model.ok()) << path;
  EXPECT_EQ(model.status().message().find('\n'), absl::string_view::npos)
      << "one line: " << model.status();
  return model.status();
}

TEST(Model, SavesLoadsAndRuns) {
  const std::string path = TempFile("scale.pt");
  MakeModule().save(path);
  const auto model = Model::Load(path);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->class_name(), "Scale");
  EXPECT_EQ(model->Signature(),
            "forward(x: Tensor, bias: float = 1) -> Tensor");
  ASSERT_EQ(model->parameters().size(), 2u);
  EXPECT_TRUE(model->parameters()[1].has_default);
  EXPECT_EQ(model->WeightBytes(), 3 * 4 + 8);
  EXPECT_FALSE(model->RecordedInputs().has_value());
  const ValueList inputs({at::ones({2, 3})});
  for (const auto& result :
       {model->RunEager(inputs), model->RunOptimized(inputs),
        model->RunOptimized(inputs)}) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->toTensor().equal(at::full({2, 3}, 3.0)));
  }
}

TEST(Model, ConvertsWeights) {
  LoadOptions options;
  options.dtype = DataType::kBFloat16;
  const auto model = Model::FromModule(MakeModule(), options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->WeightBytes(), 3 * 2 + 8) << "integer buffers stay";
  const auto result =
      model->RunEager(ValueList({at::ones({3}, at::kBFloat16)}));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->toTensor().scalar_type(), at::kBFloat16);
  options.dtype = DataType::kInt8;
  EXPECT_THAT(
      std::string(Model::FromModule(MakeModule(), options).status().message()),
      HasSubstr("not a floating point"));
}

// As in a trace of a model in half precision that computes a part in float32;
// traces name float32 6 and float16 5.
TEST(Model, WidensTheCastsOfAProgram) {
  const auto widened = [](bool widen_casts) {
    torch::jit::Module module("Casts");
    module.register_parameter("weight", at::full({3}, 1.0, at::kHalf),
                              /*is_buffer=*/true);
    module.define(R"(
      def inner(self, x: Tensor):
          return x.to(6) * (1 / 3.0)
      def forward(self, x: Tensor):
          y = self.inner(x)
          if x.size(0) > 1:
              y = torch.softmax(y, 0, dtype=6)
          return y.to(5) * self.weight
    )");
    LoadOptions options;
    options.dtype = DataType::kFloat64;
    options.widen_casts = widen_casts;
    return Model::FromModule(std::move(module), options);
  };
  const at::Tensor x = at::arange(3, at::kDouble);
  const at::Tensor expected = at::softmax(x * (1 / 3.0), 0);
  for (bool widen_casts : {false, true}) {
    const auto model = widened(widen_casts);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto result = model->RunEager(ValueList({x}));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(at::allclose(result->toTensor().to(at::kDouble), expected, 1e-12,
                           1e-12),
              widen_casts);
  }
}

// A trace made on a GPU names it, and is compiled on the CPU.
TEST(Model, TakesItsDeviceForThoseThatItNames) {
  torch::jit::Module module("Devices");
  module.define(
      "def inner(self, x: Tensor):\n"
      "  return x + torch.ones([3], device=\"cuda:0\")\n"
      "def forward(self, x: Tensor):\n"
      "  return self.inner(x).to(\"cuda:1\")\n");
  const std::string path = TempFile("devices.pt");
  module.save(path);
  const auto model = Model::Load(path);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto result = model->RunEager(ValueList({at::zeros({3})}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->toTensor().equal(at::ones({3})));
}

// As the copy of a GPU's model that autocast makes, which shares its tensors.
TEST(Model, AModuleInMemoryStaysWhereItIs) {
  torch::jit::Module module("Elsewhere");
  module.register_buffer("weight", at::ones({3}, at::kMeta));
  module.define("def forward(self, x: Tensor):\n  return x * self.weight\n");
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(module.attr("weight").toTensor().is_meta());
}

TEST(Model, WrongInputs) {
  const auto model = Model::FromModule(MakeModule());
  ASSERT_TRUE(model.ok());
  const auto none = model->RunEager(ValueList());
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("missing value for argument 'x'"));
  const auto type = model->RunEager(ValueList({5}));
  EXPECT_THAT(std::string(type.status().message()),
              HasSubstr("Expected a value of type 'Tensor' for argument 'x'"));
  const auto many = model->RunEager(ValueList({at::ones({3}), 1.0, 2.0}));
  EXPECT_FALSE(many.ok());
  const auto shape = model->RunEager(ValueList({at::ones({4})}));
  EXPECT_EQ(shape.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(shape.status().message()),
              AllOf(HasSubstr("size of tensor"), Not(HasSubstr("\n"))));
  // The interpreter says so too.
  EXPECT_FALSE(BuildTrace(*model, ValueList({at::ones({4})}), {}).ok());
  EXPECT_FALSE(BuildTrace(*model, ValueList({5}), {}).ok());
}

TEST(Model, MissingFile) {
  EXPECT_THAT(LoadError("/no/such/model.pt").ToString(),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("no such file")));
  EXPECT_THAT(std::string(LoadError(::testing::TempDir()).message()),
              HasSubstr("is a directory"));
}

// Opening a pipe would wait for somebody who writes to it.
TEST(Model, APipeIsRefusedAndNotWaitedFor) {
  const std::string pipe = TempFile("pipe.pt");
  std::remove(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(LoadError(pipe).message()),
              HasSubstr("not a regular file"));
  EXPECT_THAT(std::string(LoadSamples(pipe).status().message()),
              HasSubstr("not a regular file"));
}

TEST(Model, NoTorchScriptFile) {
  Write(TempFile("empty.pt"), "");
  EXPECT_THAT(std::string(LoadError(TempFile("empty.pt")).message()),
              HasSubstr("is empty"));
  Write(TempFile("text.pt"), "hello, this is no model");
  EXPECT_THAT(std::string(LoadError(TempFile("text.pt")).message()),
              HasSubstr("no zip archive"));
  Write(TempFile("zip.pt"), "PK\x03\x04 and then nothing of a zip");
  EXPECT_THAT(std::string(LoadError(TempFile("zip.pt")).message()),
              HasSubstr("truncated or damaged"));
}

TEST(Model, TruncatedFile) {
  const std::string path = TempFile("whole.pt");
  MakeModule().save(path);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)),
                          std::istreambuf_iterator<char>());
  for (const size_t size :
       {bytes.size() / 4, bytes.size() / 2, bytes.size() - 1}) {
    Write(TempFile("part.pt"), bytes.substr(0, size));
    EXPECT_THAT(std::string(LoadError(TempFile("part.pt")).message()),
                HasSubstr("truncated or damaged"))
        << size;
  }
}

TEST(Model, WeightsWithoutCode) {
  const std::vector<char> bytes =
      torch::jit::pickle_save(std::vector<at::Tensor>{at::ones({2})});
  Write(TempFile("weights.pt"), std::string(bytes.begin(), bytes.end()));
  EXPECT_THAT(std::string(LoadError(TempFile("weights.pt")).message()),
              HasSubstr("no TorchScript code"));
}

TEST(Model, NoForward) {
  torch::jit::Module module("__torch__.Other");
  module.define("def predict(self, x: Tensor) -> Tensor:\n  return x\n");
  module.save(TempFile("other.pt"));
  EXPECT_THAT(std::string(LoadError(TempFile("other.pt")).message()),
              HasSubstr("no forward method"));
}

TEST(Samples, ReadsWhatTorchSaveWrites) {
  const auto save = [](const c10::IValue& value) {
    const std::vector<char> bytes = torch::jit::pickle_save(value);
    Write(TempFile("samples.pt"), std::string(bytes.begin(), bytes.end()));
    return LoadSamples(TempFile("samples.pt"));
  };
  EXPECT_EQ(save(at::ones({2}))->Describe(), "float32[2]");
  EXPECT_EQ(
      save(std::vector<at::Tensor>{at::ones({2}), at::zeros({1}, at::kLong)})
          ->Describe(),
      "float32[2], int64[1]");
  EXPECT_EQ(save(c10::ivalue::Tuple::create({at::ones({2}), 3}))->Describe(),
            "float32[2], int64=3");
  EXPECT_EQ(LoadSamples("/no/such/file").status().code(),
            absl::StatusCode::kNotFound);
  Write(TempFile("samples.pt"), "nonsense");
  EXPECT_THAT(
      std::string(LoadSamples(TempFile("samples.pt")).status().message()),
      HasSubstr("written by torch.save"));
}

// As Python's torch.save writes them: each tensor names the record of its
// memory.
TEST(Samples, TensorsThatShareMemoryInTheFileShareItHere) {
  using std::string_literals::operator""s;
  // In pickle's words: K is an integer, X a string, c a function or class, Q
  // what a tuple stands for, R the result of a call.
  const auto tensor = [](const std::string& record, char offset, char size) {
    return absl::StrCat(
        "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n"
        "LongStorage\nX\1\0\0\0"s,
        record, "X\3\0\0\0cpuK\6tQK"s, std::string(1, offset), "K",
        std::string(1, size), "\x85K\1\x85\x89"s,
        "ccollections\nOrderedDict\n)RtR");
  };
  const std::string pickled =
      absl::StrCat("\x80\2]("s, tensor("0", 0, 6), tensor("0", 2, 4),
                   tensor("1", 0, 6), "e.");
  const std::string path = TempFile("shared.pt");
  {
    const std::vector<int64_t> elements = {0, 1, 2, 3, 4, 5};
    caffe2::serialize::PyTorchStreamWriter writer(path);
    writer.writeRecord("data.pkl", pickled.data(), pickled.size());
    for (const char* const record : {"data/0", "data/1"})
      writer.writeRecord(record, elements.data(), 6 * sizeof(int64_t));
    writer.writeEndOfFile();
  }
  const auto samples = LoadSamples(path);
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_EQ(samples->Describe(), "int64[6], int64[4], int64[6]");
  const auto loaded = [&](int i) { return samples->values()[i].toTensor(); };
  loaded(0).fill_(7);
  EXPECT_TRUE(loaded(1).equal(at::full({4}, 7)));
  EXPECT_TRUE(loaded(2).equal(at::arange(6)));
}

// Python makes such files.
TEST(Samples, WhatHoldsItselfIsAnError) {
  // In pickle's words: ] begins a list, q numbers it, h is one by its number, a
  // appends. First list 0, which holds itself; then 50 lists of which each
  // holds the next one twice.
  std::string doubled = "\x80\x02";
  for (char i = 50; i > 0; --i) doubled += std::string("]q") + i;
  for (char i = 1; i < 50; ++i) doubled += std::string("ah") + i + "a";
  for (const std::string& pickled :
       {std::string("\x80\x02]q\0h\0a.", 9), doubled + "."}) {
    const std::string path = TempFile("cyclic.pt");
    {
      caffe2::serialize::PyTorchStreamWriter writer(path);
      writer.writeRecord("data.pkl", pickled.data(), pickled.size());
      writer.writeEndOfFile();
    }
    EXPECT_THAT(std::string(LoadSamples(path).status().message()),
                HasSubstr("or hold themselves"));
  }
}

// A file keeps lists and dicts of anything.

TEST(Model, FrozenModelsLoadTraceAndRun) {
  torch::jit::Module module = MakeModule();
  module.eval();
  torch::jit::freeze(module).save(TempFile("frozen.pt"));
  const auto model = Model::Load(TempFile("frozen.pt"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->WeightBytes(), 3 * 4);
  const ValueList inputs({at::ones({2, 3})});
  const auto trace = BuildTrace(*model, inputs, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->notes, ::testing::IsEmpty());
  for (const auto& result :
       {model->RunEager(inputs), model->RunOptimized(inputs),
        RunTrace(*trace, inputs)}) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->toTensor().equal(at::full({2, 3}, 3.0)));
  }
}

// Keeps the texts of LibTorch's warnings.
struct Warnings : c10::WarningHandler {
  void process(const c10::Warning& warning) override { text += warning.msg(); }
  std::string text;
};

// LibTorch's folding of what is added into a convolution's bias fails an
// internal assertion where it cannot add the two, as on a branch never taken.
TEST(Model, WhatOfLibTorchsOptimiserFailsIsLeftOut) {
  torch::jit::Module module("__torch__.Shift");
  module.register_buffer("weight", at::ones({2, 2, 1, 1}));
  module.register_buffer("bias", at::ones({2}));
  module.register_buffer("shift",
                         at::ones({1, 2, 1, 1}).to(at::kFloat8_e4m3fn));
  module.register_attribute("training", c10::BoolType::get(), false);
  module.define(R"(
def forward(self, x: Tensor, shifts: bool = False) -> Tensor:
  y = torch.conv2d(x, self.weight, self.bias)
  if shifts:
    y = torch.conv2d(x + 1.0, self.weight, self.bias) + self.shift
  return y
)");
  const auto model = Model::FromModule(module, {});
  ASSERT_TRUE(model.ok()) << model.status();
  Warnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  const auto result = model->RunOptimized(ValueList({at::ones({1, 2, 3, 3})}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->toTensor().equal(at::full({1, 2, 3, 3}, 3.0)));
  EXPECT_THAT(warnings.text,
              AllOf(HasSubstr("without freeze's folding of numbers"),
                    HasSubstr("frozen_conv_folding")));
}

// LibTorch's interpreter alone loses `a` in the second iteration.
TEST(Model, ALoopsResultIsReadBesideWhatItsBodyReads) {
  torch::jit::Module module("__torch__.Loop");
  module.define(R"(
def forward(self, x: Tensor):
  a = torch.sin(x)
  b = a
  for k in range(3):
    b = torch.sin(b + a) + k
  c = x - torch.amax(x, [1], True)
  return x, a, b, c
)");
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const at::Tensor x = at::randn({3, 8}), a = x.sin();
  const auto result = model->RunEager(ValueList({x}));
  ASSERT_TRUE(result.ok()) << result.status();
  at::Tensor b = a;
  for (int k = 0; k < 3; ++k) b = (b + a).sin() + k;
  EXPECT_TRUE(result->toTupleRef().elements()[2].toTensor().equal(b));
}

// A module that returns what it changes cannot be compiled, and still runs.
TEST(Model, ModelsWithState) {
  torch::jit::Module module("__torch__.Counter");
  module.register_buffer("count", at::zeros({1}));
  module.register_attribute("training", c10::BoolType::get(), false);
  module.define(
      "def forward(self, x: Tensor):\n  self.count.add_(1)\n  return "
      "x + self.count, self.count\n");
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok());
  const auto trace = BuildTrace(*model, ValueList({at::ones({3})}), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ::testing::ElementsAre("aitune::model"));
  EXPECT_THAT(trace->notes.back(), HasSubstr("returns its own tensor"));
  EXPECT_TRUE(RunTrace(*trace, ValueList({at::ones({3})})).ok());
}

}  // namespace
}  // namespace aitune::frontend
