#include "runtime/executable/loaded_plan.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/control/memory_budget.h"
#include "runtime/cpu/pack.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

// After this many bytes were freed, the allocator's free memory is given back
// to the system. Otherwise it would stay beside the memory that is allocated
// next, which is larger.
constexpr int64_t kTrimBytes = int64_t{16} << 20;

}  // namespace

absl::StatusOr<AlignedBuffer> ArenaPool::Acquire(int64_t bytes) {
  AlignedBuffer arena;
  if (bytes == 0) return arena;
  std::shared_ptr<const HostAllocator> allocator;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    allocator = allocator_;
    if (!free_.empty()) {
      arena = std::move(free_.back());
      free_.pop_back();
    } else {
      free_.reserve(++arenas_);  // so that Release never allocates
    }
  }
  if (arena.bytes() >= bytes) return arena;
  total_bytes_ -= arena.bytes();
  arena = AlignedBuffer();  // first, to need less at once
  total_bytes_ += bytes;    // counted before the budget is asked
  const absl::Status budget = CheckMemoryBudget();
  absl::StatusOr<AlignedBuffer> larger =
      budget.ok() ? AlignedBuffer::Allocate(bytes, std::move(allocator))
                  : budget;
  if (!larger.ok()) {
    total_bytes_ -= bytes;
    Release(AlignedBuffer());
  }
  return larger;
}

std::vector<AlignedBuffer> ArenaPool::TakeFree() {
  std::vector<AlignedBuffer> taken;
  for (const AlignedBuffer& arena : free_) total_bytes_ -= arena.bytes();
  arenas_ -= free_.size();
  taken.swap(free_);
  free_.reserve(arenas_);  // so that Release never allocates
  return taken;
}

void ArenaPool::FreeKept() {
  std::vector<AlignedBuffer> freed;  // freed when the lock is given back
  std::lock_guard<std::mutex> lock(mutex_);
  freed = TakeFree();
}

void ArenaPool::SetAllocator(std::shared_ptr<const HostAllocator> allocator) {
  std::vector<AlignedBuffer> freed;  // freed when the lock is given back
  std::lock_guard<std::mutex> lock(mutex_);
  allocator_ = std::move(allocator);
  freed = TakeFree();
}

void ArenaPool::Release(AlignedBuffer arena) {
  AlignedBuffer other;  // what another allocator gave, freed without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  if (arena.allocator() != allocator_.get()) {
    total_bytes_ -= arena.bytes();
    other = std::exchange(arena, AlignedBuffer());
  }
  free_.push_back(std::move(arena));
}

void ArenaPool::Poison() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const AlignedBuffer& arena : free_) {
    if (arena.bytes() > 0) std::memset(arena.data(), 0xff, arena.bytes());
  }
}

absl::StatusOr<std::unique_ptr<LoadedPlan>> LoadedPlan::Load(
    ExecutablePlan plan, std::shared_ptr<const KernelLibrary> kernels,
    std::vector<ConstantTensor> constants,
    std::vector<std::unique_ptr<FallbackRegion>> regions,
    DeviceMemory* device) {
  AITUNE_RETURN_IF_ERROR(ValidatePlan(plan));
  std::unique_ptr<LoadedPlan> loaded(new LoadedPlan);
  loaded->plan_ = std::move(plan);
  loaded->kernels_ = std::move(kernels);
  loaded->constants_ = std::move(constants);
  loaded->regions_ = std::move(regions);
  AITUNE_RETURN_IF_ERROR(loaded->LoadSteps(true));
  AITUNE_RETURN_IF_ERROR(loaded->LoadSteps(false));
  AITUNE_RETURN_IF_ERROR(loaded->LoadValues(device));
  for (const TensorTypeProto& input : loaded->plan_.inputs()) {
    loaded->input_types_.emplace_back();
    AITUNE_ASSIGN_OR_RETURN(loaded->input_types_.back(),
                            FromProto(input, loaded->plan_.symbols_size()));
  }
  loaded->output_values_ = OutputValues(loaded->plan_);
  for (const TensorTypeProto& output : loaded->plan_.outputs()) {
    loaded->output_types_.emplace_back();
    if (output.dtype() == 0) continue;
    AITUNE_ASSIGN_OR_RETURN(loaded->output_types_.back(),
                            FromProto(output, loaded->plan_.symbols_size()));
  }
  loaded->FindGivenOutputs();
  loaded->is_lent_.assign(loaded->values_.size(), false);
  loaded->FindLent();
  loaded->FindWrittenInputs();
  return loaded;
}

void LoadedPlan::FindGivenOutputs() {
  given_outputs_.assign(values_.size(), -1);
  std::vector<int> uses(values_.size(), 0);  // how often each root is used
  for (const LoadedStep& step : steps_)
    for (int32_t value : step.inputs) ++uses[values_[value].root];
  for (int32_t value : output_values_) ++uses[values_[value].root];
  for (const LoadedStep& step : steps_) {
    if (step.region == nullptr) continue;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const int32_t value = step.outputs[i];
      const LoadedValue& loaded = values_[value];
      const auto output =
          std::find(output_values_.begin(), output_values_.end(), value);
      if (output != output_values_.end() && uses[loaded.root] == 1 &&
          loaded.storage != ValueProto::OPAQUE && !loaded.persistent &&
          loaded.root == value &&
          step.region->OwnsOutput(static_cast<int>(i))) {
        given_outputs_[value] =
            static_cast<int32_t>(output - output_values_.begin());
      }
    }
  }
}

void LoadedPlan::FindLent() {
  for (const LoadedStep& step : steps_) {
    if (step.region == nullptr) continue;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const int32_t value = step.outputs[i];
      is_lent_[value] = values_[value].storage == ValueProto::ARENA &&
                        !values_[value].persistent &&
                        values_[value].root == value &&
                        step.region->LendsOutput(static_cast<int>(i));
    }
  }
  // The initialization has memory for its values.
  for (const LoadedStep& step : initialization_) {
    for (int32_t value : step.inputs) is_lent_[values_[value].root] = false;
    for (int32_t value : step.outputs) is_lent_[values_[value].root] = false;
  }
}

void LoadedPlan::FindWrittenInputs() {
  is_written_.assign(input_types_.size(), false);
  for (const LoadedStep& step : steps_) {
    if (step.region == nullptr) continue;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const LoadedValue& value = values_[step.inputs[i]];
      if (value.storage == ValueProto::INPUT &&
          step.region->WritesInput(static_cast<int>(i)))
        is_written_[value.index] = true;
    }
  }
}

absl::Status LoadedPlan::LoadSteps(bool initialization) {
  for (const Step& step :
       initialization ? plan_.initialization() : plan_.steps()) {
    LoadedStep loaded;
    loaded.proto = &step;
    loaded.inputs.assign(step.inputs().begin(), step.inputs().end());
    loaded.outputs.assign(step.outputs().begin(), step.outputs().end());
    if (step.has_kernel()) {
      const std::string& symbol = step.kernel().symbol();
      if (kernels_ != nullptr) loaded.kernel = kernels_->Find(symbol);
      if (loaded.kernel == nullptr) {
        return absl::NotFoundError(absl::StrCat("step '", step.name(),
                                                "': the object code has no ",
                                                "kernel '", symbol, "'"));
      }
      AITUNE_ASSIGN_OR_RETURN(
          loaded.grid, FromProto(step.kernel().grid(), plan_.symbols_size()));
    } else if (step.has_fallback()) {
      const size_t region = step.fallback().region();
      if (region >= regions_.size() || regions_[region] == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("step '", step.name(), "' calls fallback region ",
                         region, ", but ", regions_.size(), " were given"));
      }
      loaded.region = regions_[region].get();
      AITUNE_RETURN_IF_ERROR(loaded.region->CheckCounts(loaded.inputs.size(),
                                                        loaded.outputs.size()));
    }
    (initialization ? initialization_ : steps_).push_back(std::move(loaded));
  }
  return absl::OkStatus();
}

void LoadedPlan::ReservePacked() {
  int64_t bytes = 0;
  for (const ValueProto& value : plan_.values()) {
    if (value.storage() != ValueProto::CONSTANT ||
        value.packing().kind() == PackingProto::NONE ||
        static_cast<size_t>(value.index()) >= constants_.size()) {
      continue;
    }
    const TensorView& view = constants_[value.index()].view;
    const absl::StatusOr<int64_t> packed =
        PackedBytes(value.packing(), view.dtype, view.sizes);
    if (!packed.ok() ||
        __builtin_add_overflow(bytes, *packed + AlignedBuffer::kAlignment,
                               &bytes)) {
      return;
    }
  }
  absl::StatusOr<AlignedBuffer> block = AlignedBuffer::Allocate(bytes);
  if (block.ok()) packed_ = *std::move(block);
}

absl::StatusOr<char*> LoadedPlan::AllocatePacked(int64_t bytes) {
  const int64_t start = (packed_bytes_ + AlignedBuffer::kAlignment - 1) /
                        AlignedBuffer::kAlignment * AlignedBuffer::kAlignment;
  if (bytes <= packed_.bytes() - start) {
    packed_bytes_ = start + bytes;
    return packed_.data() + start;
  }
  AITUNE_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
  owned_.push_back(std::move(buffer));
  return owned_.back().data();
}

absl::Status LoadedPlan::LoadValues(DeviceMemory* device) {
  const std::vector<int32_t> roots = StorageRoots(plan_);
  // On a device each constant is packed on the host, moved and freed.
  if (device == nullptr) ReservePacked();
  values_.resize(plan_.values_size());
  owned_on_device_.resize(plan_.values_size());
  bytes_on_device_.resize(plan_.values_size());
  int64_t freed_bytes = 0;
  // By constant: the last value that packs it, unless one reads it unpacked.
  std::vector<int32_t> last_packing(constants_.size(), -1);
  std::vector<bool> read_unpacked(constants_.size(), false);
  for (int32_t i = 0; i < plan_.values_size(); ++i) {
    const ValueProto& proto = plan_.values(i);
    if (proto.storage() != ValueProto::CONSTANT ||
        static_cast<size_t>(proto.index()) >= constants_.size()) {
      continue;
    }
    last_packing[proto.index()] = i;
    if (proto.packing().kind() == PackingProto::NONE) {
      read_unpacked[proto.index()] = true;
    }
  }
  for (int32_t i = 0; i < plan_.values_size(); ++i) {
    const ValueProto& proto = plan_.values(i);
    LoadedValue& value = values_[i];
    value.storage = proto.storage();
    value.index = proto.index();
    value.persistent = proto.persistent();
    value.root = roots[i];
    if (value.storage == ValueProto::OPAQUE) continue;
    AITUNE_ASSIGN_OR_RETURN(value.type,
                            FromProto(proto.type(), plan_.symbols_size()));
    if (proto.has_offset()) {
      AITUNE_ASSIGN_OR_RETURN(value.offset,
                              FromProto(proto.offset(), plan_.symbols_size()));
    }
    if (value.storage == ValueProto::CONSTANT) {
      AITUNE_RETURN_IF_ERROR(LoadConstant(i));
      if (device != nullptr) {
        AITUNE_RETURN_IF_ERROR(MoveConstant(i, *device));
      }
      // Dropped at once, not after the last one: a model is then never in
      // memory both packed and not.
      if (last_packing[value.index] == i && !read_unpacked[value.index]) {
        AITUNE_ASSIGN_OR_RETURN(
            const int64_t bytes,
            TensorBytes(value.type.dtype, constants_[value.index].view.sizes));
        constants_[value.index] = ConstantTensor();
        freed_bytes += bytes;
        if (freed_bytes >= kTrimBytes) {
          malloc_trim(0);
          freed_bytes = 0;
        }
      }
    } else if (value.persistent) {
      AITUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                              EvaluateSizes(value.type.sizes, {}));
      AITUNE_ASSIGN_OR_RETURN(const int64_t bytes,
                              TensorBytes(value.type.dtype, sizes));
      if (device != nullptr) {
        if (bytes == 0) continue;
        AITUNE_ASSIGN_OR_RETURN(owned_on_device_[i],
                                device->Allocate(bytes, nullptr, -1));
        bytes_on_device_[i] = bytes;
        value.fixed = owned_on_device_[i].get();
        continue;
      }
      AITUNE_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                              AlignedBuffer::Allocate(bytes));
      value.fixed = buffer.data();
      owned_.push_back(std::move(buffer));
    }
  }
  return absl::OkStatus();
}

absl::Status LoadedPlan::MoveConstant(int32_t value, DeviceMemory& device) {
  LoadedValue& loaded = values_[value];
  const PackingProto& packing = plan_.values(value).packing();
  const TensorView& view = constants_[loaded.index].view;
  AITUNE_ASSIGN_OR_RETURN(const int64_t bytes,
                          PackedBytes(packing, view.dtype, view.sizes));
  if (bytes == 0) return absl::OkStatus();
  const bool packed = packing.kind() != PackingProto::NONE;
  AITUNE_ASSIGN_OR_RETURN(
      owned_on_device_[value],
      device.Allocate(bytes, loaded.fixed, packed ? -1 : loaded.index));
  bytes_on_device_[value] = bytes;
  loaded.fixed = owned_on_device_[value].get();
  if (packed) owned_.clear();
  return absl::OkStatus();
}

absl::Status LoadedPlan::LoadConstant(int32_t value) {
  LoadedValue& loaded = values_[value];
  if (static_cast<size_t>(loaded.index) >= constants_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan needs constant ", loaded.index, ", but ",
                     constants_.size(), " were given"));
  }
  const ConstantTensor& constant = constants_[loaded.index];
  const TensorView& view = constant.view;
  AITUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                          EvaluateSizes(loaded.type.sizes, {}));
  AITUNE_ASSIGN_OR_RETURN(const int64_t bytes,
                          TensorBytes(loaded.type.dtype, sizes));
  const std::string where =
      absl::StrCat("constant ", loaded.index, " ('", constant.name, "'): ");
  if (view.dtype != loaded.type.dtype || view.sizes != sizes) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, "the plan expects ", std::string(Name(loaded.type.dtype)),
        SizesToString(sizes), ", but it is ", std::string(Name(view.dtype)),
        SizesToString(view.sizes)));
  }
  if (view.data == nullptr && bytes > 0) {
    return absl::InvalidArgumentError(absl::StrCat(where, "it has no data"));
  }
  const PackingProto& packing = plan_.values(value).packing();
  if (packing.kind() == PackingProto::NONE) {
    loaded.fixed = view.data;
    return absl::OkStatus();
  }
  // The same packing of the same constant is made once.
  for (int32_t other = 0; other < value; ++other) {
    if (owned_on_device_[other] != nullptr) continue;
    const PackingProto& made = plan_.values(other).packing();
    if (values_[other].storage == ValueProto::CONSTANT &&
        values_[other].index == loaded.index && made.kind() == packing.kind() &&
        made.block_n() == packing.block_n() &&
        made.transposed() == packing.transposed() &&
        made.steps_together() == packing.steps_together()) {
      loaded.fixed = values_[other].fixed;
      return absl::OkStatus();
    }
  }
  const absl::StatusOr<int64_t> packed_bytes =
      PackedBytes(packing, view.dtype, view.sizes);
  if (!packed_bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, packed_bytes.status().message()));
  }
  AITUNE_ASSIGN_OR_RETURN(char* const data, AllocatePacked(*packed_bytes));
  AITUNE_RETURN_IF_ERROR(Pack(packing, view, data));
  loaded.fixed = data;
  return absl::OkStatus();
}

void LoadedPlan::ReleaseUnusedConstants() {
  std::vector<bool> on_device(values_.size(), false);
  for (const LoadedStep& step : steps_) {
    for (int32_t input : step.inputs) on_device[values_[input].root] = true;
  }
  for (int32_t output : output_values_) on_device[values_[output].root] = true;
  bool has_device = false;
  for (size_t i = 0; i < values_.size(); ++i) {
    has_device |= owned_on_device_[i] != nullptr;
    if (!on_device[i]) owned_on_device_[i].reset();
  }
  if (has_device) {
    constants_.clear();
    return;
  }
  std::vector<bool> used(constants_.size(), false);
  auto use = [&](int32_t value) {
    const LoadedValue& root = values_[values_[value].root];
    if (root.storage == ValueProto::CONSTANT &&
        plan_.values(values_[value].root).packing().kind() ==
            PackingProto::NONE) {
      used[root.index] = true;
    }
  };
  for (const LoadedStep& step : steps_) {
    for (int32_t input : step.inputs) use(input);
  }
  for (int32_t output : output_values_) use(output);
  for (size_t i = 0; i < constants_.size(); ++i) {
    if (!used[i]) constants_[i] = ConstantTensor();
  }
}

absl::StatusOr<std::vector<std::vector<int64_t>>> LoadedPlan::OutputSizes(
    absl::Span<const int64_t> symbols) const {
  std::vector<std::vector<int64_t>> sizes;
  for (const PlanTensorType& type : output_types_) {
    AITUNE_ASSIGN_OR_RETURN(std::vector<int64_t> output,
                            EvaluateSizes(type.sizes, symbols));
    sizes.push_back(std::move(output));
  }
  return sizes;
}

MemoryUse LoadedPlan::Memory() const {
  MemoryUse use;
  use.arenas = arenas_.MemoryInBytes();
  use.weights = weights_.MemoryInBytes();
  use.weights += packed_bytes_;
  for (const AlignedBuffer& buffer : owned_) use.weights += buffer.bytes();
  for (size_t i = 0; i < owned_on_device_.size(); ++i) {
    if (owned_on_device_[i] != nullptr) use.weights += bytes_on_device_[i];
  }
  for (const auto& region : regions_)
    if (region != nullptr) use.weights += region->BytesOnDevice();
  return use;
}

}  // namespace aitune
