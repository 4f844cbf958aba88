#include "frontend/compiled_model/cache_key.h"

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "compiler/plugin/LoadedPlugins.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/torchscript/substitution.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"
#include "runtime/device/device.h"
#include "runtime/hash/sha256.h"
#include "runtime/target/build_id.h"
#include "runtime/target/host_target.h"

namespace aitune::frontend {
namespace {

// "cuda" is a name of the first GPU.
std::string DeviceText(const std::string& name) {
  const absl::StatusOr<Device> device = Device::Parse(name);
  if (!device.ok() || !device->is_gpu()) return name;
  return Device::Gpu(device->gpu()).ToString();
}

// Every field but `progress`, what the compiler is lent (`libtorch`) and what
// follows from the inputs (`layers`). A
// field that is added breaks this line, so that nobody forgets to think about
// whether results depend on it. The database counts with its file's state,
// because a build with another state may use other schedules. Options of the
// search do not count, because builds with a search are not stored.
std::string TextOf(const TuningOptions& options) {
  struct stat status = {};
  if (options.database.empty() ||
      stat(options.database.c_str(), &status) != 0) {
    return "";
  }
  return absl::StrCat(" tuning=", options.database, ",", status.st_size, ",",
                      status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec);
}

std::string TextOf(const CompileOptions& options) {
  const auto& [compile_to, measure, emulate, unchecked, quantization, may_none,
               layers, device, threads, dump, target, tf32_matmul,
               tf32_convolution, tuning, generation, audit, libtorch, left_out,
               progress] = options;
  std::set<std::string> wrong;
  for (const WrongCandidate& candidate : left_out)
    wrong.insert(absl::StrCat(candidate.digest, "=", candidate.candidate));
  return absl::StrCat(
      "to=", static_cast<int>(compile_to), " measure=", measure,
      " emulate=", emulate, " unchecked=", unchecked,
      " quantization=", quantization, may_none ? " or none" : "",
      " device=", DeviceText(device),
      " threads=", threads > 0 ? threads : at::get_num_threads(),
      " dump=", dump, " target=", target, " tf32=", tf32_matmul,
      tf32_convolution, " kernel=", generation.kernelSeconds, "s,",
      generation.kernelBytes, " left out=", absl::StrJoin(wrong, ";"),
      TextOf(tuning));
}

std::string TextOf(const TraceOptions& options) {
  const auto& [iterations, loop_ops, ops, seed, anchor, for_gpu, rolled,
               outlines, sees_parts, libtorch_only, progress] = options;
  return absl::StrCat(
      " iterations=", iterations, " loop ops=", loop_ops, " ops=", ops,
      " seed=", seed, " anchor=", absl::StrJoin(anchor, ","), " gpu=", for_gpu,
      rolled ? " rolled" : "", outlines ? "" : " plain",
      sees_parts ? "" : " unseen", libtorch_only ? " LibTorch" : "");
}

// Numbers to the last bit, which their descriptions round.
std::string ExactNumbers(const InputSpec& spec) {
  std::string text = spec.kind == InputSpec::Kind::kFloat
                         ? absl::StrFormat("%a ", spec.float_value)
                         : "";
  for (const InputSpec& child : spec.children)
    absl::StrAppend(&text, ExactNumbers(child));
  return text;
}

InputSpec WithoutValues(InputSpec spec) {
  spec.values.reset();
  for (InputSpec& child : spec.children) child = WithoutValues(child);
  return spec;
}

// A hash of the elements, in the order of the tensor's axes; empty for what has
// no strided elements.
std::string HashOf(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided) return "";
  const at::Tensor elements =
      tensor.detach().to(at::kCPU).resolve_conj().resolve_neg().contiguous();
  Sha256 hash;
  hash.Update(
      {static_cast<const char*>(elements.const_data_ptr()), elements.nbytes()});
  return ToHex(hash.Finish());
}

// No trace depends on elements, nor on the range of values that they are drawn
// from. Which layers are quantised does: `has_elements`.
std::string TextOf(const ModelInputs& inputs, bool has_elements) {
  std::string text;
  for (const InputSpec& spec : inputs.specs)
    absl::StrAppend(&text, ToString(has_elements ? spec : WithoutValues(spec)),
                    " ", ExactNumbers(spec), "\n");
  if (!inputs.samples) return text;
  absl::StrAppend(&text, "samples ", inputs.samples->Describe(), "\n");
  for (const c10::IValue& value : inputs.samples->values()) {
    for (const Leaf& leaf : Leaves(value)) {
      absl::StrAppend(&text, leaf.path);
      if (leaf.value->isDouble())
        absl::StrAppend(&text, absl::StrFormat("=%a", leaf.value->toDouble()));
      if (leaf.value->isString())
        absl::StrAppend(&text, "=", leaf.value->toStringRef().size(), ":",
                        leaf.value->toStringRef());
      if (has_elements && leaf.value->isTensor())
        absl::StrAppend(&text, "=", HashOf(leaf.value->toTensor()));
      absl::StrAppend(&text, "\n");
    }
  }
  return text;
}

// Names, sizes and times of the loaded libraries that compilation depends on.
std::set<std::string> LoadedLibraries() {
  std::set<std::string> libraries;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        const std::string path = info->dlpi_name;
        const std::string name = path.substr(path.rfind('/') + 1);
        bool matters = absl::StrContains(path, "/_solib");
        for (const char* prefix :
             {"libMLIR", "libLLVM", "libtorch", "libc10", "libdnnl"})
          matters = matters || absl::StartsWith(name, prefix);
        struct stat status = {};
        if (matters && stat(path.c_str(), &status) == 0) {
          static_cast<std::set<std::string>*>(data)->insert(
              absl::StrCat(name, " ", status.st_size, " ",
                           status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec));
        }
        return 0;
      },
      &libraries);
  return libraries;
}

// The whole file that this code is in, for programs without a build id.
std::string ProgramBytes() {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<const void*>(&BuildId), &self) == 0) return "";
  // The program's own name may be relative to a folder left since.
  std::string path = self.dli_fname;
  struct stat status = {};
  if (path.empty() || stat(path.c_str(), &status) != 0) path = "/proc/self/exe";
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

const std::string& BuildId() {
  static const auto* const id = [] {
    Sha256 hash;
    const std::string given =
        LinkersBuildId(reinterpret_cast<const void*>(&BuildId));
    hash.Update(given.empty() ? ProgramBytes() : given);
    for (const std::string& library : LoadedLibraries()) hash.Update(library);
    return new std::string(ToHex(hash.Finish()));
  }();
  return *id;
}

CacheKey KeyOfBuild(std::string_view model_sha256, const ModelInputs& inputs,
                    const CompileOptions& compile, const TraceOptions& trace,
                    std::string_view gpu) {
  CacheKeyParts parts;
  parts.graph = absl::StrCat(
      absl::string_view(model_sha256.data(), model_sha256.size()), "\n",
      SubstitutionsText(), TextOf(inputs, !compile.quantization.empty()));
  parts.config = TextOf(compile) + TextOf(trace);
  for (const LoadedPlugin& plugin : loadedPlugins())
    absl::StrAppend(&parts.config, " plugin=", plugin.sha256);
  parts.target = HostTarget();
  if (!gpu.empty()) absl::StrAppend(&parts.target, "\n", std::string(gpu));
  parts.build_id = BuildId();
  parts.versions = LibraryVersions();
  return CacheKey::Of(parts);
}

}  // namespace aitune::frontend
