#include "runtime/fuzz/load_target.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/bundle.pb.h"
#include "runtime/cpu/kernel_loader.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/test_plan.h"
#include "runtime/hash/sha256.h"
#include "runtime/plan/plan.h"

namespace aitune {
namespace {

// The most bytes of one tensor that a call is made with: larger ones would test
// the machine's memory.
constexpr int64_t kMostBytes = 1 << 16;

// The bytes of a tensor whose sizes come from the input; 0 where they overflow.
int64_t CheckedBytes(const TensorView& view) {
  const absl::StatusOr<int64_t> bytes = TensorBytes(view.dtype, view.sizes);
  return bytes.ok() ? *bytes : 0;
}

// Reads all of its inputs and writes all of its outputs: what is beyond their
// memory, the sanitizer sees.
class TouchingRegion : public FallbackRegion {
 public:
  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    unsigned sum = 0;
    for (const RegionValue& input : inputs) {
      const auto* view = std::get_if<TensorView>(&input);
      if (view == nullptr) continue;
      const auto* bytes = static_cast<const unsigned char*>(view->data);
      for (int64_t i = 0; i < CheckedBytes(*view); ++i) sum += bytes[i];
    }
    for (RegionValue& output : outputs) {
      if (auto* view = std::get_if<TensorView>(&output)) {
        if (const int64_t bytes = CheckedBytes(*view); bytes > 0)
          std::memset(view->data, static_cast<int>(sum & 0x7f), bytes);
      } else {
        output = std::make_shared<int>(static_cast<int>(sum));
      }
    }
    return absl::OkStatus();
  }
};

// A call with inputs of the smallest sizes that the plan allows.
bool Call(const Executable& executable, const ExecutablePlan& plan) {
  std::vector<int64_t> symbols;
  for (const SymbolProto& symbol : plan.symbols())
    symbols.push_back(symbol.min());
  std::vector<std::unique_ptr<char[]>> memory;
  const auto tensor = [&](DataType dtype, std::vector<int64_t> sizes,
                          TensorView& view) {
    const absl::StatusOr<int64_t> bytes = TensorBytes(dtype, sizes);
    if (!bytes.ok() || *bytes > kMostBytes) return false;
    // Exactly as much as it needs, so that more is seen.
    memory.push_back(std::make_unique<char[]>(*bytes));
    view = {memory.back().get(), dtype, std::move(sizes)};
    return true;
  };
  std::vector<TensorView> inputs(plan.inputs_size());
  for (int i = 0; i < plan.inputs_size(); ++i) {
    const auto type = FromProto(plan.inputs(i), plan.symbols_size());
    if (!type.ok()) return false;
    auto sizes = EvaluateSizes(type->sizes, symbols);
    if (!sizes.ok() || !tensor(type->dtype, *std::move(sizes), inputs[i]))
      return false;
  }
  const auto sizes = executable.OutputSizes(inputs);
  if (!sizes.ok()) return false;
  std::vector<RegionValue> outputs;
  for (int i = 0; i < plan.outputs_size(); ++i) {
    if (plan.outputs(i).dtype() == 0) {
      outputs.emplace_back(OpaqueValue());
      continue;
    }
    TensorView view;
    if (!tensor(static_cast<DataType>(plan.outputs(i).dtype()), (*sizes)[i],
                view))
      return false;
    outputs.emplace_back(std::move(view));
  }
  return executable.Run(inputs, absl::MakeSpan(outputs)).ok();
}

FuzzOutcome LoadPlan(std::string_view bytes) {
  ExecutablePlan plan;
  if (!plan.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return {};
  // No call of this process is to wait for one of a larger size.
  if (plan.steps_size() > 100 || plan.values_size() > 100) return {};
  std::vector<ConstantTensor> constants = {
      FloatConstant(std::vector<float>(16), {16}, "bias"),
      FloatConstant(std::vector<float>(16 * 32), {16, 32}, "weights")};
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<TouchingRegion>());
  auto kernels =
      std::make_shared<FakeKernels>(std::map<std::string, KernelFunction>{
          {"nothing", [](void* const*, const int64_t*, int64_t, int64_t) {}}});
  auto executable = CpuExecutable::Load(
      plan, std::move(kernels), std::move(constants), std::move(regions));
  if (!executable.ok()) return {};
  return {true, Call(**executable, plan)};
}

// A bundle of one file with this index.
std::string WithHead(std::string_view index) {
  const Sha256Digest digest = Sha256Of(index);
  std::string bytes = "AITUNEB1";
  for (int i = 0; i < 8; ++i)
    bytes.push_back(static_cast<char>(uint64_t{index.size()} >> (8 * i)));
  bytes.append(digest.begin(), digest.end());
  bytes += index;
  bytes.resize((bytes.size() + 63) / 64 * 64);
  return bytes + std::string(256, 'x');
}

ExecutablePlan SeedPlan() {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 8, 0, 0);
  const int x = t.Input({s0, 16});
  const int y = t.Arena({s0, 16}), z = t.Arena({s0, 16});
  const int flat = t.Alias(z, {s0 * 16});
  const int result = t.Output({s0 * 16});
  const int product = t.Output({s0, 32});
  const int opaque = t.Opaque();
  t.Fallback(0, {x, t.Constant(0, {16})}, {y, opaque});
  t.Kernel("nothing", {y}, {z}, s0);
  t.AddStep({y, t.Constant(1, {16, 32})}, {product})->mutable_matmul();
  t.Fallback(0, {flat, opaque}, {result});
  return t.plan;
}

std::string SeedIndex() {
  const std::string blob(100, 'x');
  const Sha256Digest digest = Sha256Of(blob);
  BundleIndexProto index;
  for (const char* name : {"checkpoint", "artifacts/version0"}) {
    BundleEntryProto& entry = *index.add_entries();
    entry.set_name(name);
    entry.set_size(blob.size());
    entry.set_offset(128 * (index.entries_size() - 1));
    entry.set_sha256(std::string(digest.begin(), digest.end()));
  }
  return index.SerializeAsString();
}

}  // namespace

FuzzOutcome LoadAndRunBytes(std::string_view input) {
  if (input.empty()) return {};
  const std::string_view bytes = input.substr(1);
  switch (static_cast<FuzzedForm>(input[0])) {
    case FuzzedForm::kBundle:
      return {ParseBundle(bytes, std::nullopt, "fuzzed").ok(), false};
    case FuzzedForm::kBundleIndex:
      return {ParseBundle(WithHead(bytes), std::nullopt, "fuzzed").ok(), false};
    case FuzzedForm::kObject:
      return {LoadKernels({std::string(bytes)}).ok(), false};
    case FuzzedForm::kPlan:
      return LoadPlan(bytes);
  }
  return {};
}

std::string FuzzInput(FuzzedForm form, std::string_view bytes) {
  return std::string(1, static_cast<char>(form)) + std::string(bytes);
}

std::vector<std::string> SeedInputs() {
  return {FuzzInput(FuzzedForm::kBundle, WithHead(SeedIndex())),
          FuzzInput(FuzzedForm::kBundleIndex, SeedIndex()),
          FuzzInput(FuzzedForm::kPlan, SeedPlan().SerializeAsString())};
}

}  // namespace aitune
