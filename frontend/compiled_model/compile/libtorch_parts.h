// Parts of a model that LibTorch runs alone, to be timed against kernels.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_LIBTORCH_PARTS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_LIBTORCH_PARTS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

// Thread-safe.
class LibTorchParts {
 public:
  // `trace` must live as long, and as what Make returns. Parts run on
  // trace.fallback_device: on the GPU if `on_gpu`.
  LibTorchParts(const Trace& trace, bool on_gpu);

  // The calls at these positions, with all that are on the way between them,
  // and views that only they read, or that are all that reads them. None of the
  // additional ones is in `others`. kUnimplemented says why the calls are no
  // part: another of `others` is between them, or not all that passes in and
  // out are tensors that can be made up. Positions must be those of calls.
  absl::StatusOr<LibTorchPart> Make(absl::Span<const int64_t> ops,
                                    const std::set<int64_t>& others) const;

 private:
  // Adds to `ops` what is between them.
  void Close(std::set<int>& ops) const;
  void AddViews(std::set<int>& ops, const std::set<int64_t>& others) const;
  bool IsReadOnlyBy(ValueId value, const std::set<int>& ops) const;
  // Whether the call gives a view of the only tensor that it reads.
  bool IsView(int op) const;
  bool KeepsElementCount(int op) const;
  absl::Status CheckTensor(ValueId value, bool is_input) const;

  const Trace& trace_;
  const bool on_gpu_;
  std::vector<int> producers_;           // by value; -1: none
  std::vector<std::vector<int>> reads_;  // by call: the values that it reads
  std::vector<std::vector<int>> users_;  // by value: the calls that read it
  std::vector<bool> is_output_;          // by value: of the model
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_LIBTORCH_PARTS_H_
