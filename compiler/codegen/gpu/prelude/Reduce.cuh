// Reductions over the threads of a group.

// Combiners of two partial results.
struct Sum { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a + b; } };
struct Product { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a * b; } };
struct Maximum { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return maximum(a, b); } };
struct Minimum { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return minimum(a, b); } };
struct Or { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a | b; } };
struct And { template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a & b; } };

// Combines the `value` of each of the Threads threads of a group and returns the
// result in all of them. A group is 2, 4, ... 32 threads of a warp or the whole
// block. `scratch` is shared memory with an element for each warp of the block;
// no other reduction may use it, since nothing waits for its last reader.
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

// Combines each of the N `values` over the Y threads of a column of the block, in
// which thread (x, y) is number y * X + x, and leaves the results in all of them.
// Y is a power of two. `scratch` is shared memory with Y * X * N elements; no
// other reduction may use it.
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
