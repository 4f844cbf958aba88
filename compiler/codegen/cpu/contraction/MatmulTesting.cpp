#include "compiler/codegen/cpu/contraction/MatmulTesting.h"

namespace aitune::testing {

std::ostream &operator<<(std::ostream &stream, const MatmulCase &c) {
  return stream << c.m << "x" << c.n << "x" << c.k << " " << c.type << " "
                << c.target << " " << c.config << " " << c.codes;
}

std::string tensor(llvm::ArrayRef<int64_t> sizes, llvm::StringRef elementType) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + elementType.str() + ">";
}

TestTensor multiply(const TestTensor &lhs, const TestTensor &rhs, int64_t batch,
                    int64_t m, int64_t n, int64_t k, bool transposeLhs,
                    bool transposeRhs, bool sharedRhs) {
  TestTensor result({batch, m, n});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t s = 0; s < k; ++s) {
          int64_t left = transposeLhs ? s * m + i : i * k + s;
          int64_t right = transposeRhs ? j * k + s : s * n + j;
          sum += double(lhs.values[b * m * k + left]) *
                 rhs.values[(sharedRhs ? 0 : b * k * n) + right];
        }
        result.values[(b * m + i) * n + j] = static_cast<float>(sum);
      }
  return result;
}

} // namespace aitune::testing
