#include "frontend/values/gpu.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/driver.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr char kCudaLibrary[] = "libtorch_cuda.so";

absl::Status NoCudaLibrary(absl::string_view why) {
  return absl::NotFoundError(absl::StrCat(
      "LibTorch's ", kCudaLibrary, " cannot be loaded (", why,
      "). It comes with LibTorch for CUDA: add its folder to LD_LIBRARY_PATH. "
      "--device cpu works without it."));
}

}  // namespace

absl::Status StartLibTorchCuda(const Device& gpu) {
  // First ours, whose errors name the driver or the GPU.
  AITUNE_RETURN_IF_ERROR(cuda::Device::Open(gpu.gpu()).status());
  // Its registrations must be seen by the LibTorch in this process.
  if (dlopen(kCudaLibrary, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return NoCudaLibrary(dlerror());
  }
  try {
    at::empty({1}, at::TensorOptions().device(DeviceOf(gpu)));
  } catch (const std::exception& error) {
    std::string text = error.what();
    text.erase(std::min(text.find('\n'), text.size()));
    return absl::FailedPreconditionError(
        absl::StrCat("LibTorch cannot use ", gpu.ToString(), ": ", text));
  }
  return absl::OkStatus();
}

absl::Status LookForLibTorchCuda() {
  AITUNE_RETURN_IF_ERROR(cuda::GetDriver().status());
  if (void* loaded = dlopen(kCudaLibrary, RTLD_LAZY | RTLD_NOLOAD)) {
    dlclose(loaded);
    return absl::OkStatus();
  }
  // Beside LibTorch's other libraries, or where the linker looks for any.
  std::vector<std::string> folders;
  Dl_info library;
  if (dladdr(reinterpret_cast<void*>(&at::get_num_threads), &library) != 0)
    folders.push_back(
        std::filesystem::path(library.dli_fname).parent_path().string());
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    for (const absl::string_view folder : absl::StrSplit(path, ':'))
      folders.emplace_back(folder);
  }
  std::error_code error;
  for (const std::string& folder : folders) {
    if (std::filesystem::exists(std::filesystem::path(folder) / kCudaLibrary,
                                error))
      return absl::OkStatus();
  }
  return NoCudaLibrary("there is none");
}

ValueList ToDevice(const ValueList& values, const Device& device) {
  return values.MapTensors(
      [&](const at::Tensor& tensor) { return tensor.to(DeviceOf(device)); });
}

namespace {

// The bytes from the first element of a tensor to behind its last.
struct Extent {
  const char *begin, *end;
};

Extent ExtentOf(const at::Tensor& tensor) {
  int64_t last = 0;
  for (int64_t axis = 0; axis < tensor.dim(); ++axis)
    last += (tensor.size(axis) - 1) * tensor.stride(axis);
  const auto* begin = static_cast<const char*>(tensor.const_data_ptr());
  return {begin, begin + (last + 1) * tensor.element_size()};
}

// Memory on the CPU that tensors lie in, and its copy.
struct Shared {
  Extent extent;
  int tensors = 1;
  at::Tensor copy = {};  // bytes
};

}  // namespace

ValueList ToDeviceTogether(const ValueList& values, const Device& device) {
  const auto may_share = [](const at::Tensor& tensor) {
    return tensor.is_cpu() && tensor.layout() == at::kStrided &&
           tensor.numel() > 0;
  };
  std::vector<Extent> extents;
  for (const at::Tensor& tensor : TensorLeaves(values)) {
    if (may_share(tensor)) extents.push_back(ExtentOf(tensor));
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  std::vector<Shared> memories;
  for (const Extent& extent : extents) {
    if (memories.empty() || memories.back().extent.end <= extent.begin) {
      memories.push_back({extent});
      continue;
    }
    ++memories.back().tensors;
    char const*& end = memories.back().extent.end;
    end = std::max(end, extent.end);
  }
  return values.MapTensors([&](const at::Tensor& tensor) {
    if (!may_share(tensor)) return tensor.to(DeviceOf(device));
    const char* const begin = ExtentOf(tensor).begin;
    Shared& memory =
        *std::prev(std::upper_bound(memories.begin(), memories.end(), begin,
                                    [](const char* at, const Shared& other) {
                                      return at < other.extent.begin;
                                    }));
    const int64_t offset = begin - memory.extent.begin;
    if (memory.tensors == 1 || offset % tensor.element_size() != 0)
      return tensor.to(DeviceOf(device));
    if (!memory.copy.defined())
      memory.copy =
          at::from_blob(const_cast<char*>(memory.extent.begin),
                        {memory.extent.end - memory.extent.begin}, at::kByte)
              .to(DeviceOf(device), at::kByte, /*non_blocking=*/false,
                  /*copy=*/true);
    return at::empty({0}, tensor.options().device(DeviceOf(device)))
        .set_(memory.copy.storage(), offset / tensor.element_size(),
              tensor.sizes(), tensor.strides());
  });
}

void CopyChangesBack(const ValueList& there, const ValueList& here) {
  const c10::InferenceMode inference;
  const std::vector<at::Tensor> changed = TensorLeaves(there),
                                mine = TensorLeaves(here);
  for (size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].layout() != at::kStrided || !mine[i].is_cpu() ||
        changed.at(i).is_cpu())
      continue;
    const at::Tensor now = changed[i].cpu();
    // The caller's memory may be read-only where nothing changes.
    if (!now.equal(mine[i])) mine[i].copy_(now);
  }
}

c10::IValue ToCpu(const c10::IValue& value) {
  return MapTensors(value,
                    [](const at::Tensor& tensor, int) { return tensor.cpu(); });
}

ValueList ToCpu(const ValueList& values) {
  return values.MapTensors(
      [](const at::Tensor& tensor) { return tensor.cpu(); });
}

void* CurrentStream(const Device& gpu) {
  const c10::impl::VirtualGuardImpl implementation(c10::DeviceType::CUDA);
  return implementation.getStream(DeviceOf(gpu)).native_handle();
}

void WaitForStream(const Device& gpu) {
  const c10::impl::VirtualGuardImpl implementation(c10::DeviceType::CUDA);
  implementation.synchronizeStream(implementation.getStream(DeviceOf(gpu)));
}

namespace {

// LibTorch numbers a stream that is not its own by its address.
int64_t SetStream(int gpu, int64_t number) {
  const c10::impl::VirtualGuardImpl implementation(c10::DeviceType::CUDA);
  return implementation
      .exchangeStream(
          c10::Stream(c10::Stream::UNSAFE,
                      c10::Device(c10::DeviceType::CUDA,
                                  static_cast<c10::DeviceIndex>(gpu)),
                      number))
      .id();
}

}  // namespace

ScopedStream::ScopedStream(const Device& gpu, void* stream)
    : gpu_(gpu.gpu()),
      previous_(SetStream(gpu_, reinterpret_cast<int64_t>(stream))) {}
ScopedStream::~ScopedStream() { SetStream(gpu_, previous_); }

struct GpuClock::Impl {
  Device gpu;
  cuda::Event start, end;
};

GpuClock::GpuClock(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GpuClock::~GpuClock() = default;

absl::StatusOr<std::unique_ptr<GpuClock>> GpuClock::Create(const Device& gpu) {
  AITUNE_ASSIGN_OR_RETURN(const cuda::Device* device,
                          cuda::Device::Open(gpu.gpu()));
  auto impl = std::make_unique<Impl>();
  impl->gpu = gpu;
  AITUNE_ASSIGN_OR_RETURN(impl->start, cuda::Event::Create(*device, true));
  AITUNE_ASSIGN_OR_RETURN(impl->end, cuda::Event::Create(*device, true));
  return std::unique_ptr<GpuClock>(new GpuClock(std::move(impl)));
}

absl::StatusOr<double> GpuClock::Time(
    const std::function<absl::Status()>& call) const {
  const auto stream = static_cast<CUstream>(CurrentStream(impl_->gpu));
  AITUNE_RETURN_IF_ERROR(impl_->start.Record(stream));
  AITUNE_RETURN_IF_ERROR(call());
  AITUNE_RETURN_IF_ERROR(impl_->end.Record(stream));
  return impl_->end.MillisecondsSince(impl_->start);
}

}  // namespace aitune::frontend
