// A cuBLASLt that computes nothing and remembers what it was asked for, for
// tests on machines without a GPU. It is a library of its own, which a test
// loads before the code under test asks for libcublasLt.so.13.
#ifndef AITUNE_RUNTIME_CUDA_TESTING_FAKE_CUBLASLT_H_
#define AITUNE_RUNTIME_CUDA_TESTING_FAKE_CUBLASLT_H_

#include <cublasLt.h>

#include <cstdint>

namespace aitune::cuda {

// The last call of cublasLtMatmul.
struct FakeMatmul {
  const void *a = nullptr, *b = nullptr;
  void* d = nullptr;
  // cudaDataType_t of the matrices.
  uint64_t type_a = 0, type_b = 0, type_d = 0;
  // The values of the descriptor's attributes, of up to 8 bytes, by their
  // numbers (cublasLtMatmulDescAttributes_t); 0: not set.
  uint64_t attributes[64] = {};
  // What the algorithm may take for granted of the addresses of A, B, C and D,
  // in bytes.
  uint32_t alignments[4] = {};
};

}  // namespace aitune::cuda

extern "C" aitune::cuda::FakeMatmul* FakeCublasLtLastMatmul();

#endif  // AITUNE_RUNTIME_CUDA_TESTING_FAKE_CUBLASLT_H_
