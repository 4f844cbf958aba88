#include "frontend/torchscript/written_arguments.h"

namespace aitune::frontend {

std::vector<size_t> WrittenArguments(const torch::jit::Node& node) {
  std::vector<size_t> written;
  const c10::FunctionSchema* schema = node.maybeSchema();
  for (size_t i = 0; schema != nullptr && i < node.inputs().size() &&
                     i < schema->arguments().size();
       ++i) {
    const c10::AliasInfo* alias = schema->arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) written.push_back(i);
  }
  return written;
}

}  // namespace aitune::frontend
