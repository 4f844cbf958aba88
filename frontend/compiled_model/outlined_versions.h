// The compiled versions of the parts of control flow that LibTorch runs
// (frontend/trace/outlined_program.h): each is a compiled model that belongs to
// the one whose trace has the part.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_OUTLINED_VERSIONS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_OUTLINED_VERSIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/compiled_model/build_report.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/trace/outlined_program.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// Compiles `programs`, those of a trace, for the inputs that they were seen
// with, with the options of the whole model. Adds one OutlinedReport for each
// to `reports`. A program that can't be compiled has no parts, and its report
// says why.
std::vector<OutlinedParts> CompileOutlined(
    absl::Span<const std::shared_ptr<OutlinedProgram>> programs,
    const BuildOptions& options, std::vector<OutlinedReport>& reports);

// Loads the versions in `parts` for `device`, and has `programs`, those of the
// trace that the parts were made from, run by them. Returns them. Errors: those
// of ReadArtifact and CompiledModel::FromParts, and kFailedPrecondition where
// `programs` are others.
absl::StatusOr<std::vector<std::shared_ptr<const CompiledModel>>> LoadOutlined(
    absl::Span<const std::shared_ptr<OutlinedProgram>> programs,
    const std::vector<OutlinedParts>& parts, const Device& device,
    bool cuda_graphs);

// What stands for the hash of such a program's model, whose weights are those
// of the whole model.
std::string OutlinedSha256(const OutlinedProgram& program);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_OUTLINED_VERSIONS_H_
