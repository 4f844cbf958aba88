// Matrix products by warpgroups (four warps, Hopper alone): both operands are
// read from shared memory, in the rows of 128 bytes and the swizzle that
// TileFill writes. `multiplyGroup` is the instruction for the tile's columns.
__device__ __forceinline__ unsigned long long matrixDescriptor(unsigned address) {
  // Groups of 8 rows are 1024 bytes apart; swizzled by 128 bytes.
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
template <int Pending> __device__ __forceinline__ void waitGroups() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// A warpgroup has 64 rows of the tile, a warp 16 of them.
template <typename T, int BM, int BN> struct WgmmaCore {
  static constexpr int threads = BM * 2, slices = 1, depth = 64, chunksB = 8, rowsB = BN;
  float sums[BN / 2];
  __device__ __forceinline__ void start(unsigned a, unsigned b, bool isFirst) {
    a += threadIdx.x / 128 * 64 * 128;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 4; ++k)
      multiplyGroup(sums, matrixDescriptor(a + k * 32), matrixDescriptor(b + k * 32), !isFirst || k > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  template <int Stride> __device__ __forceinline__ void write(float *tile) const {
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        *reinterpret_cast<float2 *>(tile + (row + h * 8) * Stride + j * 8 + column) =
            make_float2(sums[j * 4 + h * 2], sums[j * 4 + h * 2 + 1]);
  }
};

// As multiplyTile. While the product of a stage runs, the stage before it may
// still be read by other warps: the one before that is filled.
template <typename Core, int BM, int BN, int Stages, bool ConstantB, typename A, typename B>
__device__ __forceinline__ float *multiplyTileByGroups(const A &a, const B &b, int first, int last, unsigned char *shared) {
  constexpr int bytesA = BM * 128, bytes = bytesA + BN * 128, ahead = Stages - 2;
  const unsigned base = sharedAddress(shared);
  TileFill<B, BN, 8, Core::threads, Core::depth> fillB(b, first);
  const int steps = (last - first + Core::depth - 1) / Core::depth;
  if constexpr (!ConstantB)
    waitForPrevious();
#pragma unroll
  for (int s = 0; s < ahead; ++s)
    if (s < steps)
      fillB.fill(b, base + s * bytes + bytesA);
  if constexpr (ConstantB)
    waitForPrevious();
  TileFill<A, BM, 8, Core::threads, Core::depth> fillA(a, first);
#pragma unroll
  for (int s = 0; s < ahead; ++s) {
    if (s < steps)
      fillA.fill(a, base + s * bytes);
    commitCopies();
  }
  Core core;
  int read = 0, written = ahead;
  for (int s = 0; s < steps; ++s) {
    waitCopies<ahead - 1>();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    core.start(base + read * bytes, base + read * bytes + bytesA, s == 0);
    if (s + ahead < steps) {
      fillA.fill(a, base + written * bytes);
      fillB.fill(b, base + written * bytes + bytesA);
    }
    commitCopies();
    waitGroups<1>();
    read = read + 1 == Stages ? 0 : read + 1;
    written = written + 1 == Stages ? 0 : written + 1;
  }
  waitGroups<0>();
  waitCopies<0>();
  __syncthreads();
  float *tile = reinterpret_cast<float *>(shared);
  core.template write<BN + 4>(tile);
  __syncthreads();
  return tile;
}
