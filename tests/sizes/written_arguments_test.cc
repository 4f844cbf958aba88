// Programs that write to their arguments leave these as eager does, at all
// sizes, as a module and as a checkpoint, whatever memory the arguments share.
//
// By hand: --test_env=AITUNE_STATE_DEVICE=cuda for modules on a GPU, to which
// the arguments are copied, and back.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/module.h"
#include "frontend/testing/models.h"
#include "tests/sizes/state_device.h"

namespace aitune::sizes {
namespace {

using frontend::Model;
using frontend::ValueList;
using Values = std::vector<c10::IValue>;

at::Tensor Rows(int64_t rows) {
  at::manual_seed(static_cast<uint64_t>(rows));
  return at::randn({rows, 4});
}

struct Program {
  const char* name;
  const char* source;
  // The arguments of call number i, made anew each time. The first is the
  // sample.
  std::function<Values(int)> arguments;
  bool is_compiled = true;  // for the sample
  // On the same tensors. What a call makes of the caller's sizes and strides is
  // eager's alone.
  int calls = 2;
};

Values WithCache(int i) {
  return {Rows(i % 7 + 1).unsqueeze(1), at::ones({i % 7 + 1, 8, 4}),
          at::tensor({i % 8}, at::kLong)};
}

const Program kPrograms[] = {
    {"cache_of_keys", R"(
def forward(self, x: Tensor, cache: Tensor, place: Tensor):
    cache.index_copy_(1, place, x)
    return (x @ cache.transpose(1, 2)).softmax(-1) @ cache
)",
     WithCache},
    {"two_tensors", R"(
def forward(self, x: Tensor, c: Tensor):
    before = c.sum(0)
    c[1:].mul_(0.5)
    c.add_(x)
    return before, torch.relu(c) @ x.t(), c
)",
     [](int i) { return Values{Rows(i % 6 + 1), Rows(i % 6 + 1) * 2}; }},
    {"one_tensor_twice", R"(
def forward(self, x: Tensor, c: Tensor):
    c.add_(x).mul_(0.75)
    return torch.tanh(x @ c.t()), x * 1
)",
     [](int i) {
       const at::Tensor x = Rows(i % 6 + 1);
       return i % 3 == 1 ? Values{x, x} : Values{x, Rows(i % 6 + 1).abs()};
     }},
    {"parts_of_one_tensor", R"(
def forward(self, x: Tensor, c: Tensor):
    c[0].copy_(x[0] * 0.5)
    return (x * 2 + 1).exp(), c.sum(-1)
)",
     [](int i) {
       const at::Tensor whole = Rows(i % 6 + 4);
       const int64_t half = whole.size(0) / 2;
       return i % 2 == 0 ? Values{whole.narrow(0, 0, half),
                                  whole.narrow(0, half, half)}
                         : Values{whole.narrow(0, 0, half),
                                  whole.narrow(0, half - 1, half)};
     }},
    {"not_contiguous", R"(
def forward(self, x: Tensor, c: Tensor):
    c.sub_(x)
    return torch.sigmoid(c) * x
)",
     [](int i) {
       const at::Tensor c = Rows(i % 6 + 1);
       return Values{Rows(i % 6 + 1), i % 3 == 1 ? c.t().clone().t()
                                      : i % 3 == 2
                                          ? c.repeat({1, 2}).slice(1, 0, 8, 2)
                                          : c};
     }},
    // Eager refuses to write to one whose elements share memory.
    {"expanded", R"(
def forward(self, x: Tensor, c: Tensor):
    y = torch.cat([x, c])
    torch.chunk(y, 2)[0].relu_()
    if x.size(0) > 3:
        c.mul_(0.5)
    return y @ c.t()
)",
     [](int i) {
       const int64_t rows = i % 6 + 1;
       return Values{Rows(rows),
                     i % 2 == 0 ? Rows(rows) : Rows(1).expand({rows, 4})};
     }},
    {"lists_of_caches", R"(
def forward(self, x: Tensor, caches: List[Tuple[Tensor, Tensor]]):
    for keys, values in caches:
        keys[:, -1].copy_(x)
        values[:, -1].copy_(x * 2)
        x = (keys * values).sum(1)
    return x
)",
     [](int i) {
       const int64_t rows = i % 5 + 1;
       c10::List<std::tuple<at::Tensor, at::Tensor>> caches;
       for (int layer = 0; layer < 2; ++layer)
         caches.push_back({at::ones({rows, 3, 4}), at::ones({rows, 3, 4})});
       return Values{Rows(rows), caches};
     }},
    {"a_dictionary_and_a_list", R"(
def forward(self, x: Tensor, d: Dict[str, Tensor], l: List[Tensor]):
    d["k"] = d["k"] + x
    d["k"].add_(1)
    l.append(x * 2)
    return d["k"] * len(l)
)",
     [](int i) {
       c10::Dict<std::string, at::Tensor> dict;
       dict.insert("k", Rows(i % 4 + 1));
       return Values{Rows(i % 4 + 1), dict, c10::List<at::Tensor>({Rows(2)})};
     }},
    {"an_error_behind_a_write", R"(
def forward(self, x: Tensor, c: Tensor, i: Tensor):
    c.add_(1)
    return (x * c)[i] * 2
)",
     [](int i) {
       return Values{Rows(4), Rows(4), at::tensor({i % 7}, at::kLong)};
     }},
    {"other_sizes", R"(
def forward(self, x: Tensor, c: Tensor):
    c.t_()
    c.add_(1)
    return x @ c
)",
     [](int) { return Values{Rows(4), Rows(4)}; },
     /*is_compiled=*/false,
     /*calls=*/1},
};

// The memory of tensors, whatever becomes of their sizes.
Values Memory(const ValueList& arguments) {
  Values memory;
  for (const c10::IValue& value : arguments.values())
    memory.push_back(value.isTensor() ? value.toTensor().alias() : value);
  return memory;
}

class WrittenArguments : public testing::TestWithParam<Program> {
 protected:
  void Compare(const ait::Module& ours, const std::string& which) const {
    for (int i = 0; i < 40; ++i) {
      const int number = i % 2 == 0 ? i / 2 : 20 - i / 2;
      const ValueList our_arguments(GetParam().arguments(number)),
          eagers(GetParam().arguments(number));
      const Values our_memory = Memory(our_arguments),
                   eagers_memory = Memory(eagers);
      for (int call = 0; call < GetParam().calls; ++call) {
        SCOPED_TRACE(absl::StrCat(which, ", arguments ", number, ", call ",
                                  call, GetParam().source));
        auto result = ours.Run(our_arguments);
        // What a GPU finds is told once the result is there.
        if (result.ok() && StateDevice().is_gpu()) {
          result = frontend::ToCpu(*result);
          if (const absl::Status found = ours.TakeFailedCheck(); !found.ok())
            result = found;
        }
        const auto eager = model_->RunEager(eagers);
        ASSERT_EQ(result.ok(), eager.ok()) << result.status() << eager.status();
        if (eager.ok()) frontend::ExpectClose(*result, *eager, 1e-4);
        for (size_t a = 0; a < eagers_memory.size(); ++a)
          frontend::ExpectClose(our_memory[a], eagers_memory[a], 1e-4);
        ASSERT_FALSE(HasFailure());
      }
    }
  }

  const std::shared_ptr<const Model> model_ =
      std::make_shared<const Model>(frontend::ModelOf(GetParam().source));
};

TEST_P(WrittenArguments, AreAsEagerLeavesThem) {
  if (StateDevice().is_gpu() &&
      std::string(GetParam().name) == "an_error_behind_a_write")
    GTEST_SKIP() << "LibTorch's own check of an index ends the use of the GPU";
  const auto folder = frontend::EmptyFolder();
  ait::ModuleOptions module_options = {"net", folder / "cache"};
  module_options.device = StateDevice().ToString();
  const auto module = ait::Module::Wrap(model_, module_options);
  Compare(*module, "before it is tuned");
  ASSERT_TRUE(module->Record(ValueList(GetParam().arguments(0)), 1).ok());
  ait::TuneOptions options;
  options.backends = {{"TorchInductorBackend", {}}};
  options.timing.warmup_rounds = 1;
  options.timing.min_rounds = options.timing.max_rounds = 1;
  const absl::Status status = module->Tune(*OneBackend(), options);
  ASSERT_TRUE(status.ok()) << status;
  const std::string report = ReportJson(module->report());
  EXPECT_EQ(report.find("aitune::model") == std::string::npos,
            GetParam().is_compiled)
      << report;
  Compare(*module, "a module");
  const auto file = folder / "net.aitune";
  ASSERT_TRUE(module->Save(file, BundleFormat::kFile).ok());
  const auto loaded = ait::Module::LoadCheckpoint(file);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Compare(**loaded, "a checkpoint");
}

INSTANTIATE_TEST_SUITE_P(Programs, WrittenArguments,
                         testing::ValuesIn(kPrograms), [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace aitune::sizes
