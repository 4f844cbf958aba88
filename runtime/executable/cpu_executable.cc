#include "runtime/executable/cpu_executable.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/executable/input_binding.h"
#include "runtime/executable/instance.h"
#include "runtime/executable/loaded_plan.h"
#include "runtime/executable/result_pool.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

// The most instances (combinations of sizes) that are kept. An instance is
// small: it holds compiled primitives and tables, and borrows its memory from
// the plan's arenas.
constexpr size_t kMaxInstances = 64;

// The symbols' values, then the number of threads: library primitives are
// planned for it.
using Key = absl::InlinedVector<int64_t, 16>;

}  // namespace

struct CpuExecutable::Impl {
  struct Entry {
    Key key;
    std::shared_ptr<const Instance> instance;
    uint64_t last_use = 0;
  };

  Impl(std::unique_ptr<LoadedPlan> loaded, InputBinding binding)
      : plan(std::move(loaded)), binding(std::move(binding)) {}

  // The instance for a key, made if there is none.
  absl::StatusOr<std::shared_ptr<const Instance>> Get(const Key& key);
  std::shared_ptr<const Instance> Find(const Key& key);
  // The instance for inputs, which it checks.
  absl::StatusOr<std::shared_ptr<const Instance>> Get(
      absl::Span<const TensorView> inputs);

  const std::unique_ptr<LoadedPlan> plan;
  const InputBinding binding;
  ResultPool results;

  std::mutex mutex;  // held for a search only
  std::vector<Entry> entries;
  size_t hint = 0;  // the entry found last
  uint64_t uses = 0;
  std::mutex creation_mutex;  // held while an instance is made
};

std::shared_ptr<const Instance> CpuExecutable::Impl::Find(const Key& key) {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = entries[(hint + i) % entries.size()];
    if (entry.key != key) continue;
    hint = (hint + i) % entries.size();
    entry.last_use = ++uses;
    return entry.instance;
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const Instance>> CpuExecutable::Impl::Get(
    const Key& key) {
  if (std::shared_ptr<const Instance> found = Find(key)) return found;
  std::lock_guard<std::mutex> creation_lock(creation_mutex);
  // Another caller may have made it in the meantime.
  if (std::shared_ptr<const Instance> found = Find(key)) return found;
  AITUNE_ASSIGN_OR_RETURN(
      std::shared_ptr<const Instance> instance,
      Instance::Create(*plan, /*initialization=*/false,
                       absl::MakeConstSpan(key).first(key.size() - 1),
                       static_cast<int>(key.back())));
  std::shared_ptr<const Instance> evicted;  // destroyed without the lock
  std::lock_guard<std::mutex> lock(mutex);
  if (entries.size() == kMaxInstances) {
    auto oldest = std::min_element(
        entries.begin(), entries.end(),
        [](const Entry& a, const Entry& b) { return a.last_use < b.last_use; });
    evicted = std::move(oldest->instance);
    *oldest = Entry{key, instance, ++uses};
  } else {
    entries.push_back({key, instance, ++uses});
  }
  return instance;
}

absl::StatusOr<std::shared_ptr<const Instance>> CpuExecutable::Impl::Get(
    absl::Span<const TensorView> inputs) {
  Key key(binding.symbol_count() + 1);
  AITUNE_RETURN_IF_ERROR(
      binding.Bind(inputs, absl::MakeSpan(key).first(key.size() - 1)));
  key.back() = LibraryThreadCount();
  return Get(key);
}

CpuExecutable::CpuExecutable(std::unique_ptr<Impl> impl)
    : Executable(*impl->plan, impl->binding), impl_(std::move(impl)) {}
CpuExecutable::~CpuExecutable() = default;

absl::StatusOr<std::unique_ptr<CpuExecutable>> CpuExecutable::Load(
    ExecutablePlan plan, std::shared_ptr<const KernelLibrary> kernels,
    std::vector<ConstantTensor> constants,
    std::vector<std::unique_ptr<FallbackRegion>> regions) {
  AITUNE_ASSIGN_OR_RETURN(
      std::unique_ptr<LoadedPlan> loaded,
      LoadedPlan::Load(std::move(plan), std::move(kernels),
                       std::move(constants), std::move(regions)));
  if (!loaded->initialization().empty()) {
    AITUNE_ASSIGN_OR_RETURN(
        const std::unique_ptr<Instance> initialization,
        Instance::Create(*loaded, /*initialization=*/true, {}, ThreadCount()));
    AITUNE_RETURN_IF_ERROR(initialization->Run({}, {}, nullptr));
  }
  loaded->ReleaseUnusedConstants();
  AITUNE_ASSIGN_OR_RETURN(InputBinding binding,
                          InputBinding::Create(loaded->plan()));
  auto impl = std::make_unique<Impl>(std::move(loaded), std::move(binding));
  if (impl->binding.symbol_count() == 0) {
    // The sizes are known: fail now rather than in the first call.
    const Key key = {ThreadCount()};
    AITUNE_RETURN_IF_ERROR(impl->Get(key).status());
  }
  return std::unique_ptr<CpuExecutable>(new CpuExecutable(std::move(impl)));
}

bool CpuExecutable::GivesOutput(int output) const {
  const int32_t value = impl_->plan->output_values()[output];
  return impl_->plan->given_output(value) == output;
}

absl::Status CpuExecutable::Run(absl::Span<const TensorView> inputs,
                                absl::Span<RegionValue> outputs,
                                void* /*stream*/) const {
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Instance> instance,
                          impl_->Get(inputs));
  return instance->Run(inputs, outputs, nullptr);
}

absl::Status CpuExecutable::RunPart(absl::Span<const TensorView> inputs,
                                    absl::Span<RegionValue> outputs, int steps,
                                    absl::Span<const ValueCopy> copies,
                                    void* /*stream*/) const {
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Instance> instance,
                          impl_->Get(inputs));
  return instance->RunPart(inputs, outputs, steps, copies);
}

absl::StatusOr<std::vector<StepProfile>> CpuExecutable::Profile(
    absl::Span<const TensorView> inputs, absl::Span<RegionValue> outputs,
    int repeats, void* /*stream*/) const {
  if (repeats < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile: at least one run is needed, not ", repeats));
  }
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Instance> instance,
                          impl_->Get(inputs));
  const size_t steps = impl_->plan->steps().size();
  std::vector<double> times(steps * repeats, 0);
  for (int run = 0; run < repeats; ++run) {
    AITUNE_RETURN_IF_ERROR(
        instance->Run(inputs, outputs, times.data() + run * steps));
  }
  std::vector<StepProfile> profiles;
  std::vector<double> own(repeats);
  for (size_t s = 0; s < steps; ++s) {
    for (int run = 0; run < repeats; ++run) own[run] = times[run * steps + s];
    std::nth_element(own.begin(), own.begin() + repeats / 2, own.end());
    profiles.push_back(
        {impl_->plan->steps()[s].proto->name(), own[repeats / 2]});
  }
  return profiles;
}

void CpuExecutable::PoisonMemory() const {
  impl_->plan->arenas().Poison();
  impl_->results.Poison();
}

ResultPool* CpuExecutable::result_pool() const { return &impl_->results; }

MemoryUse CpuExecutable::Memory() const {
  MemoryUse use = impl_->plan->Memory();
  use.results = impl_->results.MemoryInBytes();
  return use;
}

void CpuExecutable::SetAllocator(
    std::shared_ptr<const HostAllocator> allocator) const {
  impl_->plan->arenas().SetAllocator(allocator);
  impl_->results.SetAllocator(std::move(allocator));
}

void CpuExecutable::FreeKeptMemory() const {
  impl_->plan->arenas().FreeKept();
  impl_->results.FreeKept();
}

}  // namespace aitune
