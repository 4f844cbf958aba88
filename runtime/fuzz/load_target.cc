#include "runtime/fuzz/load_target.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/bundle.pb.h"
#include "runtime/cpu/kernel_abi.h"
#include "runtime/cpu/kernel_loader.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/test_plan.h"
#include "runtime/fuzz/fuzzed_plans.h"
#include "runtime/hash/sha256.h"
#include "runtime/plan/plan.h"

namespace aitune {
namespace {

// The most bytes of one tensor that a call is made with: larger ones would test
// the machine's memory.
constexpr int64_t kMostBytes = 1 << 15;

// The most steps of a plan, and of its kernels: no call of this process is to
// wait for one of a larger size.
constexpr int kMostSteps = 100, kMostKernels = 16;

// The bytes of a tensor whose sizes come from the input; 0 where they overflow.
int64_t CheckedBytes(const TensorView& view) {
  const absl::StatusOr<int64_t> bytes = TensorBytes(view.dtype, view.sizes);
  return bytes.ok() ? *bytes : 0;
}

// Reads all of a tensor: what is beyond its memory, the sanitizer sees.
unsigned Read(const TensorView& view) {
  const int64_t bytes = CheckedBytes(view);
  if (bytes == 0) return 1;
  const std::string copy(static_cast<const char*>(view.data), bytes);
  return 1 + static_cast<unsigned char>(copy.front()) +
         static_cast<unsigned char>(copy.back());
}

// Writes all of a tensor.
void Write(unsigned value, const TensorView& view) {
  if (const int64_t bytes = CheckedBytes(view); bytes > 0)
    std::memset(view.data, static_cast<int>(value & 0x7f), bytes);
}

void Check(bool holds, const char* what) {
  if (holds) return;
  std::cerr << what << "\n";
  std::abort();
}

// What a region says of its operands.
struct RegionKind {
  bool owns_outputs = false, lends_outputs = false, writes_inputs = false;
};

// Reads all of its inputs and writes all of its outputs.
class TouchingRegion : public FallbackRegion {
 public:
  explicit TouchingRegion(RegionKind kind) : kind_(kind) {}
  ~TouchingRegion() override {
    Check(std::all_of(lent_.begin(), lent_.end(),
                      [](const auto& memory) {
                        return std::count(memory->begin(), memory->end(),
                                          kLent) == kMostBytes;
                      }),
          "memory that a region lends was written");
  }
  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    unsigned sum = 0;
    for (const RegionValue& input : inputs) {
      const auto* view = std::get_if<TensorView>(&input);
      if (view == nullptr) continue;
      sum += Read(*view);
      if (kind_.writes_inputs) Write(sum, *view);
    }
    for (RegionValue& output : outputs) {
      if (auto* view = std::get_if<TensorView>(&output)) {
        if (view->data == nullptr && kind_.lends_outputs) {
          if (CheckedBytes(*view) > kMostBytes)
            return absl::UnimplementedError("too large to lend");
          lent_.push_back(std::make_unique<std::array<char, kMostBytes>>());
          lent_.back()->fill(kLent);
          view->data = lent_.back()->data();
        } else {
          Write(sum, *view);
        }
      } else {
        output = std::make_shared<int>(static_cast<int>(sum));
      }
    }
    return absl::OkStatus();
  }
  bool OwnsOutput(int) const override { return kind_.owns_outputs; }
  bool LendsOutput(int) const override { return kind_.lends_outputs; }
  bool WritesInput(int) const override { return kind_.writes_inputs; }

 private:
  const RegionKind kind_;
  static constexpr char kLent = 5;
  mutable std::vector<std::unique_ptr<std::array<char, kMostBytes>>> lent_;
};

std::vector<std::unique_ptr<FallbackRegion>> Regions() {
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  for (const RegionKind kind :
       {RegionKind{}, RegionKind{true, false, false},
        RegionKind{false, true, false}, RegionKind{false, false, true}})
    regions.push_back(std::make_unique<TouchingRegion>(kind));
  return regions;
}

// The plan whose kernels run, and its steps that are "kernel", in order: code
// is told nothing of what it is given.
struct RunningPlan {
  const ExecutablePlan* plan = nullptr;
  std::vector<const Step*> kernels;
};
RunningPlan running;

bool Overlap(const TensorView& a, const TensorView& b) {
  const auto *from = static_cast<const char*>(a.data),
             *other = static_cast<const char*>(b.data);
  return from < other + CheckedBytes(b) && other < from + CheckedBytes(a);
}

// Runs a kernel of the running plan: reads and writes all of its operands, and
// fails some of its checks. What it writes is memory of its own, unless the
// plan says that it is an alias.
void Touch(const Step& step, void* const* buffers, const int64_t* symbols) {
  const ExecutablePlan& plan = *running.plan;
  std::vector<TensorView> views;
  std::vector<int32_t> values(step.inputs().begin(), step.inputs().end());
  values.insert(values.end(), step.outputs().begin(), step.outputs().end());
  for (const int32_t value : values) {
    views.push_back({buffers[views.size()], DataType::kFloat32, {0}});
    const auto type = FromProto(plan.values(value).type(), plan.symbols_size());
    auto sizes = EvaluateSizes(
        type->sizes, absl::MakeConstSpan(symbols, plan.symbols_size()));
    if (!sizes.ok()) continue;
    views.back().dtype = type->dtype;
    views.back().sizes = *std::move(sizes);
  }
  const std::vector<int32_t> roots = StorageRoots(plan);
  for (size_t i = step.inputs_size(); i < values.size(); ++i) {
    for (size_t other = 0; other < i; ++other)
      Check(roots[values[i]] == roots[values[other]] ||
                !Overlap(views[i], views[other]),
            "a kernel writes to the memory of another of its operands");
  }
  unsigned sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i < static_cast<size_t>(step.inputs_size()))
      sum += Read(views[i]);
    else
      Write(sum, views[i]);
  }
  if (step.checks().empty()) return;
  auto* checks = static_cast<KernelCheck*>(buffers[values.size()]);
  for (int i = 0; i < step.checks_size(); ++i)
    checks[i] = {(sum + i) % 3 == 1, static_cast<int64_t>(sum)};
}

// The code of kernel `number` of the running plan, whose work is one unit's.
template <int number>
void TouchingKernel(void* const* buffers, const int64_t* symbols, int64_t begin,
                    int64_t) {
  if (begin == 0) Touch(*running.kernels[number], buffers, symbols);
}

template <int... numbers>
std::map<std::string, KernelFunction> KernelsOf(
    std::integer_sequence<int, numbers...>) {
  return {{"kernel" + std::to_string(numbers), TouchingKernel<numbers>}...};
}

// Gives each step that is "kernel" code of its own, and others none.
void NumberKernels(google::protobuf::RepeatedPtrField<Step>& steps) {
  for (Step& step : steps) {
    if (!step.has_kernel()) continue;
    if (step.kernel().symbol() != "kernel") {
      step.mutable_kernel()->set_symbol("none");
      continue;
    }
    step.mutable_kernel()->set_symbol("kernel" +
                                      std::to_string(running.kernels.size()));
    running.kernels.push_back(&step);
  }
}

// A call with inputs of the sizes that these values of the symbols give.
bool Call(const CpuExecutable& executable, const ExecutablePlan& plan,
          absl::Span<const int64_t> symbols) {
  if (!IsSmall(plan, symbols, kMostBytes)) return false;
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
    if (plan.outputs(i).dtype() == 0 || executable.GivesOutput(i)) {
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
  if (plan.steps_size() > kMostSteps || plan.values_size() > kMostSteps)
    return {};
  running = {&plan, {}};
  NumberKernels(*plan.mutable_initialization());
  NumberKernels(*plan.mutable_steps());
  std::vector<int64_t> least, most;
  for (const SymbolProto& symbol : plan.symbols()) {
    least.push_back(symbol.min());
    most.push_back(symbol.max());
  }
  // Loading runs the initialization.
  if (!IsSmall(plan, least, kMostBytes)) plan.clear_initialization();
  static const auto kernels = std::make_shared<FakeKernels>(
      KernelsOf(std::make_integer_sequence<int, kMostKernels>()));
  auto executable =
      CpuExecutable::Load(plan, kernels, SeedConstants(), Regions());
  if (!executable.ok()) return {};
  const bool ran = Call(**executable, plan, least);
  return {true, Call(**executable, plan, most) || ran};
}

constexpr size_t kBlobBytes = 100;  // the size of each blob of the seed

// With the zeros that are behind each part of a bundle of one file.
std::string Padded(std::string part) {
  part.resize((part.size() + 63) / 64 * 64);
  return part;
}

// A bundle of one file with this index, and what SeedIndex says of.
std::string WithHead(std::string_view index) {
  const Sha256Digest digest = Sha256Of(index);
  std::string bytes = "AITUNEB1";
  for (int i = 0; i < 8; ++i)
    bytes.push_back(static_cast<char>(uint64_t{index.size()} >> (8 * i)));
  bytes.append(digest.begin(), digest.end());
  bytes += index;
  const std::string blob = Padded(std::string(kBlobBytes, 'x'));
  return Padded(std::move(bytes)) + blob + blob;
}

std::string SeedIndex() {
  const std::string blob(kBlobBytes, 'x');
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
          FuzzInput(FuzzedForm::kPlan, MatmulPlan().SerializeAsString()),
          FuzzInput(FuzzedForm::kPlan, ConvolutionPlan().SerializeAsString())};
}

}  // namespace aitune
