// What the tests of matmuls share: the sizes and types of a case, and a
// reference that has nothing in common with the kernels' code.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MATMULTESTING_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MATMULTESTING_H

#include <cstdint>
#include <ostream>
#include <string>

#include "compiler/codegen/cpu/contraction/MicrokernelTesting.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace aitune::testing {

/// One product of a table of tests: [m, k] x [k, n].
struct MatmulCase {
  int64_t m, n, k;
  std::string type = "f32";
  std::string target = "host";
  std::string config = "{}";
  std::string codes = "i8"; ///< the type of codes on the right side
};

std::ostream &operator<<(std::ostream &stream, const MatmulCase &c);

/// The type of a tensor as MLIR writes it, such as tensor<4x8xf32>.
std::string tensor(llvm::ArrayRef<int64_t> sizes, llvm::StringRef elementType);

/// The reference, summed in double precision: [batch, m, k] x [batch, k, n] ->
/// [batch, m, n]. A transposed side lies with its last two axes exchanged; a
/// shared right side has no axis for the batch.
TestTensor multiply(const TestTensor &lhs, const TestTensor &rhs, int64_t batch,
                    int64_t m, int64_t n, int64_t k, bool transposeLhs = false,
                    bool transposeRhs = false, bool sharedRhs = false);

} // namespace aitune::testing

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MATMULTESTING_H
