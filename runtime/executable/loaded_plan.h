// A plan with everything that it refers to: kernels, fallback regions, packed
// constants, persistent values. All instances of an executable share one.
#ifndef AITUNE_RUNTIME_EXECUTABLE_LOADED_PLAN_H_
#define AITUNE_RUNTIME_EXECUTABLE_LOADED_PLAN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/control/host_allocator.h"
#include "runtime/cpu/aligned_buffer.h"
#include "runtime/cpu/kernel_library.h"
#include "runtime/cpu/onednn_library.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/executable/memory_use.h"
#include "runtime/plan/plan.h"

namespace aitune {

struct LoadedValue {
  // The fields of ValueProto.
  ValueProto::Storage storage = ValueProto::ARENA;
  int32_t index = 0;
  bool persistent = false;
  int32_t root = 0;     // the value whose memory this one is: see StorageRoots
  PlanTensorType type;  // unset for OPAQUE
  // Elements before the first one of an alias; unset for others.
  std::optional<SizeExpression> offset;
  // The address of a root that is a constant (packed if the plan says so) or
  // persistent; null for others.
  void* fixed = nullptr;
};

struct LoadedStep {
  const Step* proto = nullptr;             // owned by the plan
  std::vector<int32_t> inputs, outputs;    // indices of values
  KernelFunction kernel = nullptr;         // the code of a KernelLaunch
  SizeExpression grid;                     // work units of a KernelLaunch
  const FallbackRegion* region = nullptr;  // the region of a FallbackCall
};

// Memory for calls in progress. An arena serves instances of any sizes, so
// that a model with many combinations of sizes needs as many arenas as it has
// concurrent callers. Thread-safe.
class ArenaPool {
 public:
  // An arena of at least `bytes` bytes, which the caller gives back with
  // Release. Takes a free arena if there is one, and replaces it if it is too
  // small. For 0 bytes it is null, and not given back. kResourceExhausted when
  // memory is short, or the thread's MemoryBudget is.
  absl::StatusOr<AlignedBuffer> Acquire(int64_t bytes);
  void Release(AlignedBuffer arena);
  // Where arenas are from from now on (AlignedBuffer::Allocate). Frees those of
  // before that no call is using; others go when they are released.
  void SetAllocator(std::shared_ptr<const HostAllocator> allocator);
  // Frees the arenas that no call is using.
  void FreeKept();
  // Fills the free arenas with bytes that are no number and no index.
  void Poison();
  // The bytes of all arenas, in use and free.
  int64_t MemoryInBytes() const { return total_bytes_; }

 private:
  // Empties the free arenas; mutex_ is held.
  std::vector<AlignedBuffer> TakeFree();

  std::mutex mutex_;
  std::shared_ptr<const HostAllocator> allocator_;  // null: the system
  std::vector<AlignedBuffer> free_;
  size_t arenas_ = 0;  // arenas in use and free
  std::atomic<int64_t> total_bytes_{0};
};

// Allocates the memory of constants and persistent values on a device other
// than the host.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Memory of `bytes` > 0 bytes, filled from `host` unless that is null. If the
  // bytes are those of a constant, unchanged, `constant` is its index in the
  // pool, otherwise -1: an implementation may return the same memory for the
  // same constant.
  virtual absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes,
                                                         const void* host,
                                                         int32_t constant) = 0;
};

class LoadedPlan {
 public:
  // Checks and loads the plan; does not run the initialization. With `device`,
  // all addresses in the result are in its memory, and the constants' own data
  // is not needed afterwards. Errors as CpuExecutable::Load.
  static absl::StatusOr<std::unique_ptr<LoadedPlan>> Load(
      ExecutablePlan plan, std::shared_ptr<const KernelLibrary> kernels,
      std::vector<ConstantTensor> constants,
      std::vector<std::unique_ptr<FallbackRegion>> regions,
      DeviceMemory* device = nullptr);
  LoadedPlan(const LoadedPlan&) = delete;
  LoadedPlan& operator=(const LoadedPlan&) = delete;

  // Forgets constants that only packing or the initialization needed.
  void ReleaseUnusedConstants();

  const ExecutablePlan& plan() const { return plan_; }
  const std::vector<LoadedValue>& values() const { return values_; }
  const std::vector<LoadedStep>& initialization() const {
    return initialization_;
  }
  const std::vector<LoadedStep>& steps() const { return steps_; }
  // The value and the type of each output; the type is unset for opaque ones.
  const std::vector<int32_t>& output_values() const { return output_values_; }
  const std::vector<PlanTensorType>& output_types() const {
    return output_types_;
  }
  // The output that is this value and that a region can give itself
  // (FallbackRegion::OwnsOutput): no step reads it, and no other output is it.
  // -1 if there is none.
  int32_t given_output(int32_t value) const { return given_outputs_[value]; }
  // Whether a region lends the memory of this value
  // (FallbackRegion::LendsOutput).
  bool is_lent(int32_t value) const { return is_lent_[value]; }
  // Whether a region writes to the plan's input (FallbackRegion::WritesInput).
  bool is_written(int input) const { return is_written_[input]; }
  const std::vector<PlanTensorType>& input_types() const {
    return input_types_;
  }
  // The sizes of each output, in elements, for these values of the symbols;
  // empty for opaque ones. Errors as EvaluateSizes.
  absl::StatusOr<std::vector<std::vector<int64_t>>> OutputSizes(
      absl::Span<const int64_t> symbols) const;
  ArenaPool& arenas() const { return arenas_; }
  WeightCache& weights() const { return weights_; }

  // Packed constants, persistent values and reordered weights; arenas.
  MemoryUse Memory() const;

 private:
  LoadedPlan() = default;
  absl::Status LoadValues(DeviceMemory* device);
  // Allocates the block of packed constants. Without memory for it, or where
  // a packing is wrong, there is none: loading that constant says so.
  void ReservePacked();
  // Memory for a packed constant, of the block where it has room.
  absl::StatusOr<char*> AllocatePacked(int64_t bytes);
  absl::Status LoadConstant(int32_t value);
  absl::Status MoveConstant(int32_t value, DeviceMemory& device);
  absl::Status LoadSteps(bool initialization);
  void FindGivenOutputs();
  void FindLent();
  void FindWrittenInputs();

  ExecutablePlan plan_;
  std::shared_ptr<const KernelLibrary> kernels_;
  std::vector<ConstantTensor> constants_;
  std::vector<std::unique_ptr<FallbackRegion>> regions_;
  std::vector<LoadedValue> values_;
  std::vector<LoadedStep> initialization_, steps_;
  std::vector<int32_t> output_values_;
  std::vector<int32_t> given_outputs_;  // the output that a value is, if a
                                        // region gives it; -1: none
  std::vector<bool> is_lent_;     // whether a region lends a value's memory
  std::vector<bool> is_written_;  // whether a step writes an input's memory
  std::vector<PlanTensorType> input_types_, output_types_;
  // Packed constants of the host, one behind the other: most are smaller than a
  // huge page, which together they fill. What is not used is never touched.
  AlignedBuffer packed_;
  int64_t packed_bytes_ = 0;          // bytes of packed_ that are in use
  std::vector<AlignedBuffer> owned_;  // other constants, persistent values
  // Constants and persistent values on a GPU, and their bytes; by value.
  std::vector<std::shared_ptr<void>> owned_on_device_;
  std::vector<int64_t> bytes_on_device_;
  mutable ArenaPool arenas_;
  mutable WeightCache weights_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_LOADED_PLAN_H_
