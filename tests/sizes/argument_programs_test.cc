// Programs whose sizes come from other arguments than tensors, numbers, flags,
// texts, None, lists and dicts, agree with eager whatever the calls before were
// given, as a module and as a checkpoint.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontend/api/module.h"
#include "frontend/testing/models.h"

namespace aitune::sizes {
namespace {

using frontend::Model;
using frontend::ValueList;
using Values = std::vector<c10::IValue>;

struct ArgumentProgram {
  const char* name;
  const char* source;
  // The arguments of call number i, of which the first is the sample.
  std::function<Values(int)> arguments;
};

at::Tensor Rows(int64_t rows) {
  at::manual_seed(static_cast<uint64_t>(rows));
  return at::randn({rows, 4});
}

c10::IValue ListOf(const std::vector<int64_t>& rows) {
  c10::List<at::Tensor> list;
  for (const int64_t count : rows) list.push_back(Rows(count));
  return list;
}

c10::IValue DictOf(const std::vector<std::pair<std::string, int64_t>>& rows) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const auto& [name, count] : rows) dict.insert(name, Rows(count));
  return dict;
}

const ArgumentProgram kPrograms[] = {
    {"number_as_length", R"(
def forward(self, x: Tensor, k: int):
    return torch.topk(x, min(k, x.size(0)), 0)[0], x[:k], x[-k:], torch.zeros([k, 2])
)",
     [](int i) { return Values{Rows(i % 7 + 3), int64_t{i % 5 + 1}}; }},
    {"number_of_rounds", R"(
def forward(self, x: Tensor, rounds: int):
    for i in range(rounds):
        x = torch.tanh(x) + i
    return x, rounds * x.size(0)
)",
     [](int i) { return Values{Rows(i % 4 + 1), int64_t{i % 6}}; }},
    {"flag_and_text", R"(
def forward(self, x: Tensor, causal: bool, mode: str):
    s = x @ x.t()
    if causal:
        s = torch.tril(s)
    if mode == "mean":
        return s.mean(0)
    elif mode == "sum":
        return s.sum(0)
    return s
)",
     [](int i) {
       const char* const modes[] = {"mean", "sum", "none", ""};
       return Values{Rows(i % 5 + 1), i % 2 == 0, modes[i % 4]};
     }},
    {"fraction", R"(
def forward(self, x: Tensor, part: float):
    n = int(x.size(0) * part)
    return x[:n] * part, x[n:]
)",
     [](int i) { return Values{Rows(i % 9 + 2), 0.125 * (i % 8)}; }},
    {"mask_or_none", R"(
def forward(self, x: Tensor, mask: Optional[Tensor]):
    s = x @ x.t()
    if mask is not None:
        s = s.masked_fill(mask[:x.size(0)].unsqueeze(0) > 0, -1000.0)
    return torch.softmax(s, -1)
)",
     [](int i) {
       return Values{Rows(i % 6 + 2), i % 3 == 1
                                          ? c10::IValue()
                                          : c10::IValue(Rows(8).select(1, 0))};
     }},
    {"list_of_lengths", R"(
def forward(self, parts: List[Tensor]):
    longest = 0
    for p in parts:
        longest = max(longest, p.size(0))
    rows: List[Tensor] = []
    for p in parts:
        rows.append(torch.cat([p, p.new_zeros([longest - p.size(0), 4])]))
    return torch.stack(rows), len(parts)
)",
     [](int i) {
       std::vector<int64_t> rows = {i % 5 + 1, i % 3 + 2};
       if (i % 4 == 3) rows.push_back(i % 7 + 1);
       return Values{ListOf(rows)};
     }},
    {"dictionary_of_tensors", R"(
def forward(self, batch: Dict[str, Tensor]):
    x = batch["x"]
    if "y" in batch:
        x = torch.cat([x, batch["y"]])
    return {"out": x * 2, "n": torch.tensor(x.size(0))}
)",
     [](int i) {
       std::vector<std::pair<std::string, int64_t>> rows = {{"x", i % 6 + 1}};
       if (i % 3 != 2) rows.emplace_back("y", i % 4 + 1);
       return Values{DictOf(rows)};
     }},
    {"sizes_as_a_list", R"(
def forward(self, x: Tensor, sizes: List[int]):
    parts = x.split(sizes)
    return parts[-1], parts[0].sum(), len(parts)
)",
     [](int i) {
       const int64_t a = i % 4 + 1, b = i % 3 + 1;
       return Values{Rows(a + b), c10::List<int64_t>({a, b})};
     }},
    {"pair_of_numbers", R"(
def forward(self, x: Tensor, size: Tuple[int, int]):
    h, w = size
    return x.t().reshape([4, h, w]).sum(2), h * w == x.size(0)
)",
     [](int i) {
       const int64_t h = i % 4 + 1, w = i % 3 + 2;
       return Values{Rows(h * w), c10::ivalue::Tuple::create({h, w})};
     }},
    {"offset_of_positions", R"(
def forward(self, x: Tensor, past: int, scale: Optional[float]):
    position = torch.arange(past, past + x.size(0)).unsqueeze(1)
    y = x + position * 0.1
    if scale is not None:
        y = y * scale
    return y[past % 3:]
)",
     [](int i) {
       return Values{Rows(i % 5 + 3), int64_t{3 * i},
                     i % 4 == 2 ? c10::IValue() : c10::IValue(0.5 * (i % 3))};
     }},
    {"nested", R"(
def forward(self, x: Tensor, state: Tuple[Tensor, List[Tensor]]):
    h, cache = state
    for c in cache:
        h = h + c[:h.size(0)].sum(0)
    return x @ h.t(), (h, [c[1:] for c in cache])
)",
     [](int i) {
       return Values{Rows(i % 5 + 1),
                     c10::ivalue::Tuple::create(
                         {Rows(i % 3 + 1),
                          i % 4 == 3 ? ListOf({3}) : ListOf({2, i % 4 + 3})})};
     }},
};

class ArgumentPrograms : public testing::TestWithParam<ArgumentProgram> {
 protected:
  void Compare(const ait::Module& ours, const std::string& which) const {
    // Up and down, each call twice.
    for (int i = 0; i < 48; ++i) {
      const int number = i % 2 == 0 ? i / 2 : 24 - i / 2;
      const ValueList arguments(GetParam().arguments(number));
      const auto eager = model_->RunEager(arguments);
      for (int call = 0; call < 2; ++call) {
        const auto result = ours.Run(arguments);
        ASSERT_EQ(result.ok(), eager.ok())
            << which << ", call " << number << ": " << result.status()
            << eager.status();
        if (eager.ok()) frontend::ExpectClose(*result, *eager, 1e-4);
        ASSERT_FALSE(HasFailure())
            << which << ", call " << number << GetParam().source;
      }
    }
  }

  const std::shared_ptr<const Model> model_ =
      std::make_shared<const Model>(frontend::ModelOf(GetParam().source));
};

TEST_P(ArgumentPrograms, AgreeAfterCallsOfOthers) {
  const auto folder = frontend::EmptyFolder();
  const auto module = ait::Module::Wrap(model_, {"net", folder / "cache"});
  Compare(*module, "before it is tuned");
  const auto tuned = ait::Module::Wrap(model_, {"net", folder / "cache"});
  ASSERT_TRUE(tuned->Record(ValueList(GetParam().arguments(0)), 1).ok());
  ait::TuneOptions options;
  options.backends = {{"TorchInductorBackend", {}}};
  options.timing.warmup_rounds = 1;
  options.timing.min_rounds = options.timing.max_rounds = 1;
  const absl::Status status = tuned->Tune(*OneBackend(), options);
  ASSERT_TRUE(status.ok()) << status;
  Compare(*tuned, "a module");
  const auto file = folder / "net.aitune";
  ASSERT_TRUE(tuned->Save(file, BundleFormat::kFile).ok());
  const auto loaded = ait::Module::LoadCheckpoint(file);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Compare(**loaded, "a checkpoint");
}

INSTANTIATE_TEST_SUITE_P(Programs, ArgumentPrograms,
                         testing::ValuesIn(kPrograms), [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace aitune::sizes
