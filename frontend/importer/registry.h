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

// The families of operators. RegisterXOps adds the builders of family X, in the
// file of its name.
#define AITUNE_OPERATOR_FAMILIES(FAMILY) \
  FAMILY(Pointwise)                      \
  FAMILY(Arithmetic)                     \
  FAMILY(Activation)                     \
  FAMILY(Reduction)                      \
  FAMILY(View)                           \
  FAMILY(Movement)                       \
  FAMILY(Pad)                            \
  FAMILY(Indexing)                       \
  FAMILY(Creation)                       \
  FAMILY(Contraction)                    \
  FAMILY(Convolution)                    \
  FAMILY(Attention)                      \
  FAMILY(Einsum)                         \
  FAMILY(Loss)                           \
  FAMILY(Normalization)                  \
  FAMILY(Patch)                          \
  FAMILY(Pooling)                        \
  FAMILY(Resize)                         \
  FAMILY(Recurrent)                      \
  FAMILY(Sampling)                       \
  FAMILY(Scatter)                        \
  FAMILY(Search)                         \
  FAMILY(Sorting)

#define AITUNE_DECLARE_FAMILY(name) \
  void Register##name##Ops(Registry& registry);
AITUNE_OPERATOR_FAMILIES(AITUNE_DECLARE_FAMILY)
#undef AITUNE_DECLARE_FAMILY

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_REGISTRY_H_
