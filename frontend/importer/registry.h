// The builders of operators, by the operators' names.
#ifndef AITUNE_FRONTEND_IMPORTER_REGISTRY_H_
#define AITUNE_FRONTEND_IMPORTER_REGISTRY_H_

#include <functional>
#include <initializer_list>
#include <map>
#include <string>

#include "frontend/importer/op_importer.h"

namespace aitune::frontend {

// Makes `ait` operations of one call, or returns Reject with the reason. One
// builder handles every overload of its schema names: arguments are read by
// name, so overloads differ only in which arguments they have.
using Builder = std::function<absl::Status(OpImporter&)>;

class Registry {
 public:
  // All builders of this folder. Made once. Thread-safe.
  static const Registry& Get();

  // Adds a builder for these names. A name without a namespace is in "aten".
  // Precondition: none of the names was added before.
  void Add(std::initializer_list<const char*> names, const Builder& builder);
  // Null for a name without a builder. `name` is a schema name: "aten::add".
  const Builder* Find(const std::string& name) const;
  const std::map<std::string, Builder>& builders() const { return builders_; }

 private:
  std::map<std::string, Builder> builders_;
};

// Each adds the builders of one family of operators, in the file of its name.
void RegisterPointwiseOps(Registry& registry);
void RegisterArithmeticOps(Registry& registry);
void RegisterActivationOps(Registry& registry);
void RegisterReductionOps(Registry& registry);
void RegisterViewOps(Registry& registry);
void RegisterMovementOps(Registry& registry);
void RegisterPadOps(Registry& registry);
void RegisterIndexingOps(Registry& registry);
void RegisterCreationOps(Registry& registry);
void RegisterContractionOps(Registry& registry);
void RegisterConvolutionOps(Registry& registry);
void RegisterAttentionOps(Registry& registry);
void RegisterEinsumOps(Registry& registry);
void RegisterLossOps(Registry& registry);
void RegisterNormalizationOps(Registry& registry);
void RegisterPatchOps(Registry& registry);
void RegisterPoolingOps(Registry& registry);
void RegisterResizeOps(Registry& registry);
void RegisterRecurrentOps(Registry& registry);
void RegisterSamplingOps(Registry& registry);
void RegisterScatterOps(Registry& registry);
void RegisterSearchOps(Registry& registry);
void RegisterSortingOps(Registry& registry);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_REGISTRY_H_
