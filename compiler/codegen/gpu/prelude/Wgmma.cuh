// Matrix products by warpgroups, which are four warps; only Hopper has the
// instructions. Both operands are read from shared memory, in rows of 128 bytes
// with the swizzle that TileFill writes. The generator defines multiplyGroup, the
// instruction that multiplies 64 rows of A with all columns of the tile.

// The descriptor of 64 x 16 elements of A, or of 16 elements of each row of B, at
// the shared address `address` (PTX ISA, "Matrix descriptor" of wgmma).
__device__ __forceinline__ unsigned long long matrixDescriptor(unsigned address) {
  // The groups of 8 rows are 1024 bytes apart; the mode is the swizzle of 128
  // bytes.
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
template <int Pending> __device__ __forceinline__ void waitGroups() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// A BM x BN tile of which each warpgroup has the sums of 64 rows, each warp of 16.
template <typename T, int BM, int BN> struct WgmmaCore {
  static constexpr int threads = BM * 2, slices = 1, depth = 128 / sizeof(T), chunksB = 8, rowsB = BN;
  using Sum = typename SumOf<T>::Type;
  Sum sums[BN / 2];
  __device__ __forceinline__ void start(unsigned a, unsigned b, bool isFirst) {
    a += threadIdx.x / 128 * 64 * 128;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 4; ++k)
      multiplyGroup(sums, matrixDescriptor(a + k * 32), matrixDescriptor(b + k * 32), !isFirst || k > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  template <int Stride> __device__ __forceinline__ void write(Sum *tile) const {
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        store(tile + (row + h * 8) * Stride + j * 8 + column, Pack<Sum, 2>{sums[j * 4 + h * 2], sums[j * 4 + h * 2 + 1]});
  }
};

// As multiplyTile. While a stage is multiplied, other warps may still read the
// stage before it; so the stage before that is filled.
template <typename Core, int BM, int BN, int Stages, bool ConstantB, typename A, typename B>
__device__ __forceinline__ typename Core::Sum *multiplyTileByGroups(const A &a, const B &b, int first, int last, unsigned char *shared) {
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
  TileFill<A, BM, 8, Core::threads, Core::depth> fillA(a, first);
  if constexpr (ConstantB)
    waitForPrevious();
  sendFirst<ahead>(fillA, a, base, bytes, steps);
  Core core;
  Ring<Stages> ring(ahead);
  for (int s = 0; s < steps; ++s) {
    waitCopies<ahead - 1>();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    core.start(base + ring.read * bytes, base + ring.read * bytes + bytesA, s == 0);
    if (s + ahead < steps) {
      fillA.fill(a, base + ring.written * bytes);
      fillB.fill(b, base + ring.written * bytes + bytesA);
    }
    commitCopies();
    waitGroups<1>();
    ring.advance();
  }
  waitGroups<0>();
  return finishTile<BN>(core, shared);
}

// Barriers in shared memory at which the copy engine reports the end of copies.
__device__ __forceinline__ void initBarrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void awaitBarrier(unsigned barrier, unsigned parity) {
  asm volatile("{\n.reg .pred done;\nagain:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again;\n}" ::"r"(barrier), "r"(parity) : "memory");
}
__device__ __forceinline__ void arriveAt(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// The thread's arrival at the barrier when all copies that it has started are there.
__device__ __forceinline__ void arriveAfterCopies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
// Barriers of `threads` threads, among those that meet at `name`, of which the
// hardware has 16.
__device__ __forceinline__ void meet(int name, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}
__device__ __forceinline__ void announce(int name, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}
// Starts to copy `bytes` bytes, a multiple of 16. The barrier's phase ends when they
// are there.
__device__ __forceinline__ void copyPiece(unsigned to, const void *from, int bytes, unsigned barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
               "r"(bytes), "r"(barrier) : "memory");
}

// As multiplyTileByGroups for k in [0, last), with B as packColumns packed it at
// load: the copy engine copies the tile's columns of a step, which are in the
// order that they must have in shared memory.
template <typename Core, int BM, int BN, int Stages, typename A, typename T>
__device__ __forceinline__ typename Core::Sum *multiplyTileByPackedGroups(const A &a, const T *packed, int last, unsigned char *shared) {
  constexpr int bytesA = BM * 128, bytesB = BN * 128, bytes = bytesA + bytesB, ahead = Stages - 2;
  const unsigned base = sharedAddress(shared), barriers = base + Stages * bytes;
  const int steps = (last + Core::depth - 1) / Core::depth;
  auto fillB = [&](int step, int slot) {
    copyPiece(base + slot * bytes + bytesA, packed + static_cast<long long>(step) * (BN * Core::depth), bytesB, barriers + slot * 8);
  };
  if (threadIdx.x == 0) {
#pragma unroll
    for (int s = 0; s < Stages; ++s)
      initBarrier(barriers + s * 8, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#pragma unroll
    for (int s = 0; s < ahead; ++s)
      if (s < steps)
        fillB(s, s);
  }
  TileFill<A, BM, 8, Core::threads, Core::depth> fillA(a, 0);
  waitForPrevious();
  sendFirst<ahead>(fillA, a, base, bytes, steps);
  __syncthreads();
  Core core;
  Ring<Stages> ring(ahead);
  unsigned parity = 0;
  for (int s = 0; s < steps; ++s) {
    waitCopies<ahead - 1>();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    awaitBarrier(barriers + ring.read * 8, parity);
    __syncthreads();
    core.start(base + ring.read * bytes, base + ring.read * bytes + bytesA, s == 0);
    if (s + ahead < steps) {
      if (threadIdx.x == 0)
        fillB(s + ahead, ring.written);
      fillA.fill(a, base + ring.written * bytes);
    }
    commitCopies();
    waitGroups<1>();
    parity ^= ring.advance();
  }
  waitGroups<0>();
  return finishTile<BN>(core, shared);
}

// B [columns, k] in pieces of BN columns and 128 bytes of k, each as TileFill
// would leave it in shared memory; zeros beyond its ends.
template <int BN, typename T> __device__ __forceinline__ void packColumns(const T *from, T *to, long long stride, int columns, int k) {
  constexpr int elements = 16 / sizeof(T), depth = 8 * elements;
  const int steps = (k + depth - 1) / depth, tiles = (columns + BN - 1) / BN;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < 8ll * tiles * steps * BN; i += gridDim.x * 256ll) {
    const int row = i / 8 % BN, at = i / 8 / BN % steps * depth + (static_cast<int>(i % 8) ^ (row & 7)) * elements;
    const long long column = i / 8 / BN / steps * BN + row;
    uint4 chunk = make_uint4(0, 0, 0, 0);
    if (column < columns && at < k)
      chunk = *reinterpret_cast<const uint4 *>(from + column * stride + at);
    reinterpret_cast<uint4 *>(to)[i] = chunk;
  }
}
