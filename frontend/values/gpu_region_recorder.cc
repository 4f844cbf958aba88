#include "frontend/values/gpu_region_recorder.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/values/gpu.h"
#include "runtime/cuda/device.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

// c10::cuda::CUDACachingAllocator::allocator, in a library that this program
// does not link.
constexpr char kAllocator[] = "_ZN3c104cuda20CUDACachingAllocator9allocatorE";

CUDAAllocator* FindAllocator() {
  // Already in the process, as part of libtorch_cuda.so.
  void* library = dlopen("libc10_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  auto* found =
      static_cast<std::atomic<CUDAAllocator*>*>(dlsym(library, kAllocator));
  return found == nullptr ? nullptr : found->load();
}

// LibTorch counts its own graphs' pools from 1 in the second number.
c10::MempoolId_t NextPool() {
  static std::atomic<uint64_t> next{uint64_t{1} << 40};
  return {0, next++};
}

// Streams that nobody uses now, of all GPUs. They are never destroyed: LibTorch
// keeps memory for each stream that it ever saw.
struct FreeStreams {
  static FreeStreams& Get() {
    static auto* const streams = new FreeStreams;
    return *streams;
  }
  std::mutex mutex;
  std::multimap<const cuda::Device*, std::unique_ptr<const cuda::Stream>> free;
};

class Recorder : public cuda::RegionRecorder {
 public:
  Recorder(const cuda::Device& device, CUDAAllocator* allocator)
      : device_(device),
        gpu_(static_cast<c10::DeviceIndex>(device.ordinal())),
        allocator_(allocator) {}

  absl::StatusOr<std::shared_ptr<const cuda::Stream>> LendStream() override {
    FreeStreams& streams = FreeStreams::Get();
    std::unique_ptr<const cuda::Stream> stream;
    {
      std::lock_guard<std::mutex> lock(streams.mutex);
      if (auto node = streams.free.extract(&device_))
        stream = std::move(node.mapped());
    }
    if (stream == nullptr) {
      AITUNE_ASSIGN_OR_RETURN(cuda::Stream made, cuda::Stream::Create(device_));
      stream = std::make_unique<const cuda::Stream>(std::move(made));
    }
    return std::shared_ptr<const cuda::Stream>(
        stream.release(), [device = &device_](const cuda::Stream* lent) {
          FreeStreams& streams = FreeStreams::Get();
          std::lock_guard<std::mutex> lock(streams.mutex);
          streams.free.emplace(device, lent);
        });
  }

  absl::StatusOr<std::shared_ptr<void>> NewPool() override {
    // LibTorch makes it when it is first used.
    return std::make_shared<Pool>(*this);
  }

  absl::Status Within(CUstream stream, const std::shared_ptr<void>& pool,
                      absl::FunctionRef<absl::Status()> body) override {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    try {
      const ScopedStream scope(Device::Gpu(gpu_), stream);
      if (pool == nullptr) return body();
      const PoolScope memory(*this, *static_cast<Pool*>(pool.get()), stream);
      return body();
    } catch (const std::exception& error) {
      std::string text = error.what();
      text.erase(std::min(text.find('\n'), text.size()));
      return absl::InternalError(absl::StrCat("LibTorch: ", text));
    }
  }

 private:
  struct Pool {
    explicit Pool(const Recorder& recorder) : recorder(recorder) {}
    // Releases the pool as often as it was begun.
    ~Pool() {
      for (int i = 0; i < uses; ++i)
        recorder.allocator_->releasePool(recorder.gpu_, id);
    }
    const Recorder& recorder;
    const c10::MempoolId_t id = NextPool();
    int uses = 0;
  };

  class PoolScope {
   public:
    PoolScope(const Recorder& recorder, Pool& pool, const void* mine)
        : recorder_(recorder), pool_(pool) {
      recorder.allocator_->beginAllocateToPool(
          recorder.gpu_, pool.id,
          [mine](cudaStream_t stream) { return stream == mine; });
      ++pool.uses;
    }
    ~PoolScope() {
      recorder_.allocator_->endAllocateToPool(recorder_.gpu_, pool_.id);
    }

   private:
    const Recorder& recorder_;
    Pool& pool_;
  };

  const cuda::Device& device_;
  const c10::DeviceIndex gpu_;
  CUDAAllocator* const allocator_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<cuda::RegionRecorder>> LibTorchRegionRecorder(
    const Device& gpu) {
  CUDAAllocator* allocator = FindAllocator();
  if (allocator == nullptr)
    return absl::UnimplementedError(
        "LibTorch's libc10_cuda.so is not the one that this program was "
        "compiled for");
  AITUNE_ASSIGN_OR_RETURN(const cuda::Device* device,
                          cuda::Device::Open(gpu.gpu()));
  return std::make_shared<Recorder>(*device, allocator);
}

}  // namespace aitune::frontend
