#include "frontend/torchscript/look.h"

#include "absl/strings/str_cat.h"

namespace aitune::frontend {

torch::jit::Operator LookOperator(const char* name, const char* parameters,
                                  void (*look)(torch::jit::Stack& stack)) {
  return torch::jit::Operator(absl::StrCat(name, parameters, " -> ()"), look,
                              c10::AliasAnalysisKind::CONSERVATIVE);
}

torch::jit::Node* MakeLook(torch::jit::Graph& graph, const char* name,
                           at::ArrayRef<torch::jit::Value*> inputs) {
  return graph.create(c10::Symbol::fromQualString(name), inputs,
                      /*num_outputs=*/0);
}

}  // namespace aitune::frontend
