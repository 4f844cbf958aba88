// Control flow that depends on data, with its parts compiled: against eager,
// from the cache, with other weights, and where it is left to LibTorch.
#include "frontend/compiled_model/outlined_versions.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/Compiler.h"
#include "frontend/compiled_model/replace_weights.h"
#include "frontend/testing/models.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kBranches[] = R"(
def forward(self, x: Tensor):
    h = torch.relu(x * 2 + 1)
    if bool(h.sum() > 40):
        h = torch.tanh(h @ self.w) + h
    else:
        h = torch.sigmoid(h @ self.v) * h
    return h - 1
)";

// Ends after a number of rounds that depends on the data, with a list.
constexpr char kLoop[] = R"(
def forward(self, x: Tensor):
    outs: List[Tensor] = []
    i = 0
    while bool(x.abs().max() > 0.2) and i < 30:
        x = torch.tanh(x @ self.w) * 0.9 + i * 0.001
        outs.append(x.sum(0))
        i += 1
    outs.append(x[0])
    return torch.stack(outs), i
)";

// The loop's values grow, as a decoder's cache does.
constexpr char kGrows[] = R"(
def forward(self, x: Tensor):
    y = x
    while bool(y.sum() < 100) and y.size(0) < 200:
        n = (y[-1:] @ self.w).abs() + 1
        y = torch.cat([y, n])
    return y
)";

class OutlinedVersionsTest : public testing::Test {
 protected:
  void Compile(const std::string& forward,
               const std::string& spec = "float32[4,6]") {
    torch::jit::Module module("__torch__.Net");
    at::manual_seed(0);
    w_ = at::randn({6, 6}) * 0.4;
    module.register_parameter("w", w_, false);
    module.register_parameter("v", at::randn({6, 6}) * 0.4, false);
    module.register_attribute("held", c10::ListType::ofTensors(),
                              c10::List<at::Tensor>({w_}));
    module.register_attribute("flag", c10::BoolType::get(), false);
    module.define(forward);
    auto model = Model::FromModule(module);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = std::make_unique<Model>(*std::move(model));
    auto parsed = ParseInputSpec(spec);
    ASSERT_TRUE(parsed.ok());
    inputs_.specs = {*std::move(parsed)};
    Build({});
  }

  void Build(BuildOptions options) {
    options.compile.measureCandidates = false;
    options.keep_artifact = true;
    options.model_sha256 = sha256_;
    auto built = CompiledModel::Build(*model_, inputs_, options);
    ASSERT_TRUE(built.ok()) << built.status();
    compiled_ = *std::move(built);
  }

  static void ExpectAgrees(const Model& model, const CompiledModel& compiled,
                           const at::Tensor& x) {
    const auto ours = compiled.Run(ValueList({x})),
               eager = model.RunEager(ValueList({x}));
    ASSERT_TRUE(eager.ok()) << eager.status();
    ASSERT_TRUE(ours.ok()) << ours.status();
    ExpectClose(*ours, *eager);
  }

  // For inputs that go different ways.
  void ExpectAgrees(const CompiledModel& compiled, int64_t rows = 4) {
    for (const double scale : {0.0, 0.1, 1.0, 3.0, -3.0}) {
      for (int i = 0; i < 3; ++i)
        ExpectAgrees(*model_, compiled, at::randn({rows, 6}) * scale + scale);
    }
  }

  at::Tensor w_;
  std::string sha256_ = "a hash";
  ModelInputs inputs_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<CompiledModel> compiled_;
};

TEST_F(OutlinedVersionsTest, EveryWayAgreesWithEager) {
  for (const char* forward : {kBranches, kLoop, kGrows}) {
    Compile(forward);
    const BuildReport& report = compiled_->report();
    ASSERT_FALSE(report.outlined.empty());
    for (const OutlinedReport& part : report.outlined) {
      EXPECT_GT(part.versions, 0) << part.why_not;
      // But a number that is computed from another.
      EXPECT_GE(part.compiled_ops, part.ops - 1);
      EXPECT_GT(part.kernels, 0);
    }
    ExpectAgrees(*compiled_);
  }
}

// Compiled code runs them: LibTorch has no part in it.
TEST_F(OutlinedVersionsTest, NoInputThatWasSeenIsAMisfit) {
  Compile(kGrows);
  auto trace = MakeTrace(*model_, inputs_, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_THAT(trace->outlined, SizeIs(1));
  std::vector<OutlinedReport> reports;
  BuildOptions options;
  options.compile.measureCandidates = false;
  const auto parts = CompileOutlined(trace->outlined, options, reports);
  ASSERT_THAT(parts, SizeIs(1));
  ASSERT_TRUE(LoadOutlined(trace->outlined, parts, Device(), true).ok());
  OutlinedProgram& program = *trace->outlined[0];
  for (const int64_t rows : {4, 5, 17, 100}) {
    std::vector<c10::IValue> stack = {at::randn({rows, 6}),
                                      model_->WeightBytes() > 0
                                          ? c10::IValue(at::zeros({6, 6}))
                                          : c10::IValue()};
    ASSERT_EQ(program.input_count(), stack.size());
    EXPECT_TRUE(program.RunCompiled(stack)) << rows;
    EXPECT_EQ(stack[0].toTensor().size(0), rows + 1);
  }
  EXPECT_EQ(program.misfits(), 0);
  std::vector<c10::IValue> stack = {at::randn({4, 6}, at::kDouble),
                                    at::zeros({6, 6})};
  EXPECT_FALSE(program.RunCompiled(stack));
  EXPECT_THAT(stack, SizeIs(2));
  EXPECT_EQ(program.misfits(), 1);
  // Nor is anything compiled for other weights.
  stack = {at::randn({4, 6}), at::zeros({6, 6})};
  w_.mul_(2);
  EXPECT_FALSE(program.RunCompiled(stack));
}

// Behind ifs that go one way for all inputs that are tried, behind a loop that
// no round is made of, and beside an operator that would end the process there.
TEST_F(OutlinedVersionsTest, PartsThatNoInputLeadsToAreCompiled) {
  Compile(R"(
def forward(self, x: Tensor):
    h = torch.tanh(x @ self.w)
    if bool(x.sum() > -1e30):
        if bool(x.max() > 1e6):
            h = torch.relu(h @ self.v) + 1
            if bool(x.min() > 1e6):
                h = torch.sigmoid(h @ self.v) * h
                i = int(x.max()) % int(x.min())
                while i > 0:
                    h = torch.tanh(h @ self.w) + 0.5
                    i -= 1
    return h
)");
  EXPECT_THAT(compiled_->report().outlined, SizeIs(4));
  for (const OutlinedReport& part : compiled_->report().outlined)
    EXPECT_GT(part.versions, 0) << part.place << " " << part.why_not;
  ExpectAgrees(*compiled_);
  at::Tensor large = at::full({4, 6}, 2e6f);
  ExpectAgrees(*model_, *compiled_, large);
  large[0][0] = 2e6f + 3;
  ExpectAgrees(*model_, *compiled_, large);
  large[1][1] = 0;
  ExpectAgrees(*model_, *compiled_, large);
  EXPECT_EQ(compiled_->EagerParts(), 0);
}

// Branches that data does not enter: a loop that would not end there, a
// division that would end the process, and a tensor of 10^11 elements.
TEST_F(OutlinedVersionsTest, WaysThatDataDoesNotLeadToHaveLimits) {
  for (const char* branch :
       {"while s < 1e5:\n            x = x.sin() + 1\n        return x.cos() * "
        "2",
        "return x.sin() * [i * 2 for i in range(int(1e15 / (s * s)))][-1]",
        "k = 1 if s > 1e5 else -1\n"
        "        return x.cos() * ((-9223372036854775807 - 1) // k)",
        "return torch.ones([int(1e12 / (s * s + 1)), 8])[:1, :1] + x.sin()"}) {
    Compile(
        absl::StrCat("def forward(self, x: Tensor):\n"
                     "    s = float(x.abs().sum())\n"
                     "    if s > 1e5 and s < 1e6:\n        ",
                     branch, "\n    return x + 1\n"));
    EXPECT_FALSE(compiled_->report().LibTorchRunsAll()) << branch;
    ExpectAgrees(*compiled_);
    ExpectAgrees(*model_, *compiled_, at::full({4, 6}, 2e4f));
  }
}

// What it returns has no value before it does.
TEST_F(OutlinedVersionsTest, ALoopThatReturnsIsNoReasonToLeaveTheModel) {
  Compile(R"(
def forward(self, x: Tensor):
    for i in range(8):
        y = torch.tanh(x @ self.w) * 0.9 + x * 0.1
        if bool((y - x).abs().max() < 0.3):
            return torch.relu(y @ self.v) + 1
        x = y
    return x - 1
)");
  EXPECT_FALSE(compiled_->report().LibTorchRunsAll());
  ASSERT_FALSE(compiled_->report().outlined.empty());
  for (const OutlinedReport& part : compiled_->report().outlined)
    EXPECT_GT(part.versions, 0) << part.place << " " << part.why_not;
  ExpectAgrees(*compiled_);
}

TEST_F(OutlinedVersionsTest, RunsOfPartsInEagerAreCounted) {
  Compile(R"(
def forward(self, x: Tensor):
    for i in range(int(x[0, 0])):
        x = torch.cat([x, torch.tanh(x @ self.w)])
    return x
)");
  ASSERT_THAT(compiled_->report().outlined, SizeIs(1));
  EXPECT_GT(compiled_->report().outlined[0].versions, 0);
  at::Tensor x = at::ones({4, 6});
  ExpectAgrees(*model_, *compiled_, x);
  EXPECT_EQ(compiled_->EagerParts(), 0);
  // 4 << 9 rows are more than any that is compiled for.
  x[0][0] = 10;
  ExpectAgrees(*model_, *compiled_, x);
  EXPECT_GE(compiled_->EagerParts(), 1);
}

// A list of the model has a weight, which some calls write.
TEST_F(OutlinedVersionsTest, WeightsThatAreWrittenAreNotThoseOfBefore) {
  Compile(R"(
def forward(self, x: Tensor):
    h = torch.tanh(x @ self.v) * 2
    if bool(x.sum() > 1000):
        self.held[0].add_(1)
    return torch.relu(h @ self.w) + 1
)");
  ASSERT_TRUE(compiled_->report().LibTorchRunsAll());
  ASSERT_THAT(compiled_->report().outlined, SizeIs(2));
  ExpectAgrees(*compiled_);
  ASSERT_TRUE(compiled_->Run(ValueList({at::full({4, 6}, 100.0f)})).ok());
  ExpectAgrees(*compiled_);
  // A GPU's calls write copies, whose versions nobody looks at: there the
  // weights are inputs.
  for (const bool for_gpu : {false, true}) {
    TraceOptions options;
    options.for_gpu = for_gpu;
    const auto trace = MakeTrace(*model_, inputs_, options);
    ASSERT_TRUE(trace.ok()) << trace.status();
    ASSERT_THAT(trace->outlined, SizeIs(2));
    for (const auto& program : trace->outlined)
      EXPECT_EQ(program->sample().size(), for_gpu ? 2 : 1);
  }
}

// LibTorch runs it as the elements of a list are written. In-place activations,
// flags and an attribute that is set do not split it more than they must.
TEST_F(OutlinedVersionsTest, PartsOfAModelThatLibTorchRunsWholeAreCompiled) {
  Compile(R"(
def forward(self, x: Tensor):
    h = torch.relu_(x @ self.w)
    h = h.add_(1) * 2
    if self.flag:
        h = h * 0
    parts = [h, h.sin()]
    if bool(h.sum() > 30):
        parts[1].mul_(0.5)
        parts.append(x)
    y = torch.cat(parts)
    return torch.tanh(y @ self.v).sub_(1).t()
)");
  ASSERT_TRUE(compiled_->report().LibTorchRunsAll());
  ASSERT_THAT(compiled_->report().outlined, SizeIs(2));
  for (const OutlinedReport& part : compiled_->report().outlined)
    EXPECT_GT(part.versions, 0) << part.why_not;
  ExpectAgrees(*compiled_);
}

// Writes to parts of a tensor, or to what may be the same one, are writes to
// it, also on a way that no run of tracing has gone.
TEST_F(OutlinedVersionsTest, WritesReachWhatTheyAreViewsOf) {
  for (const char* parts :
       {"a, b = torch.chunk(h, 2, 1)", "a, b = torch.split(h, 3, 1)",
        "a, b = torch.broadcast_tensors(h, h)",
        "a = torch.dropout(h, 0.5, False)\n        b = a * 2"}) {
    SCOPED_TRACE(parts);
    Compile(absl::StrCat(R"(
def forward(self, x: Tensor):
    h = x * 1
    for i in range(3):
        )",
                         parts, R"(
        y = torch.tanh(h) + b.sum()
        if bool(x[0, 0] == 7):
            a.add_(1)
        h = h * 0.5 + y
        if bool(h.sum() > 1000):
            break
    return h
)"));
    ExpectAgrees(*compiled_);
    at::Tensor x = at::randn({4, 6});
    x[0][0] = 7;
    ExpectAgrees(*model_, *compiled_, x);
  }
}

TEST_F(OutlinedVersionsTest, ComeFromTheCache) {
  auto cache = Cache::Open(EmptyFolder());
  ASSERT_TRUE(cache.ok());
  for (const char* forward : {kBranches, kLoop}) {
    sha256_ = forward;
    Compile(forward);
    BuildOptions options;
    options.cache = cache->get();
    Build(options);
    const int64_t kernels = compileCounts().kernels;
    Build(options);
    EXPECT_EQ(compiled_->cache().outcome, CacheReport::Outcome::kHit)
        << compiled_->cache().detail;
    EXPECT_EQ(compileCounts().kernels, kernels);
    EXPECT_GT(compiled_->report().outlined[0].versions, 0);
    ExpectAgrees(*compiled_);
  }
}

TEST_F(OutlinedVersionsTest, HaveTheNewWeights) {
  Compile(kBranches);
  const at::Tensor w = at::randn({6, 6}), v = at::randn({6, 6});
  auto changed = model_->WithWeights({{"w", ViewOf(w)}, {"v", ViewOf(v)}});
  ASSERT_TRUE(changed.ok()) << changed.status();
  const auto replaced = ReplaceWeights(
      *compiled_->artifact(), {*model_, "a hash"}, {*changed, "another"});
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  auto parts =
      ReadArtifact(replaced->model, replaced->constants, *changed, "another");
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_THAT(parts->outlined, SizeIs(2));
  auto loaded = CompiledModel::FromParts(*changed, *std::move(parts), nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const double shift : {-2.0, 2.0})
    ExpectAgrees(*changed, **loaded, at::randn({4, 6}) + shift);
}

// They are not looked through for what is wrong.
TEST_F(OutlinedVersionsTest, ABuildThatWasWrongLeavesThemToLibTorch) {
  Compile(kBranches);
  const auto changed = compiled_->Repair(ValueList({at::randn({4, 6})}));
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
  for (const OutlinedReport& part : compiled_->report().outlined) {
    EXPECT_EQ(part.versions, 0);
    EXPECT_THAT(part.why_not, HasSubstr("wrong"));
  }
  ExpectAgrees(*compiled_);
}

TEST_F(OutlinedVersionsTest, WhatAPartRaisesNamesIt) {
  Compile(
      "def forward(self, x: Tensor):\n"
      "  i = (x[0] > 100).long()\n"
      "  if bool(x.sum() > 0):\n"
      "    y = (self.w[0] + 1).index_select(0, i + 5) * 2\n"
      "  else:\n    y = x[0].exp() * 3\n  return y\n");
  ExpectAgrees(*model_, *compiled_, at::ones({4, 6}));
  const auto raised = compiled_->Run(ValueList({at::full({4, 6}, 1000.0f)}));
  EXPECT_EQ(raised.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(raised.status().message()),
              HasSubstr("index_select"));
}

TEST_F(OutlinedVersionsTest, StoredPartsOfAnotherTraceAreRefused) {
  Compile(kBranches);
  auto parts =
      ReadArtifact(compiled_->artifact()->model,
                   compiled_->artifact()->constants, *model_, "a hash");
  ASSERT_TRUE(parts.ok());
  for (const int place : {-1, 2}) {
    CompiledParts other = *parts;
    other.outlined[0].program = place;
    EXPECT_EQ(CompiledModel::FromParts(*model_, other, nullptr).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  CompiledParts other = *parts;
  other.outlined[0].sha256 = "no hash";
  EXPECT_EQ(CompiledModel::FromParts(*model_, other, nullptr).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// A loop over a length has one version for all lengths but the first.
TEST_F(OutlinedVersionsTest, TheSecondVersionIsForAllLengths) {
  Compile(
      "def forward(self, x: Tensor):\n"
      "  h = x[0] * 0\n  outs: List[Tensor] = []\n"
      "  for i in range(x.size(0)):\n"
      "    h = torch.tanh(x[i] + self.w @ h)\n    outs.append(h)\n"
      "  return torch.stack(outs) @ self.v, h\n",
      "float32[1..40,6]");
  BuildOptions options;
  options.all_sizes = true;
  Build(options);
  for (int64_t rows = 1; rows <= 40; ++rows)
    ExpectAgrees(*model_, *compiled_, at::randn({rows, 6}));
  ASSERT_THAT(compiled_->versions(), SizeIs(2));
  const BuildReport& report = compiled_->versions()[1]->report();
  ASSERT_THAT(report.outlined, SizeIs(1));
  EXPECT_EQ(report.outlined[0].versions, 1);
}

}  // namespace
}  // namespace aitune::frontend
