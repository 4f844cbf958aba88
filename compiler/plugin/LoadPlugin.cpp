#include "compiler/plugin/LoadPlugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "compiler/plugin/LoadedPlugins.h"
#include "compiler/support/PluginName.h"
#include "runtime/hash/sha256.h"
#include "runtime/status/regular_file.h"
#include "llvm/Config/llvm-config.h"

namespace aitune {

absl::Status loadPlugin(const std::string &path) {
  auto refuse = [&](const std::string &why) {
    return absl::InvalidArgumentError(
        absl::StrCat("plug-in ", path, ": ", why));
  };
  if (const absl::Status status = CheckRegularFile(path); !status.ok())
    return absl::Status(status.code(),
                        absl::StrCat("plug-in ", status.message()));
  // A path without a slash would be looked for among the system's libraries.
  const std::unique_ptr<char, decltype(&std::free)> absolute(
      realpath(path.c_str(), nullptr), &std::free);
  if (!absolute)
    return refuse("there is no such file");
  void *library = dlopen(absolute.get(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return refuse(absl::StrCat("it cannot be loaded: ", dlerror()));
  const auto *entry =
      static_cast<const PluginEntry *>(dlsym(library, "aitunePlugin"));
  if (!entry)
    return refuse("it defines no aitunePlugin; see AITUNE_PLUGIN in "
                  "compiler/plugin/Plugin.h");
  if (entry->version != kPluginVersion)
    return refuse(absl::StrCat("it was compiled for version ", entry->version,
                               " of the plug-in interface, this program has ",
                               kPluginVersion, "; compile it again"));
  if (std::string(entry->llvmVersion) != LLVM_VERSION_STRING)
    return refuse(absl::StrCat("it was compiled against LLVM ",
                               entry->llvmVersion, ", this program against ",
                               LLVM_VERSION_STRING, "; compile it again"));
  for (const LoadedPlugin &loaded : loadedPlugins())
    if (loaded.name == entry->name)
      return absl::AlreadyExistsError(
          absl::StrCat("plug-in ", path, ": '", entry->name,
                       "' is loaded already, from ", loaded.path));
  std::ifstream file(absolute.get(), std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  loadedPlugins().push_back({entry->name, absolute.get(), Sha256Hex(content)});
  const ScopedPlugin registering(entry->name);
  if (const std::string thrown = whatIsThrown(entry->registerAll);
      !thrown.empty())
    return refuse(absl::StrCat("its function registers nothing: ", thrown));
  return absl::OkStatus();
}

} // namespace aitune
