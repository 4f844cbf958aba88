#include "compiler/codegen/gpu/target/Nvrtc.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "absl/status/status.h"
#include "compiler/codegen/gpu/target/MachineCode.h"

namespace aitune {
namespace {

// The part of nvrtc.h that is used; its results are an enum with 0 for success.
using Program = struct NvrtcProgram *;
constexpr int kSuccess = 0;

struct Library {
  int (*version)(int *major, int *minor);
  int (*createProgram)(Program *, const char *text, const char *name,
                       int headers, const char *const *headerTexts,
                       const char *const *headerNames);
  int (*destroyProgram)(Program *);
  int (*compileProgram)(Program, int options, const char *const *);
  int (*getLogSize)(Program, size_t *);
  int (*getLog)(Program, char *);
  int (*getCubinSize)(Program, size_t *);
  int (*getCubin)(Program, char *);
  const char *(*errorText)(int);
  absl::Status status;
};

template <typename Function>
void find(void *handle, const char *name, Function &function,
          absl::Status &status) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (!function && status.ok())
    status = absl::FailedPreconditionError(
        std::string("NVRTC has no function ") + name +
        ": install the CUDA 13 run-time compiler");
}

Library load(const char *name) {
  Library library = {};
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    library.status = absl::FailedPreconditionError(
        std::string("cannot load ") + name + ", which compiles for the GPU (" +
        (why ? why : "unknown reason") +
        "); install the CUDA 13 run-time compiler or name its folder in "
        "LD_LIBRARY_PATH");
    return library;
  }
  find(handle, "nvrtcVersion", library.version, library.status);
  find(handle, "nvrtcCreateProgram", library.createProgram, library.status);
  find(handle, "nvrtcDestroyProgram", library.destroyProgram, library.status);
  find(handle, "nvrtcCompileProgram", library.compileProgram, library.status);
  find(handle, "nvrtcGetProgramLogSize", library.getLogSize, library.status);
  find(handle, "nvrtcGetProgramLog", library.getLog, library.status);
  find(handle, "nvrtcGetCUBINSize", library.getCubinSize, library.status);
  find(handle, "nvrtcGetCUBIN", library.getCubin, library.status);
  find(handle, "nvrtcGetErrorString", library.errorText, library.status);
  return library;
}

const Library &library() {
  static const Library *loaded = new Library(load("libnvrtc.so.13"));
  return *loaded;
}

/// A second copy of NVRTC with a lock of its own; null if it is not installed.
/// One copy makes its other threads wait while it parses a program, which is a
/// fifth of the time of a compilation.
const Library *secondLibrary() {
  static const Library *loaded = [] {
    auto *second = new Library(load("libnvrtc.alt.so.13"));
    int major[2], minor[2];
    const bool usable = second->status.ok() && library().status.ok() &&
                        library().version(&major[0], &minor[0]) == kSuccess &&
                        second->version(&major[1], &minor[1]) == kSuccess &&
                        major[0] == major[1] && minor[0] == minor[1];
    return usable ? second : nullptr;
  }();
  return loaded;
}

/// Keeps `text` in a file of its own; the empty string if that fails.
std::string keep(const std::string &text) {
  const char *folder = std::getenv("TMPDIR");
  std::string path =
      std::string(folder && *folder ? folder : "/tmp") + "/aitune-XXXXXX.cu";
  int file = mkstemps(path.data(), 3);
  if (file < 0)
    return "";
  close(file);
  std::ofstream stream(path);
  stream << text;
  return stream.good() ? path : "";
}

/// The first error of a log whose lines read "kernel.cu(12): error: ...".
std::string describe(const std::string &log, const std::string &text) {
  size_t at = log.find("error");
  if (at == std::string::npos)
    return log;
  size_t start = log.rfind('\n', at);
  start = start == std::string::npos ? 0 : start + 1;
  size_t end = log.find('\n', at);
  std::string message = log.substr(start, end - start);
  size_t open = message.find('(');
  int number =
      open == std::string::npos ? 0 : std::atoi(message.c_str() + open + 1);
  size_t line = 0;
  for (int i = 1; i < number && line != std::string::npos; ++i) {
    line = text.find('\n', line);
    line = line == std::string::npos ? line : line + 1;
  }
  if (number > 0 && line != std::string::npos)
    message +=
        "; the line is: " + text.substr(line, text.find('\n', line) - line);
  return message;
}

class OwnedProgram {
public:
  explicit OwnedProgram(const Library &nvrtc) : nvrtc(nvrtc) {}
  OwnedProgram(const OwnedProgram &) = delete;
  OwnedProgram &operator=(const OwnedProgram &) = delete;
  ~OwnedProgram() {
    if (program)
      nvrtc.destroyProgram(&program);
  }
  const Library &nvrtc;
  Program program = nullptr;
};

absl::StatusOr<std::string> compileWith(const Library &nvrtc,
                                        const std::string &text,
                                        const GpuTarget &target) {
  OwnedProgram owned(nvrtc);
  if (int error = nvrtc.createProgram(&owned.program, text.c_str(), "kernel.cu",
                                      0, nullptr, nullptr);
      error != kSuccess)
    return absl::FailedPreconditionError(
        std::string("NVRTC cannot take a program: ") + nvrtc.errorText(error));
  std::string architecture = "--gpu-architecture=" + target.architecture();
  // Without declarations of textures and the like, which take time to read.
  const char *options[] = {architecture.c_str(), "--std=c++17", "--minimal"};
  int error = nvrtc.compileProgram(owned.program, 3, options);
  if (error == kSuccess) {
    size_t size = 0;
    error = nvrtc.getCubinSize(owned.program, &size);
    std::string cubin(size, '\0');
    if (error == kSuccess)
      error = nvrtc.getCubin(owned.program, cubin.data());
    if (error == kSuccess && size > 0) {
      if (auto mended = delayReadsOfZeros(cubin); !mended.ok())
        return mended.status();
      return cubin;
    }
    return absl::InternalError(
        std::string("NVRTC compiled but gave no machine code: ") +
        nvrtc.errorText(error));
  }
  size_t logSize = 0;
  nvrtc.getLogSize(owned.program, &logSize);
  std::string log(logSize, '\0');
  if (logSize > 0)
    nvrtc.getLog(owned.program, log.data());
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n'))
    log.pop_back();
  if (log.find("--gpu-architecture") != std::string::npos)
    return absl::FailedPreconditionError("this NVRTC cannot compile for " +
                                         target.architecture() + ": " + log);
  std::string path = keep(text);
  return absl::InternalError(std::string(nvrtc.errorText(error)) + ": " +
                             describe(log, text) +
                             (path.empty() ? "; the text could not be kept"
                                           : "; the text is in " + path));
}

} // namespace

absl::StatusOr<std::string> nvrtcVersion() {
  const Library &nvrtc = library();
  if (!nvrtc.status.ok())
    return nvrtc.status;
  int major = 0, minor = 0;
  if (int error = nvrtc.version(&major, &minor); error != kSuccess)
    return absl::FailedPreconditionError(
        std::string("NVRTC does not tell its version: ") +
        nvrtc.errorText(error));
  return std::to_string(major) + "." + std::to_string(minor);
}

absl::StatusOr<std::string> compileToCubin(const std::string &text,
                                           const GpuTarget &target) {
  const Library &nvrtc = library();
  if (!nvrtc.status.ok())
    return nvrtc.status;
  static std::atomic<unsigned> calls{0};
  if (calls++ % 2 == 1)
    if (const Library *second = secondLibrary()) {
      absl::StatusOr<std::string> cubin = compileWith(*second, text, target);
      if (cubin.ok())
        return cubin;
      // If the text is wrong, the first library reports the error too.
    }
  return compileWith(nvrtc, text, target);
}

} // namespace aitune
