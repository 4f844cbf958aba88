#include "frontend/compiled_model/compile/worker_program.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "compiler/plugin/LoadedPlugins.h"

namespace aitune::frontend {
namespace {

// The file that this code is in; empty if it can't be told.
std::filesystem::path OwnFile() {
  Dl_info self = {};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&FindWorkerProgram), &self,
              reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0)
    return {};
  // The main program's entry has no name; the one it was started by may be
  // relative to a folder left since.
  std::error_code error;
  if (map == nullptr || map->l_name[0] == '\0')
    return std::filesystem::read_symlink("/proc/self/exe", error);
  return std::filesystem::canonical(map->l_name, error);
}

}  // namespace

std::vector<std::string> FindWorkerProgram() {
  const std::filesystem::path own = OwnFile();
  if (own.empty()) return {};
  const std::filesystem::path folder = own.parent_path();
  for (const std::filesystem::path& program :
       {folder / "aitune", folder.parent_path() / "bin" / "aitune"}) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(program, error) ||
        access(program.c_str(), X_OK) != 0)
      continue;
    std::vector<std::string> command{program, "generate-kernels"};
    for (const LoadedPlugin& plugin : loadedPlugins())
      command.insert(command.end(), {"--plugin", plugin.path});
    return command;
  }
  return {};
}

}  // namespace aitune::frontend
