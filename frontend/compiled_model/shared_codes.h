// The codes and scales of quantised weights that the stored versions of a model
// have in common. Each version is compiled on its own and quantises the weights
// anew, to the same codes; stored once, beside the model, they take the room of
// one version.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_SHARED_CODES_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_SHARED_CODES_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "frontend/compiled_model/artifact.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// Whether a constant of this name holds codes of a quantised weight, or scales
// or sums that belong to them; the name of the weight is then in `weight`.
bool IsPartOfWeight(std::string_view constant, std::string* weight);

// Used by one thread at a time.
class SharedCodes {
 public:
  // `known` are tensors that lie beside the model already.
  explicit SharedCodes(const std::vector<ConstantTensor>& known);

  // Takes note of an artifact of the model. kInvalidArgument for one that can't
  // be read.
  absl::Status Add(const ArtifactBlobs& artifact);

  // By names: the codes, scales and sums of the weights in the artifacts. Of
  // two that differ the one that was added first.
  const std::map<std::string, ConstantTensor>& tensors() const {
    return tensors_;
  }
  // The names of the model's tensors that the artifacts read.
  const std::set<std::string>& read() const { return read_; }

  // Has an artifact read what is equal to tensors() as the model's tensors, and
  // makes it one of a model with this hash. Errors as Add.
  absl::Status Share(std::string_view model_sha256,
                     ArtifactBlobs* artifact) const;

 private:
  std::map<std::string, ConstantTensor> tensors_;
  std::set<std::string> read_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_SHARED_CODES_H_
