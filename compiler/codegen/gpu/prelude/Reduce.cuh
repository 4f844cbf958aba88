// Combiners of reductions.
struct Sum { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a + b; } };
struct Product { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a * b; } };
struct Maximum {
  template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a > b ? a : b; }
  static __device__ __forceinline__ float combine(float a, float b) { return maximum(a, b); }
  static __device__ __forceinline__ double combine(double a, double b) { return maximum(a, b); }
};
struct Minimum {
  template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a < b ? a : b; }
  static __device__ __forceinline__ float combine(float a, float b) { return minimum(a, b); }
  static __device__ __forceinline__ double combine(double a, double b) { return minimum(a, b); }
};
struct Or { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a | b; } };
struct And { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a & b; } };

// The combination of `value` over the Threads threads of a group, in each of
// them. A group is a part of a warp or the whole block; `scratch` has an
// element for each warp of a block and is used once.
template <typename Op, int Threads, typename T>
__device__ __forceinline__ T reduceGroup(T value, T *scratch) {
  constexpr int width = Threads < 32 ? Threads : 32, warps = Threads / 32;
#pragma unroll
  for (int offset = width / 2; offset > 0; offset /= 2)
    value = Op::combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, offset)));
  if constexpr (warps > 1) {
    if (threadIdx.x % 32 == 0)
      scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = scratch[0];
#pragma unroll
    for (int i = 1; i < warps; ++i)
      value = Op::combine(value, scratch[i]);
  }
  return value;
}

// The combination of `values` over the Y (a power of two) threads of a column;
// thread (x, y) = (threadIdx.x % X, threadIdx.x / X). `scratch` has Y * X * N
// elements and is used once.
template <typename Op, int X, int Y, typename T, int N>
__device__ __forceinline__ void reduceColumn(T (&values)[N], T *scratch) {
  const int x = threadIdx.x % X, y = threadIdx.x / X;
#pragma unroll
  for (int j = 0; j < N; ++j)
    scratch[(y * N + j) * X + x] = values[j];
  __syncthreads();
#pragma unroll
  for (int half = Y / 2; half > 0; half /= 2) {
    if (y < half)
#pragma unroll
      for (int j = 0; j < N; ++j)
        scratch[(y * N + j) * X + x] =
            Op::combine(scratch[(y * N + j) * X + x], scratch[((y + half) * N + j) * X + x]);
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < N; ++j)
    values[j] = scratch[j * X + x];
}
