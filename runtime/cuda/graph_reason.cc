#include "runtime/cuda/graph_reason.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace aitune::cuda {
namespace {

std::string Skipped(const Step& step, absl::string_view more) {
  return absl::StrCat("skipping CUDA graphs due to unsupported operations: ",
                      step.fallback().operator_(), " runs in LibTorch (",
                      step.fallback().reason(), ")", more);
}

// Operators that LibTorch computes by cuSOLVER, without their namespace.
constexpr const char* kSolvers[] = {"cholesky",
                                    "cholesky_inverse",
                                    "cholesky_solve",
                                    "det",
                                    "geqrf",
                                    "inverse",
                                    "linalg_cholesky",
                                    "linalg_cholesky_ex",
                                    "linalg_cond",
                                    "linalg_det",
                                    "linalg_eig",
                                    "linalg_eigh",
                                    "linalg_eigvals",
                                    "linalg_eigvalsh",
                                    "linalg_householder_product",
                                    "linalg_inv",
                                    "linalg_inv_ex",
                                    "linalg_ldl_factor",
                                    "linalg_ldl_factor_ex",
                                    "linalg_ldl_solve",
                                    "linalg_lstsq",
                                    "linalg_lu",
                                    "linalg_lu_factor",
                                    "linalg_lu_factor_ex",
                                    "linalg_lu_solve",
                                    "linalg_matrix_rank",
                                    "linalg_pinv",
                                    "linalg_qr",
                                    "linalg_slogdet",
                                    "linalg_solve",
                                    "linalg_solve_ex",
                                    "linalg_svd",
                                    "linalg_svdvals",
                                    "logdet",
                                    "lu_solve",
                                    "nuclear_norm",
                                    "orgqr",
                                    "ormqr",
                                    "pinverse",
                                    "qr",
                                    "slogdet",
                                    "svd"};

// Whether one of the operators, with commas between, is one of kSolvers. An
// attempt to record those fails, and so does what anybody in the process calls
// of them next (seen with eigvalsh on an H200).
bool CallsSolver(absl::string_view operators) {
  for (absl::string_view name : absl::StrSplit(operators, ", ")) {
    absl::ConsumePrefix(&name, "aten::");
    absl::ConsumePrefix(&name, "_");
    name = name.substr(0, name.find('.'));
    if (std::find(std::begin(kSolvers), std::end(kSolvers), name) !=
        std::end(kSolvers))
      return true;
  }
  return false;
}

}  // namespace

std::string FindGraphReason(const LoadedPlan& loaded, bool records_regions) {
  for (const Step& step : loaded.plan().steps()) {
    if (!step.has_fallback()) continue;
    if (!records_regions) return Skipped(step, "");
    if (CallsSolver(step.fallback().operator_()))
      return Skipped(step, ", and cuSOLVER's operators can't be recorded");
    // A graph gives the same objects each time.
    for (int32_t value : loaded.output_values()) {
      if (loaded.values()[value].storage == ValueProto::OPAQUE)
        return Skipped(step, ", and an output is not a tensor of known size");
    }
  }
  return "";
}

}  // namespace aitune::cuda
