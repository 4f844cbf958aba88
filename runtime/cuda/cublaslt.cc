// cuBLASLt's matrices are column-major. The row-major result D[M, N] is a
// column-major D^T, so rhs is passed as A and lhs as B. A value for each column
// of D is one for each row of D^T, which is how cuBLASLt applies a bias.
//
// Codes of 8-bit floats come with float32 factors of rows and of columns, which
// are multiplied with the sums before anything is rounded: their post-ops begin
// with two MULTIPLY, of one number for each row or for all, and of one for each
// column.

#include <cublasLt.h>

#include <map>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/library_call.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

#define AITUNE_CUBLASLT_FUNCTIONS(X)      \
  X(cublasLtCreate)                       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatrixLayoutSetAttribute)     \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmul)                       \
  X(cublasLtGetStatusString)

struct CublasLt {
#define AITUNE_DECLARE(name) decltype(&::name) name = nullptr;
  AITUNE_CUBLASLT_FUNCTIONS(AITUNE_DECLARE)
#undef AITUNE_DECLARE
  cublasLtHandle_t handle = nullptr;

  absl::Status Check(cublasStatus_t status, const char* what) const {
    if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
    const std::string text =
        absl::StrCat("cuBLASLt: ", what, ": ", cublasLtGetStatusString(status));
    return status == CUBLAS_STATUS_NOT_SUPPORTED ||
                   status == CUBLAS_STATUS_INVALID_VALUE
               ? absl::UnimplementedError(text)
           : status == CUBLAS_STATUS_ALLOC_FAILED
               ? absl::ResourceExhaustedError(text)
               : absl::InternalError(text);
  }
};

absl::StatusOr<CublasLt> LoadCublasLt(const Device& device) {
  AITUNE_ASSIGN_OR_RETURN(
      const SymbolLookup lookup,
      OpenLibrary({"libcublasLt.so.13"},
                  "It comes with LibTorch for CUDA 13 (nvidia-cublas): add its "
                  "folder to LD_LIBRARY_PATH."));
  CublasLt library;
  const char* missing = nullptr;
#define AITUNE_FIND(name)                                                 \
  library.name = reinterpret_cast<decltype(library.name)>(lookup(#name)); \
  if (library.name == nullptr) missing = #name;
  AITUNE_CUBLASLT_FUNCTIONS(AITUNE_FIND)
#undef AITUNE_FIND
  if (missing != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("libcublasLt.so.13 has no ", missing));
  }
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  AITUNE_RETURN_IF_ERROR(
      library.Check(library.cublasLtCreate(&library.handle), "starting"));
  return library;
}

// Each GPU has a handle of its own: a handle is tied to the GPU that is current
// when it is made (cublasLtCreate in NVIDIA's manual of cuBLAS).
absl::StatusOr<const CublasLt*> GetCublasLt(const Device& device) {
  static std::mutex mutex;
  static auto* const libraries =
      new std::map<const Device*, absl::StatusOr<CublasLt>>;
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = libraries->find(&device);
  if (found == libraries->end())
    found = libraries->emplace(&device, LoadCublasLt(device)).first;
  if (!found->second.ok()) return found->second.status();
  return &*found->second;
}

// The bytes of scratch memory that algorithms may use: cuBLASLt's
// recommendation for Hopper (32 MiB), which suffices for other GPUs.
constexpr int64_t kScratchBytes = int64_t{32} << 20;

struct Types {
  cudaDataType_t operands, result, scale;
  cublasComputeType_t compute;
};

absl::StatusOr<Types> TypesOf(DataType operands, DataType result,
                              bool allow_tf32) {
  if (operands == DataType::kFloat8E4M3Fn) {
    AITUNE_ASSIGN_OR_RETURN(Types types, TypesOf(result, result, false));
    if (types.scale != CUDA_R_32F) {
      return absl::UnimplementedError(
          "cuBLASLt: no matmul of 8-bit floats with a float64 result");
    }
    types.operands = CUDA_R_8F_E4M3;
    return types;
  }
  if (operands != result) {
    return absl::UnimplementedError("cuBLASLt: the operands' dtypes differ");
  }
  auto of = [](cudaDataType_t data, cudaDataType_t scale,
               cublasComputeType_t compute) {
    return Types{data, data, scale, compute};
  };
  switch (result) {
    case DataType::kFloat16:
      return of(CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
    case DataType::kBFloat16:
      return of(CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F);
    case DataType::kFloat32:
      return of(CUDA_R_32F, CUDA_R_32F,
                allow_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
    case DataType::kFloat64:
      return of(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F);
    default:
      return absl::UnimplementedError(
          absl::StrCat("cuBLASLt: no matmul of ", std::string(Name(result))));
  }
}

// A batch of equal matrices as the library sees them.
struct Matrix {
  int64_t rows = 0, columns = 0, stride = 0;  // column-major, in elements
};

struct Problem {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  Matrix a, b, d;
};

absl::StatusOr<Problem> MakeProblem(const MatmulCall& call, const Operand& lhs,
                                    const Operand& rhs, const Operand& output) {
  auto batch_of = [](const Operand& operand) {
    int64_t batch = 1;
    for (size_t i = 0; i + 2 < operand.sizes.size(); ++i)
      batch *= operand.sizes[i];
    return batch;
  };
  const size_t rank = output.sizes.size();
  if (rank < 2 || lhs.sizes.size() < 2 || rhs.sizes.size() < 2) {
    return absl::UnimplementedError("cuBLASLt: an operand is no matrix");
  }
  Problem p;
  p.m = output.sizes[rank - 2];
  p.n = output.sizes[rank - 1];
  const auto& l = lhs.sizes;
  p.k = call.transpose_lhs() ? l[l.size() - 2] : l[l.size() - 1];
  p.batch = batch_of(output);
  const int64_t lhs_batch = batch_of(lhs), rhs_batch = batch_of(rhs);
  if (rhs_batch == 1 && !call.transpose_lhs() && lhs_batch == p.batch) {
    // One matrix for all: the batch is more rows.
    p.m *= p.batch;
    p.batch = 1;
  }
  if ((p.batch > 1 && ((lhs_batch != 1 && lhs_batch != p.batch) ||
                       (rhs_batch != 1 && rhs_batch != p.batch))) ||
      lhs_batch > batch_of(output) || rhs_batch > batch_of(output)) {
    return absl::UnimplementedError(
        "cuBLASLt: a batch axis is broadcast beside another");
  }
  p.a = call.transpose_rhs() ? Matrix{p.k, p.n, 0} : Matrix{p.n, p.k, 0};
  p.b = call.transpose_lhs() ? Matrix{p.m, p.k, 0} : Matrix{p.k, p.m, 0};
  p.d = Matrix{p.n, p.m, p.m * p.n};
  if (rhs_batch > 1) p.a.stride = p.k * p.n;
  if (p.batch > 1 && lhs_batch > 1) p.b.stride = p.m * p.k;
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0) {
    return absl::UnimplementedError("cuBLASLt: a matrix has no elements");
  }
  return p;
}

class Matmul : public LibraryCall {
 public:
  explicit Matmul(const CublasLt& library) : library_(library) {}
  ~Matmul() override {
    if (descriptor_) library_.cublasLtMatmulDescDestroy(descriptor_);
    for (cublasLtMatrixLayout_t layout : {a_, b_, d_})
      if (layout) library_.cublasLtMatrixLayoutDestroy(layout);
  }

  absl::Status Prepare(const MatmulCall& call, absl::Span<const Operand> inputs,
                       const Operand& output, int algorithm);

  int64_t scratch_bytes() const override { return scratch_bytes_; }

  absl::Status Run(void* const* buffers, void* scratch,
                   CUstream stream) const override {
    // Bias and factors are the operands that a descriptor holds: a copy of it,
    // on this thread's stack, keeps calls apart.
    cublasLtMatmulDescOpaque_t descriptor = *descriptor_;
    for (auto [attribute, operand] :
         {std::pair(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_),
          {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, column_factors_},
          {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, row_factors_}}) {
      if (operand < 0) continue;
      AITUNE_RETURN_IF_ERROR(library_.Check(
          library_.cublasLtMatmulDescSetAttribute(
              &descriptor, attribute, &buffers[operand], sizeof(void*)),
          "setting an operand"));
    }
    void* result = buffers[output_];
    const double alpha64 = alpha_, beta64 = add_ >= 0 ? 1 : 0;
    const float alpha32 = alpha_, beta32 = add_ >= 0 ? 1 : 0;
    const bool is_double = types_.scale == CUDA_R_64F;
    return library_.Check(
        library_.cublasLtMatmul(
            library_.handle, &descriptor,
            is_double ? static_cast<const void*>(&alpha64) : &alpha32,
            buffers[1], a_, buffers[0], b_,
            is_double ? static_cast<const void*>(&beta64) : &beta32,
            add_ >= 0 ? buffers[add_] : result, d_, result, d_, &algorithm_,
            scratch, scratch_bytes_, reinterpret_cast<cudaStream_t>(stream)),
        "running a matmul");
  }

 private:
  absl::StatusOr<cublasLtMatrixLayout_t> Layout(cudaDataType_t type,
                                                const Matrix& matrix,
                                                int64_t batch) const {
    cublasLtMatrixLayout_t layout = nullptr;
    AITUNE_RETURN_IF_ERROR(library_.Check(
        library_.cublasLtMatrixLayoutCreate(&layout, type, matrix.rows,
                                            matrix.columns, matrix.rows),
        "describing a matrix"));
    const int32_t count = static_cast<int32_t>(batch);
    if (batch > 1) {
      library_.cublasLtMatrixLayoutSetAttribute(
          layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
      library_.cublasLtMatrixLayoutSetAttribute(
          layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.stride,
          sizeof(matrix.stride));
    }
    return layout;
  }

  absl::Status CheckFactors(const Problem& problem, const MatmulCall& call,
                            absl::Span<const Operand> inputs) const;
  absl::Status ChooseAlgorithm(const Problem& problem, int64_t operand_bytes,
                               int64_t result_bytes, int algorithm);

  const CublasLt& library_;
  Types types_{};
  cublasLtMatmulDesc_t descriptor_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  int64_t scratch_bytes_ = 0;
  // Positions among the buffers; -1: there is none.
  int bias_ = -1, add_ = -1, output_ = 0;
  int row_factors_ = -1, column_factors_ = -1;
  float alpha_ = 1;
};

absl::Status Matmul::Prepare(const MatmulCall& call,
                             absl::Span<const Operand> inputs,
                             const Operand& output, int algorithm) {
  std::vector<const PostOp*> post_ops;
  for (const PostOp& op : call.post_ops()) post_ops.push_back(&op);
  const bool has_codes = inputs[0].dtype == DataType::kFloat8E4M3Fn;
  if (has_codes) {
    if (post_ops.size() < 2 || post_ops[0]->kind() != PostOp::MULTIPLY ||
        post_ops[1]->kind() != PostOp::MULTIPLY) {
      return absl::UnimplementedError(
          "cuBLASLt: a matmul of 8-bit floats without factors of its rows and "
          "columns");
    }
    row_factors_ = post_ops[0]->operand();
    column_factors_ = post_ops[1]->operand();
    post_ops.erase(post_ops.begin(), post_ops.begin() + 2);
  }
  if (std::string reason = RejectMatmulPostOps(post_ops); !reason.empty()) {
    return absl::UnimplementedError(reason);
  }
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    const bool is_factor = i == row_factors_ || i == column_factors_;
    if (inputs[i].dtype != (is_factor ? DataType::kFloat32
                            : i < 2   ? inputs[0].dtype
                                      : output.dtype)) {
      return absl::UnimplementedError("cuBLASLt: the operands' dtypes differ");
    }
  }
  AITUNE_ASSIGN_OR_RETURN(
      types_, TypesOf(inputs[0].dtype, output.dtype, call.allow_tf32()));
  AITUNE_ASSIGN_OR_RETURN(const Problem problem,
                          MakeProblem(call, inputs[0], inputs[1], output));
  if (has_codes) {
    AITUNE_RETURN_IF_ERROR(CheckFactors(problem, call, inputs));
  }
  output_ = static_cast<int>(inputs.size());
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  bool relu = false, gelu = false;
  for (const PostOp* op : post_ops) {
    if (op->kind() == PostOp::SCALE) alpha_ = op->alpha();
    if (op->kind() == PostOp::BIAS) bias_ = op->operand();
    if (op->kind() == PostOp::ADD) add_ = op->operand();
    relu |= op->kind() == PostOp::RELU;
    gelu |= op->kind() == PostOp::GELU_TANH;
  }
  if (relu) epilogue = CUBLASLT_EPILOGUE_RELU;
  if (gelu) epilogue = CUBLASLT_EPILOGUE_GELU;
  if (bias_ >= 0) {
    if (ElementCount(inputs[bias_].sizes) != problem.n) {
      return absl::UnimplementedError("cuBLASLt: the bias has another length");
    }
    epilogue = relu   ? CUBLASLT_EPILOGUE_RELU_BIAS
               : gelu ? CUBLASLT_EPILOGUE_GELU_BIAS
                      : CUBLASLT_EPILOGUE_BIAS;
  }
  AITUNE_RETURN_IF_ERROR(
      library_.Check(library_.cublasLtMatmulDescCreate(
                         &descriptor_, types_.compute, types_.scale),
                     "describing a matmul"));
  const cublasOperation_t transpose = CUBLAS_OP_T;
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return library_.Check(library_.cublasLtMatmulDescSetAttribute(
                              descriptor_, attribute, &value, sizeof(value)),
                          "describing a matmul");
  };
  if (call.transpose_rhs()) {
    AITUNE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, transpose));
  }
  if (call.transpose_lhs()) {
    AITUNE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, transpose));
  }
  AITUNE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  // Of these only the alignment matters here.
  const void* aligned = reinterpret_cast<const void*>(uintptr_t{256});
  if (bias_ >= 0) {
    AITUNE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned));
  }
  if (has_codes) {
    // The sums of an H200 keep as many bits as in our own kernels.
    const int8_t fast = 1;
    const cublasLtMatmulMatrixScale_t vectors =
        CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    AITUNE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast));
    AITUNE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, vectors));
    AITUNE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, vectors));
    AITUNE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, aligned));
    AITUNE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, aligned));
  }
  AITUNE_ASSIGN_OR_RETURN(a_,
                          Layout(types_.operands, problem.a, problem.batch));
  AITUNE_ASSIGN_OR_RETURN(b_,
                          Layout(types_.operands, problem.b, problem.batch));
  AITUNE_ASSIGN_OR_RETURN(d_, Layout(types_.result, problem.d, problem.batch));
  return ChooseAlgorithm(problem, SizeInBytes(inputs[0].dtype),
                         SizeInBytes(output.dtype), algorithm);
}

// Whether the library can take the factors of a product of codes.
absl::Status Matmul::CheckFactors(const Problem& problem,
                                  const MatmulCall& call,
                                  absl::Span<const Operand> inputs) const {
  if (call.transpose_lhs() || !call.transpose_rhs() || problem.batch > 1) {
    return absl::UnimplementedError(
        "cuBLASLt: a matmul of 8-bit floats of which not both sides are one "
        "matrix whose rows are reduced");
  }
  if (ElementCount(inputs[row_factors_].sizes) != problem.m ||
      ElementCount(inputs[column_factors_].sizes) != problem.n) {
    return absl::UnimplementedError(
        "cuBLASLt: a matmul of 8-bit floats has not one factor for each row "
        "and one for each column");
  }
  return absl::OkStatus();
}

// The alignment in bytes of each matrix of a batch. A caller's tensor may start
// at any element; LibTorch's, and views of one, in practice at multiples of 16
// bytes. The matrices after the first lie `stride` elements apart.
uint32_t AlignmentOf(const Matrix& matrix, int64_t batch,
                     int64_t element_bytes) {
  constexpr int64_t kOfTensors = 16;
  return static_cast<uint32_t>(
      batch > 1 ? std::gcd(kOfTensors, matrix.stride * element_bytes)
                : kOfTensors);
}

absl::Status Matmul::ChooseAlgorithm(const Problem& problem,
                                     int64_t operand_bytes,
                                     int64_t result_bytes, int algorithm) {
  cublasLtMatmulPreference_t preference = nullptr;
  AITUNE_RETURN_IF_ERROR(
      library_.Check(library_.cublasLtMatmulPreferenceCreate(&preference),
                     "choosing an algorithm"));
  const uint64_t scratch = kScratchBytes;
  library_.cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &scratch,
      sizeof(scratch));
  // Parts of a split sum are added up in float32, never in the output's dtype.
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  library_.cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
      sizeof(reductions));
  const uint32_t of_a = AlignmentOf(problem.a, problem.batch, operand_bytes),
                 of_b = AlignmentOf(problem.b, problem.batch, operand_bytes),
                 of_d = AlignmentOf(problem.d, problem.batch, result_bytes);
  for (auto [attribute, alignment] :
       {std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, of_a),
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, of_b},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of_d},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of_d}}) {
    library_.cublasLtMatmulPreferenceSetAttribute(
        preference, attribute, &alignment, sizeof(alignment));
  }
  std::vector<cublasLtMatmulHeuristicResult_t> results(
      std::max(algorithm + 1, kMostAlgorithms));
  int count = 0;
  const cublasStatus_t status = library_.cublasLtMatmulAlgoGetHeuristic(
      library_.handle, descriptor_, a_, b_, d_, d_, preference, results.size(),
      results.data(), &count);
  library_.cublasLtMatmulPreferenceDestroy(preference);
  AITUNE_RETURN_IF_ERROR(library_.Check(status, "choosing an algorithm"));
  int position = 0;
  for (int i = 0; i < count; ++i) {
    if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
    if (position++ != algorithm) continue;
    algorithm_ = results[i].algo;
    scratch_bytes_ = results[i].workspaceSize;
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("cuBLASLt: there are ", position,
                                          " algorithms, not ", algorithm + 1));
}

}  // namespace

std::string RejectMatmulPostOps(absl::Span<const PostOp* const> post_ops) {
  // scale, then bias and residual in any order, then an activation.
  bool scale = false, bias = false, add = false, activation = false;
  for (const PostOp* op : post_ops) {
    if (activation) return "cuBLASLt: nothing can follow the activation";
    switch (op->kind()) {
      case PostOp::SCALE:
        if (scale || bias || add) return "cuBLASLt: a scale must come first";
        scale = true;
        break;
      case PostOp::BIAS:
        if (bias) return "cuBLASLt: a second bias";
        bias = true;
        break;
      case PostOp::ADD:
        if (add) return "cuBLASLt: a second addition";
        add = true;
        break;
      case PostOp::RELU:
      case PostOp::GELU_TANH:
        activation = true;
        break;
      case PostOp::GELU_ERF:
        return "cuBLASLt: its GELU is the tanh approximation, not the exact "
               "one";
      default:
        return absl::StrCat("cuBLASLt: no epilogue ",
                            PostOp::Kind_Name(op->kind()));
    }
  }
  return "";
}

absl::StatusOr<std::unique_ptr<LibraryCall>> PrepareMatmul(
    const Device& device, const MatmulCall& call,
    absl::Span<const Operand> inputs, const Operand& output, int algorithm) {
  AITUNE_ASSIGN_OR_RETURN(const CublasLt* library, GetCublasLt(device));
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  auto matmul = std::make_unique<Matmul>(*library);
  AITUNE_RETURN_IF_ERROR(matmul->Prepare(call, inputs, output, algorithm));
  return std::unique_ptr<LibraryCall>(std::move(matmul));
}

void LoadMatmulLibrary(const Device& device) {
  const Operand square{DataType::kFloat16, {1024, 1024}, false};
  PrepareMatmul(device, MatmulCall(), {square, square}, square, 0)
      .status()
      .IgnoreError();
}

}  // namespace aitune::cuda
