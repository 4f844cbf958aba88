// Programs whose calls change the model's state by the sizes of their inputs
// give what eager gives, call after call: in a tuned module, and in its
// checkpoints, which go on where the module was when it was saved. By hand on a
// GPU: --test_env=AITUNE_STATE_DEVICE=cuda.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "frontend/api/module.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_state.h"
#include "runtime/control/control.h"
#include "tests/sizes/state_device.h"

namespace aitune::sizes {
namespace {

using frontend::Model;
using frontend::ValueList;

struct StateProgram {
  const char* name;
  const char* body;
};

const StateProgram kPrograms[] = {
    // A view for four rows, else a copy.
    {"view_of_turned_rows_at_one_size", R"(
    rows = self.turned[:min(x.size(0), 4)].t().reshape(-1)
    rows.mul_(0.5).add_(0.1)
    return self.turned.sum(0) + x.sum()
)"},
    {"view_of_turned_numbers_at_one_size", R"(
    numbers = self.turned * 2
    rows = numbers[:min(x.size(0), 4)].t().reshape(-1)
    numbers.add_(x.sum())
    self.mean.add_(1)
    return rows * self.mean[0]
)"},
    {"cache_of_rows", R"(
    n = min(x.size(0), 16)
    self.cache[self.used % 32:self.used % 32 + n] = x[:n]
    self.used = self.used + n
    return torch.matmul(x, self.cache[:32].t()) + self.used
)"},
    {"cache_of_long_calls", R"(
    n = x.size(0)
    if n > 20:
        self.cache[:n] = x * 2
    return self.cache[:n] + x
)"},
    {"rows_in_place", R"(
    n = min(x.size(0), 16)
    self.cache[:n] = x[:n]
    self.mean.mul_(0.5).add_(x.mean(0))
    return torch.matmul(x, self.cache.t()) + self.mean.sum()
)"},
    {"running_mean_of_odd_calls", R"(
    if x.size(0) % 2 == 1:
        self.mean.mul_(0.9).add_(x.mean(0) * 0.1)
    return x - self.mean
)"},
    {"number_of_calls", R"(
    self.used = self.used + 1
    return x[:max(x.size(0) - self.used, 1)] * self.used
)"},
    {"largest_size", R"(
    if x.size(0) > self.used:
        self.used = x.size(0)
    return torch.constant_pad_nd(x, [0, 0, 0, self.used - x.size(0)])
)"},
    {"last_argument", R"(
    y = x.sum(0) - self.mean
    if x.size(0) % 3 == 0:
        self.mean = x[0] * 1
    return y
)"},
    {"list_of_sizes", R"(
    self.sizes.append(x.size(0))
    if len(self.sizes) > 3:
        self.sizes.pop(0)
    return x * sum(self.sizes)
)"},
    {"views_of_a_buffer", R"(
    n = x.size(0)
    v = self.cache.view([-1])[:n]
    if n % 4 == 0:
        v.add_(1.0)
    return v * 2 + n, self.cache[0]
)"},
    {"first_call", R"(
    if self.last is None:
        self.last = x[0] * 1
    y = self.last
    assert y is not None
    return x * y
)"},
    {"optional_last", R"(
    y = self.last
    z = x.sum(0)
    if y is not None:
        z = z + y
    if x.size(0) % 7 == 0:
        self.last = x[-1] + 1
    elif x.size(0) % 7 == 3:
        self.last = None
    return z
)"},
    {"flag_of_long_calls", R"(
    if x.size(0) > 40:
        self.long = True
    if self.long:
        return x * 2
    return x + 1
)"},
    {"toggled", R"(
    if x.size(0) % 5 == 0:
        self.long = not self.long
    return x * 3 if self.long else x
)"},
    {"named_caches", R"(
    k = str(x.size(0) % 3)
    y = x.mean(0)
    if k in self.named:
        y = y + self.named[k]
    self.named[k] = x[0] * 1
    return y, len(self.named)
)"},
    {"scale_of_even_calls", R"(
    n = x.size(0)
    y = x * self.scale
    if n % 2 == 0:
        self.scale = 1.0 / n
    return y
)"},
    {"argument_kept", R"(
    y = self.mean + x.sum(0)
    if x.size(0) % 4 == 1:
        self.mean = x[0]
    return y
)"},
    {"buffer_returned", R"(
    if x.size(0) % 2 == 0:
        self.mean.add_(1.0)
    return self.mean, x
)"},
    {"buffer_replaced_and_written", R"(
    if x.size(0) % 3 == 0:
        self.mean = torch.zeros([4])
    self.mean[x.size(0) % 4] = float(x.size(0))
    return x + self.mean
)"},
    {"two_attributes", R"(
    n = x.size(0)
    if n > 30:
        self.used = 5
    elif n > 10:
        self.scale = float(self.used)
    return x * self.scale
)"},
    {"raises_after_writing", R"(
    self.used = self.used + 1
    self.mean.add_(0.5)
    if x.size(0) % 6 == 5:
        y = x.view([7, 11, 13])
    return x * self.used + self.mean
)"},
    {"constant_set_twice", R"(
    self.used = 2
    y = x * self.used
    if x.size(0) > 20:
        self.used = 3
    return y + self.used
)"},
    {"resized_cache", R"(
    n = x.size(0)
    if n > self.mean.size(0):
        self.mean = torch.cat([self.mean, torch.ones([n - self.mean.size(0)])])
    return x * self.mean[:n].unsqueeze(1)
)"},
    {"tensor_counter_decides", R"(
    self.mean[0] += 1
    if bool(self.mean[0] > 20):
        return x * 2
    return x
)"},
};

std::shared_ptr<const Model> Make(const StateProgram& program) {
  torch::jit::Module module("net");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_buffer("cache", at::zeros({256, 4}));
  module.register_buffer("mean", at::zeros({4}));
  module.register_attribute("used", c10::IntType::get(), 0);
  module.register_attribute("sizes", c10::ListType::ofInts(),
                            c10::List<int64_t>());
  module.register_attribute("last", c10::OptionalType::ofTensor(),
                            c10::IValue());
  module.register_buffer("turned", at::arange(24, at::kFloat).view({6, 4}).t());
  module.register_attribute("long", c10::BoolType::get(), false);
  module.register_attribute("scale", c10::FloatType::get(), 2.0);
  module.register_attribute(
      "named",
      c10::DictType::create(c10::StringType::get(), c10::TensorType::get()),
      c10::Dict<std::string, at::Tensor>());
  module.define(std::string("def forward(self, x: Tensor):\n") + program.body);
  auto model = Model::FromModule(std::move(module));
  EXPECT_TRUE(model.ok()) << model.status();
  return std::make_shared<const Model>(*std::move(model));
}

class StatePrograms : public testing::TestWithParam<StateProgram> {
 protected:
  // Both are called; a call that raises may have changed the state before.
  template <typename Compiled>
  void Compare(const Compiled& ours, int64_t rows) {
    at::manual_seed(static_cast<uint64_t>(rows));
    const ValueList arguments({at::randn({rows, 4})});
    const auto result = RunThere(ours, arguments);
    const auto wanted = eager_->RunEager(arguments);
    ASSERT_EQ(result.ok(), wanted.ok())
        << rows << ": " << result.status() << wanted.status();
    if (wanted.ok()) frontend::ExpectClose(*result, *wanted, tolerance_);
    ASSERT_FALSE(HasFailure()) << rows << GetParam().body;
  }

  // A module of `backend`, its calls before it is tuned and after, and those of
  // its checkpoint. LibTorch runs each `eager`th call.
  void GoOn(const std::string& backend, const ConfigDict& config, int64_t first,
            int64_t eager = 1000) {
    const auto folder = frontend::EmptyFolder();
    ait::ModuleOptions module_options{"net", folder / "cache"};
    module_options.device = StateDevice().ToString();
    const auto module = ait::Module::Wrap(Make(GetParam()), module_options);
    const auto compare = [&](const ait::Module& ours, int64_t call,
                             int64_t rows) {
      std::optional<ScopedStance> stance;
      if (call % eager == eager - 1) stance.emplace(Stance::kForceEager);
      Compare(ours, rows);
    };
    frontend::ModelState start(*eager_);
    start.Save();
    Compare(*module, 6);
    ASSERT_TRUE(module->Record(ValueList({at::randn({first, 4})}), 1).ok());
    ait::TuneOptions options;
    options.backends = {{backend, config}};
    options.timing.warmup_rounds = 1;
    options.timing.min_rounds = options.timing.max_rounds = 1;
    const absl::Status tuned = module->Tune(*OneBackend(), options);
    ASSERT_TRUE(tuned.ok()) << tuned;
    for (int64_t i = 0; i < 60; ++i) compare(*module, i, i * 37 % 61 + 1);
    const auto file = folder / "net.aitune";
    ASSERT_TRUE(module->Save(file, BundleFormat::kFile).ok());
    const auto loaded = ait::Module::LoadCheckpoint(file);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    for (int64_t i = 0; i < 60; ++i) compare(**loaded, i, i * 17 % 61 + 1);
    start.Restore();
  }

  const std::shared_ptr<const Model> eager_ = Make(GetParam());
  double tolerance_ = 1e-4;
};

TEST_P(StatePrograms, GoOnAsEagerDoes) {
  for (const int64_t first : {3, 21}) GoOn("TorchInductorBackend", {}, first);
}

TEST_P(StatePrograms, GoOnByTurnsWithEager) {
  GoOn("TorchInductorBackend", {}, 21, /*eager=*/3);
}

// LibTorch runs a copy of the model there, with casts.
TEST_P(StatePrograms, GoOnWithAutocast) {
  tolerance_ = 0.05;
  for (const char* const backend :
       {"TorchInductorBackend", "TorchEagerBackend", "TorchScriptBackend"}) {
    SCOPED_TRACE(backend);
    GoOn(backend,
         {{"autocast_enabled", true}, {"autocast_dtype", DataType::kBFloat16}},
         21);
  }
}

// The state goes to and fro between a model and its copy, as between a CPU and
// a GPU: the copy is on the same device here, but has tensors of its own.
TEST_P(StatePrograms, GoOnInACopyWithOtherTensors) {
  const auto first = Make(GetParam());
  const auto bytes = frontend::ModelBytes(*first);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto second = frontend::ModelFromBytes(*bytes);
  ASSERT_TRUE(second.ok()) << second.status();
  const frontend::ModelState of_first(*first), of_second(*second);
  frontend::ModelState start(*eager_);
  start.Save();
  for (int64_t i = 0; i < 60; ++i) {
    const bool here = i / 3 % 2 == 0;
    if (i % 3 == 0 && i > 0) {
      if (here)
        of_second.CopyTo(*first, Device());
      else
        of_first.CopyTo(*second, Device());
    }
    const int64_t rows = i * 37 % 61 + 1;
    at::manual_seed(static_cast<uint64_t>(rows));
    const ValueList arguments({at::randn({rows, 4})});
    const auto result = (here ? *first : *second).RunEager(arguments);
    const auto wanted = eager_->RunEager(arguments);
    ASSERT_EQ(result.ok(), wanted.ok()) << result.status() << wanted.status();
    if (wanted.ok()) frontend::ExpectClose(*result, *wanted, 0);
    ASSERT_FALSE(HasFailure()) << i << GetParam().body;
  }
  start.Restore();
}

// As the command line compiles: all versions see what any of them changed.
TEST_P(StatePrograms, GoOnInTheVersionsForARange) {
  for (const char* const range : {"float32[1..61,4]", "float32[1..3,4]"}) {
    frontend::ModelState start(*eager_);
    start.Save();
    const auto model = Make(GetParam());
    frontend::ModelInputs inputs;
    inputs.specs = {*frontend::ParseInputSpec(range)};
    frontend::BuildOptions options;
    options.all_sizes = true;
    options.compile.measureCandidates = false;
    options.compile.device = StateDevice().ToString();
    const auto compiled =
        frontend::CompiledModel::Build(*model, inputs, options);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const int64_t largest = inputs.specs[0].axes[0].max;
    for (int64_t i = 0; i < 130; ++i) Compare(**compiled, i * 37 % largest + 1);
    start.Restore();
  }
}

// The state that the versions have is theirs again.
TEST(VersionsOfAModelWithState, AreUsedAgainOnceItIsRestored) {
  const auto model = Make({"", R"(
    if x.size(0) > 4:
        self.mean = self.mean + 1.0
    return x * (self.mean[0] + 1)
)"});
  frontend::ModelState start(*model);
  start.Save();
  frontend::ModelInputs inputs;
  inputs.specs = {*frontend::ParseInputSpec("float32[1..9,4]")};
  frontend::BuildOptions options;
  options.all_sizes = true;
  const auto compiled = frontend::CompiledModel::Build(*model, inputs, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto seen = [&](int64_t rows) {
    const auto result = (*compiled)->Run(ValueList({at::ones({rows, 4})}));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->toTensor()[0][0].item<float>() : -1;
  };
  EXPECT_EQ(seen(2), 1);
  EXPECT_EQ(seen(7), 2);
  EXPECT_EQ(seen(2), 2);
  EXPECT_EQ(seen(3), 2);
  const size_t versions = (*compiled)->versions().size();
  start.Restore();
  EXPECT_EQ(seen(2), 1);
  EXPECT_EQ(seen(6), 2);
  EXPECT_EQ(seen(3), 2);
  EXPECT_EQ((*compiled)->versions().size(), versions);
}

// On a GPU they are queued on two streams, faster than they run.
TEST(CallsOfAModelWithState, AreOneAfterAnotherOnAnyStream) {
  constexpr int kCalls = 30;
  torch::jit::Module module("net");
  module.register_buffer("large", at::zeros({1 << 24}));
  module.define(R"(
def forward(self, x: Tensor):
    self.large.mul_(0.5).add_(x)
    return self.large[:4] * 2.0
)");
  auto model = Model::FromModule(std::move(module));
  ASSERT_TRUE(model.ok()) << model.status();
  frontend::ModelInputs inputs;
  inputs.specs = {*frontend::ParseInputSpec("float32[1]")};
  frontend::BuildOptions options;
  options.compile.device = StateDevice().ToString();
  const auto compiled = frontend::CompiledModel::Build(*model, inputs, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_FALSE((*compiled)->report().LibTorchRunsAll());
  ValueList argument({at::ones({1})});
  if (StateDevice().is_gpu())
    argument = frontend::ToDevice(argument, StateDevice());
  std::vector<c10::IValue> results;
  for (int call = 0; call < kCalls; ++call) {
    const ScopedOtherStream stream;
    const auto result = (*compiled)->Run(argument);
    ASSERT_TRUE(result.ok()) << result.status();
    results.push_back(*result);
  }
  if (StateDevice().is_gpu())
    c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA)
        .synchronizeDevice(static_cast<c10::DeviceIndex>(StateDevice().gpu()));
  float wanted = 0;
  for (int call = 0; call < kCalls; ++call) {
    wanted = wanted * 0.5f + 1;
    const at::Tensor seen = results[static_cast<size_t>(call)].toTensor().cpu();
    EXPECT_TRUE(seen.equal(at::full({4}, wanted * 2))) << call << "\n" << seen;
  }
}

// Each call counts once, whichever thread makes it.
TEST(CallsOfAModelWithState, AreCountedFromManyThreads) {
  constexpr int kThreads = 4, kCalls = 40;
  const auto folder = frontend::EmptyFolder();
  ait::ModuleOptions options{"net", folder / "cache"};
  options.device = StateDevice().ToString();
  const auto module = ait::Module::Wrap(Make({"", R"(
    self.mean.add_(1.0)
    return x * 0 + self.mean[0]
)"}),
                                        options);
  ASSERT_TRUE(module->Record(ValueList({at::ones({2, 4})}), 1).ok());
  ait::TuneOptions tune;
  tune.backends = {{"TorchInductorBackend", {}}};
  tune.timing.warmup_rounds = 1;
  tune.timing.min_rounds = tune.timing.max_rounds = 1;
  ASSERT_TRUE(module->Tune(*OneBackend(), tune).ok());
  std::mutex mutex;
  std::set<float> seen;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int call = 0; call < kCalls; ++call) {
        // Sizes of several versions.
        const auto result = RunThere(
            *module, ValueList({at::ones({1 + (thread + call) % 3, 4})}));
        const std::lock_guard<std::mutex> lock(mutex);
        ASSERT_TRUE(result.ok()) << result.status();
        const at::Tensor count = result->toTensor();
        EXPECT_EQ(count.min().item<float>(), count.max().item<float>());
        seen.insert(count[0][0].item<float>());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen.size(), size_t{kThreads * kCalls});
  EXPECT_EQ(*seen.rbegin(), kThreads * kCalls);
}

INSTANTIATE_TEST_SUITE_P(Programs, StatePrograms, testing::ValuesIn(kPrograms),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace aitune::sizes
