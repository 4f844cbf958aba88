// Runs the reference on kernels written as text, for its tests.
#ifndef AITUNE_COMPILER_REFERENCE_REFERENCETESTING_H
#define AITUNE_COMPILER_REFERENCE_REFERENCETESTING_H

#include <string>
#include <vector>

#include "compiler/reference/Reference.h"

namespace aitune {

/// The results of the function that `text` holds, for arguments given as
/// numbers that are stored in the arguments' types. A failure of the test and
/// nothing if the text is no function or has no reference.
std::vector<ReferenceResult>
referenceOf(const std::string &text,
            const std::vector<std::vector<double>> &arguments,
            const std::vector<int64_t> &symbols = {},
            const ReferenceOptions &options = {});

/// The values of the first result, integers and bools as numbers.
std::vector<double> valuesOf(const std::string &text,
                             const std::vector<std::vector<double>> &arguments,
                             const std::vector<int64_t> &symbols = {});

/// A function of one operation: "ait.exp %a0 : tensor<2xf32>" with the types
/// of its arguments %a0, %a1, ... and of its result.
std::string kernelOf(const std::string &operation,
                     const std::vector<std::string> &arguments,
                     const std::string &result);

} // namespace aitune

#endif // AITUNE_COMPILER_REFERENCE_REFERENCETESTING_H
