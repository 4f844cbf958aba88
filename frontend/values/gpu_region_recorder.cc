#include "frontend/values/gpu_region_recorder.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <mutex>

#include "absl/strings/str_cat.h"

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

class Recorder : public cuda::RegionRecorder {
 public:
  Recorder(const Device& gpu, CUDAAllocator* allocator)
      : gpu_(static_cast<c10::DeviceIndex>(gpu.gpu())),
        allocator_(allocator),
        guard_(c10::DeviceType::CUDA),
        stream_(guard_.getStreamFromGlobalPool(
            c10::Device(c10::DeviceType::CUDA, gpu_))) {}

  CUstream stream() const override {
    return static_cast<CUstream>(stream_.native_handle());
  }

  absl::StatusOr<std::shared_ptr<void>> NewPool() override {
    // LibTorch makes it when it is first used.
    return std::make_shared<Pool>(*this);
  }

  absl::Status Within(const std::shared_ptr<void>& pool,
                      absl::FunctionRef<absl::Status()> body) override {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    try {
      const StreamScope scope(*this);
      if (pool == nullptr) return body();
      const PoolScope memory(*this, *static_cast<Pool*>(pool.get()));
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

  class StreamScope {
   public:
    explicit StreamScope(const Recorder& recorder)
        : recorder_(recorder),
          before_(recorder.guard_.exchangeStream(recorder.stream_)) {}
    ~StreamScope() { recorder_.guard_.exchangeStream(before_); }

   private:
    const Recorder& recorder_;
    const c10::Stream before_;
  };

  class PoolScope {
   public:
    PoolScope(const Recorder& recorder, Pool& pool)
        : recorder_(recorder), pool_(pool) {
      const void* mine = recorder.stream_.native_handle();
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

  const c10::DeviceIndex gpu_;
  CUDAAllocator* const allocator_;
  const c10::impl::VirtualGuardImpl guard_;
  const c10::Stream stream_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<cuda::RegionRecorder>> LibTorchRegionRecorder(
    const Device& gpu) {
  CUDAAllocator* allocator = FindAllocator();
  if (allocator == nullptr)
    return absl::UnimplementedError(
        "LibTorch's libc10_cuda.so is not the one that this program was "
        "compiled for");
  return std::make_shared<Recorder>(gpu, allocator);
}

}  // namespace aitune::frontend
