// Models that enter torch.autocast are run and compiled as LibTorch runs them.
#include "frontend/torchscript/autocast_contexts.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <caffe2/serialize/versions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import_source.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "frontend/torchscript/autocast.h"
#include "frontend/tracing/build_trace.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

// As torch.jit.save writes the class.
constexpr char kContext[] = R"(class autocast:
  fast_dtype : int
  _enabled : bool
  device : str
  def __enter__(self: __torch__.torch.amp.autocast_mode.autocast) -> __torch__.torch.amp.autocast_mode.autocast:
    return self
  def __exit__(self: __torch__.torch.amp.autocast_mode.autocast,
    exc_type: Any,
    exc_val: Any,
    exc_tb: Any) -> NoneType:
    return None
  def __init__(self: __torch__.torch.amp.autocast_mode.autocast,
    device_type: str,
    dtype: Optional[int]=None,
    enabled: bool=True,
    cache_enabled: Optional[bool]=None) -> NoneType:
    if torch.__is__(dtype, None):
      _0 = torch.get_autocast_dtype(device_type)
    else:
      _0 = unchecked_cast(int, dtype)
    self.fast_dtype = _0
    self._enabled = enabled
    self.device = device_type
    return None
)";

// A module as from a file, whose forward(x: Tensor, w: Tensor) has this body.
torch::jit::Module ModuleOf(const std::string& body) {
  const std::string net = absl::StrCat(
      "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
      "  training : bool\n  p : Tensor\n"
      "  b : Optional[Tensor]\n"
      "  def forward(self: __torch__.Net,\n    x: Tensor,\n    w: Tensor,\n"
      "    n: int=5) -> List[Tensor]:\n",
      body);
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  static const auto* const constants = new std::vector<c10::IValue>();
  const torch::jit::SourceImporter importer(
      unit, constants,
      [&](const std::string& place) -> std::shared_ptr<torch::jit::Source> {
        if (place == "__torch__")
          return std::make_shared<torch::jit::Source>(net);
        if (place == "__torch__.torch.amp.autocast_mode")
          return std::make_shared<torch::jit::Source>(std::string(kContext));
        return nullptr;
      },
      caffe2::serialize::kProducedFileFormatVersion);
  const auto type = importer.loadType(c10::QualifiedName("__torch__.Net"))
                        ->expect<c10::ClassType>();
  torch::jit::Module module(c10::ivalue::Object::create(
      c10::StrongTypePtr(unit, type), type->numAttributes()));
  module.setattr("training", false);
  module.setattr("p", at::rand({8, 8}));
  module.setattr("b", c10::IValue());
  return module;
}

// The lines that make a context.
std::string Context(const std::string& name, const std::string& arguments) {
  const std::string type = "__torch__.torch.amp.autocast_mode.autocast";
  return absl::StrCat("    ", name, " = ", type, ".__new__(", type, ")\n    ",
                      name, "_ = (", name, ").__init__(", arguments,
                      ", None, )\n");
}

// Products, a softmax and a sum, and the same product outside.
std::string Body(const std::string& arguments) {
  return absl::StrCat(Context("a", arguments), R"(
    with a:
      y = torch.matmul(x, w)
      z = torch.softmax(torch.matmul(torch.to(y, 6), torch.t(w)), -1)
      s = torch.sum(y, [0])
      e = torch.exp(torch.mul(y, 0.25))
    return [y, z, s, e, torch.matmul(x, w)]
)");
}

std::vector<at::ScalarType> Dtypes(const c10::IValue& result) {
  std::vector<at::ScalarType> dtypes;
  for (const at::Tensor& tensor : TensorLeaves(result))
    dtypes.push_back(tensor.scalar_type());
  return dtypes;
}

class AutocastContexts : public testing::Test {
 protected:
  AutocastContexts() {
    at::manual_seed(3);
    arguments_ = ValueList({at::randn({8, 16}), at::randn({16, 12})});
  }

  // What LibTorch's own executor gives for it is what all others give.
  void ExpectAsLibTorch(const std::string& body,
                        const std::vector<at::ScalarType>& dtypes) {
    torch::jit::Module module = ModuleOf(body);
    const at::NoGradGuard no_grad;
    const c10::IValue libtorch = module.forward(arguments_.values());
    EXPECT_EQ(Dtypes(libtorch), dtypes);
    const auto model = Model::FromModule(ModuleOf(body));
    ASSERT_TRUE(model.ok()) << model.status();
    const auto eager = model->RunEager(arguments_);
    ASSERT_TRUE(eager.ok()) << eager.status();
    ASSERT_EQ(Dtypes(*eager), dtypes);
    for (size_t i = 0; i < dtypes.size(); ++i)
      EXPECT_TRUE(at::equal(TensorLeaves(*eager)[i], TensorLeaves(libtorch)[i]))
          << i;
    const auto optimized = model->RunOptimized(arguments_);
    ASSERT_TRUE(optimized.ok()) << optimized.status();
    ExpectClose(*optimized, *eager, 0.03);
    ModelInputs inputs;
    inputs.samples = arguments_;
    BuildOptions options;
    options.compile.measureCandidates = false;
    const auto compiled = CompiledModel::Build(*model, inputs, options);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto ours = (*compiled)->Run(arguments_);
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_EQ(Dtypes(*ours), dtypes);
    ExpectClose(*ours, *eager, 0.03);
  }

  ValueList arguments_;
};

constexpr auto kFloat = at::kFloat, kHalf = at::kHalf, kNarrow = at::kBFloat16;

TEST_F(AutocastContexts, HaveLibTorchsCasts) {
  // On a CPU the softmax stays narrow; sums and exponentials are in float32.
  ExpectAsLibTorch(Body("\"cpu\", 15, True"),
                   {kNarrow, kNarrow, kFloat, kFloat, kFloat});
  ExpectAsLibTorch(Body("\"cpu\", 5, True"),
                   {kHalf, kHalf, kFloat, kFloat, kFloat});
  // The default dtype of a CPU.
  ExpectAsLibTorch(Body("\"cpu\", None, True"),
                   {kNarrow, kNarrow, kFloat, kFloat, kFloat});
}

TEST_F(AutocastContexts, OfAnotherDeviceOrDisabledMakeNoCasts) {
  const std::vector<at::ScalarType> none(5, kFloat);
  ExpectAsLibTorch(Body("\"cpu\", 15, False"), none);
  ExpectAsLibTorch(Body("\"cuda\", 5, True"), none);
}

// Traces are made on the CPU, also those for a GPU.
TEST_F(AutocastContexts, TheDeviceThatTheModelIsCompiledForDecides) {
  const auto dtype = [&](const std::string& arguments, bool for_gpu) {
    const auto model = Model::FromModule(ModuleOf(Body(arguments)));
    if (!model.ok()) ADD_FAILURE() << model.status();
    TraceOptions options;
    options.for_gpu = for_gpu;
    const auto trace = BuildTrace(*model, arguments_, options);
    if (!trace.ok()) ADD_FAILURE() << trace.status();
    // Of the softmax, which is in float32 on a GPU, after that of the product.
    std::vector<DataType> dtypes;
    for (const int output : {0, 1})
      dtypes.push_back(trace->values.at(trace->outputs[output]).type.dtype);
    return dtypes;
  };
  const std::vector<DataType> none(2, DataType::kFloat32);
  EXPECT_EQ(dtype("\"cuda\", 5, True", false), none);
  EXPECT_EQ(dtype("\"cuda\", 5, True", true),
            std::vector<DataType>({DataType::kFloat16, DataType::kFloat32}));
  EXPECT_EQ(dtype("\"cpu\", 15, True", false),
            std::vector<DataType>(2, DataType::kBFloat16));
  EXPECT_EQ(dtype("\"cpu\", 15, True", true), none);
}

// Freezing computes the casts of weights.
TEST_F(AutocastContexts, WeightsAreCastAsOnTheDevice) {
  for (const char* context : {"\"cpu\", 15, True", "\"cuda\", 5, True"}) {
    const auto model = Model::FromModule(ModuleOf(absl::StrCat(
        Context("a", context),
        "    with a:\n      y = torch.matmul(x, self.p)\n    return [y]\n")));
    ASSERT_TRUE(model.ok()) << model.status();
    for (const bool for_gpu : {false, true}) {
      TraceOptions options;
      options.for_gpu = for_gpu;
      const auto trace = BuildTrace(
          *model,
          ValueList({at::rand({8, 8}), at::rand({8, 8}), c10::IValue(5)}),
          options);
      ASSERT_TRUE(trace.ok()) << trace.status();
      const bool is_cast = for_gpu == (context[1] == 'c' && context[2] == 'u');
      EXPECT_EQ(
          trace->values.at(trace->outputs[0]).type.dtype == DataType::kFloat32,
          !is_cast)
          << context << for_gpu;
    }
  }
}

TEST_F(AutocastContexts, TheInnermostDecides) {
  ExpectAsLibTorch(absl::StrCat(Context("a", "\"cpu\", 15, True"),
                                Context("b", "\"cpu\", 15, False"), R"(
    with a:
      y = torch.matmul(x, w)
      with b:
        z = torch.matmul(x, w)
      s = torch.matmul(x, w)
    return [y, z, s]
)"),
                   {kNarrow, kFloat, kNarrow});
}

TEST_F(AutocastContexts, AComputedDtypeIsTheDevicesDefault) {
  ExpectAsLibTorch(Body("\"cpu\", n, True"),
                   {kNarrow, kNarrow, kFloat, kFloat, kFloat});
}

// LibTorch refuses them when they are called.
TEST_F(AutocastContexts, ThatAreEnabledByAComputedFlagAreErrors) {
  const std::string body = Body("\"cpu\", 15, torch.gt(n, 3)");
  EXPECT_ANY_THROW(ModuleOf(body).forward(arguments_.values()));
  const auto model = Model::FromModule(ModuleOf(body));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(std::string(model->RunEager(arguments_).status().message()),
              HasSubstr("_enabled argument must be a constant"));
  ModelInputs inputs;
  inputs.samples = arguments_;
  EXPECT_THAT(
      std::string(CompiledModel::Build(*model, inputs, {}).status().message()),
      HasSubstr("_enabled argument must be a constant"));
}

// LibTorch's pass would end the process.
TEST_F(AutocastContexts, QuestionsInThemAreErrors) {
  const auto error = [&](const std::string& question) {
    const auto model = Model::FromModule(
        ModuleOf(absl::StrCat(Context("a", "\"cpu\", 15, True"), R"(
    with a:
      y = torch.matmul(x, w)
)",
                              question)));
    if (!model.ok()) ADD_FAILURE() << model.status();
    return std::string(model->RunEager(arguments_).status().message());
  };
  EXPECT_THAT(error(R"(
      if torch.is_autocast_cpu_enabled():
        z = torch.relu(y)
      else:
        z = y
    return [z]
)"),
              HasSubstr("aten::is_autocast_cpu_enabled is asked where autocast "
                        "is on"));
  EXPECT_EQ(error(R"(
    if torch.is_autocast_cpu_enabled():
      z = torch.relu(y)
    else:
      z = y
    return [z]
)"),
            "");
}

// A run with which others are compared has no casts to narrower dtypes.
TEST_F(AutocastContexts, AreLeftOutInHigherPrecision) {
  LoadOptions options;
  options.dtype = DataType::kFloat32;
  options.widen_casts = true;
  const auto model =
      Model::FromModule(ModuleOf(Body("\"cpu\", 15, True")), options);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto exact = model->RunEager(arguments_);
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_EQ(Dtypes(*exact), std::vector<at::ScalarType>(5, kFloat));
}

// As the bias of a scripted convolution is. LibTorch's pass leaves those in
// float32, which its operators then refuse.
TEST_F(AutocastContexts, CastArgumentsThatMayBeNone) {
  const auto dtypes = [&](const std::string& body, bool with_bias,
                          bool whole) -> std::vector<at::ScalarType> {
    torch::jit::Module module = ModuleOf(body);
    if (with_bias) module.setattr("b", at::rand({12}));
    auto model = Model::FromModule(module);
    if (model.ok() && whole) model = WithAutocast(*model, DataType::kBFloat16);
    if (!model.ok()) ADD_FAILURE() << model.status();
    const auto eager = model->RunEager(arguments_);
    if (!eager.ok()) ADD_FAILURE() << eager.status();
    ModelInputs inputs;
    inputs.samples = arguments_;
    BuildOptions options;
    options.compile.measureCandidates = false;
    const auto compiled = CompiledModel::Build(*model, inputs, options);
    if (!compiled.ok()) ADD_FAILURE() << compiled.status();
    const auto ours = (*compiled)->Run(arguments_);
    if (!ours.ok()) ADD_FAILURE() << ours.status();
    ExpectClose(*ours, *eager, 0.03);
    EXPECT_EQ(Dtypes(*ours), Dtypes(*eager));
    return Dtypes(*eager);
  };
  const std::string call =
      "torch.conv1d(torch.unsqueeze(x, 2), "
      "torch.unsqueeze(torch.t(w), 2), self.b)";
  const std::string inside =
      absl::StrCat(Context("a", "\"cpu\", 15, True"),
                   "    with a:\n      y = ", call, "\n    return [y]\n");
  const std::string plain = absl::StrCat("    return [", call, "]\n");
  for (const bool with_bias : {true, false}) {
    EXPECT_EQ(dtypes(inside, with_bias, false), std::vector{kNarrow});
    EXPECT_EQ(dtypes(plain, with_bias, true), std::vector{kNarrow});
  }
}

// A module that computes in a narrower dtype as a whole.
TEST_F(AutocastContexts, AreWithinThatOfTheWholeModel) {
  const auto model = Model::FromModule(ModuleOf(Body("\"cpu\", 15, False")));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto narrowed = WithAutocast(*model, DataType::kFloat16);
  ASSERT_TRUE(narrowed.ok()) << narrowed.status();
  const auto result = narrowed->RunEager(arguments_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Dtypes(*result), std::vector<at::ScalarType>(
                                 {kFloat, kFloat, kFloat, kFloat, kHalf}));
}

}  // namespace
}  // namespace aitune::frontend
