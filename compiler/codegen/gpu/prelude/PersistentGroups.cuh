// Products by warpgroups in blocks that stay for many tiles (Hopper alone), with B as
// packColumns packed it at load. The first warpgroup of a block copies, through all
// tiles; the two others multiply. They take turns at tiles of 64 rows: one multiplies
// while the other stores the tile before, so that the tensor cores have work all the
// time. Or each has half of a tile of 128 rows: both read B, of which then less is
// copied, and store together, which is faster if k is long. `multiplyGroup` is as in
// Wgmma.cuh. (No faster on an H200: blocks of a cluster that copy B for each other.
// Faster by 1 to 3 % alone: A and B copied by tensor maps.)

// The order of tiles: bands of some of them downwards, in a band columns of tiles from
// left to right, so that what blocks read at a time is little.
struct TileOrder {
  static constexpr int bandRows = 16; // rows of tiles in a band
  int rows, columns; // numbers of tiles
  __device__ __forceinline__ int count() const { return rows * columns; }
  __device__ __forceinline__ int band(int tile) const { return tile / (bandRows * columns) * bandRows; }
  __device__ __forceinline__ int height(int tile) const {
    const int left = rows - band(tile);
    return left < bandRows ? left : bandRows;
  }
  __device__ __forceinline__ int row(int tile) const { return band(tile) + tile % (bandRows * columns) % height(tile); }
  __device__ __forceinline__ int column(int tile) const { return tile % (bandRows * columns) / height(tile); }
};

template <typename T, int BM, int BN, int Stages> struct PersistentGroups {
  using Sum = typename SumOf<T>::Type;
  static constexpr bool inTurn = BM == 64;
  static constexpr int depth = 128 / sizeof(T), bytesA = BM * 128, bytesB = BN * 128, bytes = bytesA + bytesB;
  // Registers of a thread that copies and of one that multiplies; of 65536.
  static constexpr int registersToCopy = inTurn ? 56 : 80, registersToMultiply = inTurn ? 224 : 208;

  const unsigned base;
  // The stage that is filled or read next, and the parity of the phase that is
  // awaited there.
  int slot = 0;
  unsigned parity;
  int turn = 0;  // which of the two warpgroups has the next tile, if they take turns
  int ahead = 0; // parts of B that are under way already
  Sum sums[BN / 2];

  // To be called by all threads.
  __device__ __forceinline__ explicit PersistentGroups(unsigned char *shared)
      : base(sharedAddress(shared)), parity(copies() ? 1 : 0) {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int s = 0; s < Stages; ++s) {
        initBarrier(full(s), 128 + 1);
        initBarrier(empty(s), BM / 16); // a warp has 16 rows
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
  }
  static __device__ __forceinline__ bool copies() { return threadIdx.x < 128; }
  static __device__ __forceinline__ int group() { return threadIdx.x / 128 - 1; }
  // The first row of the tile that this warpgroup multiplies.
  static __device__ __forceinline__ int firstRow() { return inTurn ? 0 : group() * 64; }
  __device__ __forceinline__ unsigned full(int s) const { return base + Stages * bytes + s * 16; }
  __device__ __forceinline__ unsigned empty(int s) const { return full(s) + 8; }
  __device__ __forceinline__ void advance(int steps) {
    slot += steps;
    parity ^= slot / Stages & 1;
    slot %= Stages;
  }
  static __device__ __forceinline__ int stepsOf(int k) { return (k + depth - 1) / depth; }

  // Starts to copy B's part of a step, with one thread.
  template <typename B> __device__ __forceinline__ void copyB(const B *packed, int step, int s) {
    static_assert(sizeof(B) == sizeof(T), "both have as many elements in a step");
    copyPiece(base + s * bytes + bytesA, packed + static_cast<long long>(step) * (BN * depth), bytesB, full(s));
  }
  // Before a thread that copies copies anything; B's part of its first tile begins at
  // `packed`. Waits for the kernel before, for A.
  template <typename B> __device__ __forceinline__ void startToCopy(const B *packed, int k) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registersToCopy));
    const int steps = stepsOf(k);
    ahead = steps < Stages ? steps : Stages;
    if (threadIdx.x == 0)
      for (int s = 0; s < ahead; ++s)
        copyB(packed, s, s);
    waitForPrevious();
  }
  template <typename A, typename B> __device__ __forceinline__ void copy(const A &a, const B *packed, int k) {
    TileFill<A, BM, 8, 128, depth> fill(a, 0);
    const int steps = stepsOf(k);
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      awaitBarrier(empty(slot), parity);
      if (ahead > 0)
        --ahead;
      else if (threadIdx.x == 0)
        copyB(packed, s, slot);
      fill.fill(a, base + slot * bytes);
      arriveAfterCopies(full(slot));
      advance(1);
    }
  }
  // After the last tile: a thread stays until what it copies has come.
  static __device__ __forceinline__ void finishCopying() {
    commitCopies();
    waitCopies<0>();
  }

  __device__ __forceinline__ void startToMultiply() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registersToMultiply));
    if (inTurn && group() == 1)
      passTurn();
    waitForPrevious();
  }
  // Whether the next tile is this warpgroup's. If not, it is passed over.
  __device__ __forceinline__ bool takes(int k) {
    if constexpr (!inTurn)
      return true;
    turn ^= 1;
    if (turn != group())
      return true;
    advance(stepsOf(k));
    return false;
  }
  // A stage is no longer read by this warp.
  __device__ __forceinline__ void release(int s) const {
    if (threadIdx.x % 32 == 0)
      arriveAt(empty(s));
  }
  // The other warpgroup may await its stages: those of this one have come, so that
  // the parities that it awaits are those of its own.
  static __device__ __forceinline__ void passTurn() { announce(3 + (group() ^ 1), 256); }
  __device__ __forceinline__ void multiply(int k) {
    const int steps = stepsOf(k);
    int before = 0;
    if constexpr (inTurn)
      meet(3 + group(), 256);
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      awaitBarrier(full(slot), parity);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      const unsigned tile = base + slot * bytes, a = tile + firstRow() * 128, b = tile + bytesA;
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int i = 0; i < 4; ++i)
        multiplyGroup(sums, matrixDescriptor(a + i * 32), matrixDescriptor(b + i * 32), s > 0 || i > 0);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      waitGroups<1>();
      if (s > 0)
        release(before);
      before = slot;
      advance(1);
    }
    if constexpr (inTurn)
      passTurn();
    waitGroups<0>();
    release(before);
  }
  // The sums of 8 neighbouring columns in one row, of which a thread has BN / 16: of
  // part i those at rowOf(i) and columnOf(i) of the tile. The instruction
  // leaves a row's columns in pairs with four threads, which exchange them.
  static __device__ __forceinline__ int rowOf(int part) {
    return firstRow() + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + part % 2 * 8;
  }
  static __device__ __forceinline__ int columnOf(int part) { return part / 2 * 32 + threadIdx.x % 4 * 8; }
  __device__ __forceinline__ Pack<Sum, 8> take(int part) const {
    Pack<Sum, 8> pack;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      pack[i] = sums[part / 2 * 16 + i / 2 * 4 + part % 2 * 2 + i % 2];
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
      const bool isHigh = threadIdx.x & distance;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int other = i + 2 * distance;
        if ((i / 2 & distance) == 0) {
          const Sum received = __shfl_xor_sync(0xffffffffu, isHigh ? pack[i] : pack[other], distance);
          pack[i] = isHigh ? received : pack[i];
          pack[other] = isHigh ? pack[other] : received;
        }
      }
    }
    return pack;
  }
};
