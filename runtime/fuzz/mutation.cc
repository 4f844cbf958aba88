#include "runtime/fuzz/mutation.h"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>

namespace aitune {

std::string Mutated(std::string input, std::mt19937& random) {
  const auto below = [&](size_t n) { return random() % n; };
  for (size_t edits = 1 + below(4); edits > 0 && input.size() > 1; --edits) {
    const size_t at = 1 + below(input.size() - 1);
    switch (below(5)) {
      case 0:
        input[at] = static_cast<char>(random());
        break;
      case 1:
        input[at] ^= static_cast<char>(1 << below(8));
        break;
      case 2:
        input.erase(at, 1 + below(8));
        break;
      case 3:
        input.insert(at, input.substr(at, 1 + below(32)));
        break;
      default:
        input.insert(at, 1 + below(8), static_cast<char>(random()));
        break;
    }
  }
  return input;
}

std::vector<std::string> ReadCorpus(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.insert(entry.path());
  std::vector<std::string> contents;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(file),
                          std::istreambuf_iterator<char>());
  }
  return contents;
}

}  // namespace aitune
