// Products with a B of 8-bit codes by warpgroups (Hopper alone). The rows of B
// are the left operand, from registers, where their codes are widened while the
// product of the stage before runs; the rows of A are the right one, read from
// shared memory as those of B are in Wgmma.cuh. `multiplyGroup` is the
// instruction for the tile's rows of A.

__device__ __forceinline__ unsigned readPair(unsigned address) {
  unsigned short x;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(address) : "memory");
  return x;
}

// A warpgroup has 64 rows of B, a warp 16 of them.
template <typename T, typename Code, int BM, int BN> struct CodeGroupCore {
  static constexpr int threads = BN * 2, slices = 1, depth = 64, chunksB = 4, rowsB = BN;
  using Sum = float;
  // The widened codes of a stage: four registers for each of its four steps.
  struct Factors {
    unsigned at[4][4];
  };
  float sums[BM / 2];
  __device__ __forceinline__ void widenStage(Factors &factors, unsigned b) const {
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int s = 0; s < 4; ++s)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const unsigned chunk = b + swizzle<4>(row + h * 8, s) * 16 + pair;
        widen(T(), Code(), readPair(chunk) | readPair(chunk + 8) << 16, factors.at[s][h], factors.at[s][h + 2]);
      }
  }
  __device__ __forceinline__ void start(const Factors &factors, unsigned a, bool isFirst) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int s = 0; s < 4; ++s)
      multiplyGroup(sums, factors.at[s], matrixDescriptor(a + s * 32), !isFirst || s > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  template <int Stride> __device__ __forceinline__ void write(float *tile) const {
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, m = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < BM / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        tile[(j * 8 + m + e % 2) * Stride + row + e / 2 * 8] = sums[j * 4 + e] * CodeUnit<T, Code>::value;
  }
};

// As multiplyTileByGroups. Two sets of widened codes are used in turn: one is
// written while the product of the other runs. The number of stages is even,
// without a branch that would make products wait for each other; behind the end
// of k a stage is zeros, and a cluster's blocks have whole pairs but for the last.
template <typename Core, int BM, int BN, int Stages, bool ConstantB, typename A, typename B>
__device__ __forceinline__ float *multiplyTileByCodeGroups(const A &a, const B &b, int first, int last, unsigned char *shared) {
  constexpr int bytesA = BM * 128, bytes = bytesA + BN * 64, ahead = Stages - 2;
  const unsigned base = sharedAddress(shared);
  TileFill<B, BN, Core::chunksB, Core::threads, Core::depth> fillB(b, first);
  const int steps = (last - first + 2 * Core::depth - 1) / (2 * Core::depth) * 2;
  if constexpr (!ConstantB)
    waitForPrevious();
#pragma unroll
  for (int s = 0; s < ahead; ++s)
    if (s < steps)
      fillB.fill(b, base + s * bytes + bytesA);
  TileFill<A, BM, 8, Core::threads, Core::depth> fillA(a, first);
  if constexpr (ConstantB)
    waitForPrevious();
  sendFirst<ahead>(fillA, a, base, bytes, steps);
  Core core;
  Ring<Stages> ring(ahead);
  auto step = [&](typename Core::Factors &factors, int s) {
    waitCopies<ahead - 1>();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    core.widenStage(factors, base + ring.read * bytes + bytesA);
    core.start(factors, base + ring.read * bytes, s == 0);
    if (s + ahead < steps) {
      fillA.fill(a, base + ring.written * bytes);
      fillB.fill(b, base + ring.written * bytes + bytesA);
    }
    commitCopies();
    waitGroups<1>();
    ring.advance();
  };
  typename Core::Factors even, odd;
  for (int s = 0; s < steps; s += 2) {
    step(even, s);
    step(odd, s + 1);
  }
  waitGroups<0>();
  return finishTile<BN>(core, shared);
}
