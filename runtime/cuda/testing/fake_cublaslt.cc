#include "runtime/cuda/testing/fake_cublaslt.h"

#include <cstring>

namespace {

using aitune::cuda::FakeMatmul;

FakeMatmul last;

// Descriptors are copied by value, as those of the library: attributes are kept
// in them. These are the places of the two that are beyond its 32 numbers.
constexpr int kScaleModeOfA = 9, kScaleModeOfB = 16;

int PlaceOf(int attribute) {
  return attribute == CUBLASLT_MATMUL_DESC_A_SCALE_MODE   ? kScaleModeOfA
         : attribute == CUBLASLT_MATMUL_DESC_B_SCALE_MODE ? kScaleModeOfB
                                                          : attribute;
}

}  // namespace

extern "C" {

FakeMatmul* FakeCublasLtLastMatmul() { return &last; }

const char* cublasLtGetStatusString(cublasStatus_t) { return "a fake's error"; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(&last);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor,
                                        cublasComputeType_t, cudaDataType_t) {
  *descriptor = new cublasLtMatmulDescOpaque_t{};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute,
    const void* value, size_t bytes) {
  const int place = PlaceOf(attribute);
  if (place >= 32 || bytes > 8) return CUBLAS_STATUS_INVALID_VALUE;
  descriptor->data[place] = 0;
  std::memcpy(&descriptor->data[place], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t) {
  *layout = new cublasLtMatrixLayoutOpaque_t{
      {static_cast<uint64_t>(type), rows, columns}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t,
                                                cublasLtMatrixLayoutAttribute_t,
                                                const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(
    cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t{};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(
    cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
    size_t bytes) {
  const int place = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (place < 0 || place >= 4 || bytes > 8) return CUBLAS_STATUS_SUCCESS;
  std::memcpy(&preference->data[place], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatmulPreference_t preference, int,
    cublasLtMatmulHeuristicResult_t results[], int* count) {
  results[0] = {};
  for (int i = 0; i < 4; ++i) results[0].algo.data[i] = preference->data[i];
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor,
                              const void*, const void* a,
                              cublasLtMatrixLayout_t layout_a, const void* b,
                              cublasLtMatrixLayout_t layout_b, const void*,
                              const void*, cublasLtMatrixLayout_t, void* d,
                              cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* algorithm, void*,
                              size_t, cudaStream_t) {
  last = {a, b, d, layout_a->data[0], layout_b->data[0], layout_d->data[0]};
  for (int i = 0; i < 4; ++i)
    last.alignments[i] = static_cast<uint32_t>(algorithm->data[i]);
  for (int attribute = 0; attribute < 64; ++attribute) {
    const int place = PlaceOf(attribute);
    if (place < 32 && (place == attribute || attribute > 30))
      last.attributes[attribute] = descriptor->data[place];
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
