#include "runtime/cpu/onednn_library.h"

#include <algorithm>
#include <utility>

#include "oneapi/dnnl/dnnl_debug.h"
#include "runtime/cpu/onednn_internal.h"

namespace aitune {
namespace {

// Whether none of the bfloat16 numbers is NaN or infinite, which those are
// whose exponent is all ones. Called only beside code of oneDNN's that needs
// AVX-512 itself.
__attribute__((target("avx512bw"))) bool AreFinite(const uint16_t* numbers,
                                                   int64_t count) {
  constexpr uint16_t kExponent = 0x7F80;
  constexpr int64_t kBlock = 4096;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    uint16_t found = 0;
    for (int64_t i = begin; i < end; ++i) {
      found |= (numbers[i] & kExponent) == kExponent;
    }
    if (found != 0) return false;
  }
  return true;
}

}  // namespace

std::string OnednnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) +
         "." + std::to_string(version->patch);
}

WeightCache::WeightCache() : impl_(std::make_unique<Impl>()) {}
WeightCache::~WeightCache() = default;

int64_t WeightCache::MemoryInBytes() const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  int64_t bytes = 0;
  for (const Impl::Entry& entry : impl_->entries) {
    if (auto data = entry.data.lock()) bytes += data->bytes();
  }
  return bytes;
}

LibraryCall::LibraryCall(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LibraryCall::~LibraryCall() = default;

LibraryCall::Binding::Binding(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
LibraryCall::Binding::~Binding() = default;

int64_t LibraryCall::scratch_bytes() const {
  const int64_t own =
      impl_->primitive ? static_cast<int64_t>(impl_->scratch.get_size()) : 0;
  return impl_->exact ? std::max(own, impl_->exact->scratch_bytes()) : own;
}

const std::string& LibraryCall::implementation() const {
  return impl_->implementation;
}

std::unique_ptr<LibraryCall::Binding> LibraryCall::Bind() const {
  auto binding = std::make_unique<Binding::Impl>();
  if (impl_->primitive) {
    binding->stream = dnnl::stream(onednn::Engine());
    auto add = [&](int argument, const dnnl::memory::desc& desc, void* data) {
      binding->memories.emplace_back(desc, onednn::Engine(), data);
      binding->arguments.push_back({argument, binding->memories.back().get()});
      binding->handles.push_back(data);
    };
    for (const LibraryArgument& argument : impl_->arguments) {
      add(argument.argument, argument.desc, argument.fixed);
    }
    if (impl_->scratch.get_size() > 0) {
      add(DNNL_ARG_SCRATCHPAD, impl_->scratch, nullptr);
    }
    if (impl_->exact) binding->exact = impl_->exact->Bind();
  }
  return std::make_unique<Binding>(std::move(binding));
}

absl::Status LibraryCall::Run(void* const* buffers, void* scratch,
                              Binding& binding) const {
  if (!impl_->primitive) return absl::OkStatus();
  Binding::Impl& bound = binding.impl();
  if (impl_->exact) {
    const auto* source = static_cast<const uint16_t*>(buffers[0]);
    if (!AreFinite(source, impl_->source_elements)) {
      return impl_->exact->Run(buffers, scratch, *bound.exact);
    }
  }
  // The C interface: the C++ one builds a map of the arguments at each call.
  dnnl_status_t status = dnnl_success;
  for (size_t i = 0; i < bound.memories.size() && status == dnnl_success; ++i) {
    void* data = scratch;
    if (i < impl_->arguments.size()) {
      if (impl_->arguments[i].buffer < 0) continue;
      data = buffers[impl_->arguments[i].buffer];
    }
    if (data == bound.handles[i]) continue;
    status = dnnl_memory_set_data_handle(bound.memories[i].get(), data);
    bound.handles[i] = data;
  }
  if (status == dnnl_success) {
    status = dnnl_primitive_execute(impl_->primitive.get(), bound.stream.get(),
                                    static_cast<int>(bound.arguments.size()),
                                    bound.arguments.data());
  }
  if (status == dnnl_success) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("oneDNN failed to run ",
                                          impl_->implementation, ": ",
                                          dnnl_status2str(status)));
}

}  // namespace aitune
