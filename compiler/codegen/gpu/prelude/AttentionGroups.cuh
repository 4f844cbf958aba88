// softmax(q k^T * scale + mask) v by warpgroups; only Hopper has the instructions.
// After FlashAttention-3 (Shah et al., 2024): a warpgroup of its own copies keys and
// values, and each of the others has 64 queries. A warpgroup starts the scores of a
// step together with the sums of the step before it. The warpgroups take turns at
// that, so that one's weights are computed during another's products. (That a
// warpgroup also computes weights during its own sums, as in that paper, took 5 to
// 20 % longer on an H200.) The generator defines multiplyScores and
// multiplyWeights, the instructions for Keys columns of scores and ValueDepth
// columns of the result.

// The mask of an attention that has none.
struct NoMask {};
template <typename Adjust> struct IsMask { static constexpr bool value = true; };
template <> struct IsMask<NoMask> { static constexpr bool value = false; };

// Makes registers that an instruction of a warpgroup writes unknown to the compiler,
// which does not see when it ends.
template <int N> __device__ __forceinline__ void refresh(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    asm volatile("" : "+f"(x[i])::"memory");
}
// The descriptor of 16 rows of values, of which the instruction reads columns; the
// next 64 columns are `part` bytes behind.
__device__ __forceinline__ unsigned long long columnsDescriptor(unsigned address, unsigned part) {
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) | static_cast<unsigned long long>(part >> 4) << 16 |
         64ull << 32 | 1ull << 62;
}

// Starts to copy Rows rows of Width elements, from row `first` on, with a warpgroup:
// in parts of 64 columns, each as TileFill writes it. Zeros beyond the ends of the
// matrix.
template <int Rows, int Width, typename T>
__device__ __forceinline__ void copyRows(const Columns<T> &source, int first, unsigned to) {
  constexpr int chunks = Width / 8, all = Rows * chunks, rowsAtATime = 128 / chunks;
  const int thread = threadIdx.x % 128;
  auto place = [&](int row, int chunk) { return to + chunk / 8 * (Rows * 128) + swizzle<8>(row, chunk % 8) * 16; };
  if (128 % chunks == 0 && first + Rows <= source.rows && Width == source.columns) {
    // No check, and places that differ by constants.
    const int row = thread / chunks, chunk = thread % chunks;
    const T *from = source.from + (first + row) * source.stride + chunk * 8;
#pragma unroll
    for (int p = 0; p < (all + 127) / 128; ++p, from += rowsAtATime * source.stride)
      if (all % 128 == 0 || p * 128 + thread < all)
        copyChunk(place(row + p * rowsAtATime, chunk), from, true);
    return;
  }
#pragma unroll 2
  for (int i = thread; i < all; i += 128) {
    const int row = i / chunks, chunk = i % chunks;
    const bool valid = first + row < source.rows && chunk * 8 < source.columns;
    copyChunk(place(row, chunk), valid ? source.from + (first + row) * source.stride + chunk * 8 : source.from, valid);
  }
}

// A block of Groups * 64 queries, and one warpgroup more that copies, the last one.
// Resident: the number of blocks that share a multiprocessor. KeepsQueries: whether
// the queries stay in registers, which takes a third of the reads of shared memory
// from the scores' instructions.
template <typename T, int Groups, int Resident, int Keys, int Stages, int Depth, int ValueDepth, bool Causal, bool KeepsQueries>
struct GroupAttention {
  static constexpr int computing = Groups * 128;
  static constexpr int width = (Depth + 15) / 16 * 16, parts = (Depth + 63) / 64, partsV = (ValueDepth + 63) / 64;
  static constexpr int bytesQ = 64 * 128 * parts, bytesK = Keys * 128 * parts, bytesV = Keys * 128 * partsV;
  static constexpr bool inTurn = Groups > 1;
  // Registers of a thread, in steps of 8: at first, as a multiprocessor has 65536,
  // and after the copying warpgroup has handed over what it does not need.
  static constexpr int threads = computing + 128, registersAtFirst = 65536 / Resident / threads / 8 * 8;
  static constexpr int registersToCopy = Groups == 3 || Resident > 2 ? 32 : 40;
  static constexpr int spread = (registersAtFirst * threads - registersToCopy * 128) / computing / 8 * 8;
  static constexpr int registers = spread < 240 ? spread : 240;

  // Addresses in shared memory: of the tiles of a slot, and of the barriers at which
  // they are full or empty again.
  static __device__ __forceinline__ unsigned keysAt(unsigned base, int slot) { return base + Groups * bytesQ + slot * bytesK; }
  static __device__ __forceinline__ unsigned valuesAt(unsigned base, int slot) {
    return base + Groups * bytesQ + Stages * bytesK + slot * bytesV;
  }
  enum Event { kKeysFull, kKeysEmpty, kValuesFull, kValuesEmpty };
  static __device__ __forceinline__ unsigned barrier(unsigned base, Event event, int slot) {
    return base + Groups * bytesQ + Stages * (bytesK + bytesV) + (event * Stages + slot) * 8;
  }
  // Without keys there is a step of which none is seen.
  static __device__ __forceinline__ int countSteps(const Columns<T> &k, int first) {
    int steps = (k.rows + Keys - 1) / Keys;
    if constexpr (Causal) {
      const int needed = (first + Groups * 64 - 1) / Keys + 1;
      steps = steps < needed ? steps : needed;
    }
    return steps > 1 ? steps : 1;
  }

  // To be called by all threads.
  static __device__ __forceinline__ void start(unsigned char *shared) {
    const unsigned base = sharedAddress(shared);
    if (threadIdx.x == 0) {
#pragma unroll
      for (int slot = 0; slot < Stages; ++slot) {
        initBarrier(barrier(base, kKeysFull, slot), 128);
        initBarrier(barrier(base, kValuesFull, slot), 128);
        initBarrier(barrier(base, kKeysEmpty, slot), Groups * 4);
        initBarrier(barrier(base, kValuesEmpty, slot), Groups * 4);
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
  }

  // The work of the last warpgroup.
  static __device__ __forceinline__ void copy(const Columns<T> &k, const Columns<T> &v, int first, unsigned char *shared) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registersToCopy));
    const unsigned base = sharedAddress(shared);
    const int steps = countSteps(k, first);
    int slot = 0;
    unsigned parity = 1;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      awaitBarrier(barrier(base, kKeysEmpty, slot), parity);
      copyRows<Keys, width>(k, step * Keys, keysAt(base, slot));
      arriveAfterCopies(barrier(base, kKeysFull, slot));
      awaitBarrier(barrier(base, kValuesEmpty, slot), parity);
      copyRows<Keys, ValueDepth>(v, step * Keys, valuesAt(base, slot));
      arriveAfterCopies(barrier(base, kValuesFull, slot));
      if (++slot == Stages) {
        slot = 0;
        parity ^= 1;
      }
    }
    waitCopies<0>();
  }

  // The work of the others. The result is left in `shared`, in rows of ValueDepth + 4
  // floats, and its address is returned. `scale` is positive, or there is a mask.
  template <typename Adjust>
  static __device__ __forceinline__ float *attend(const Columns<T> &q, const Columns<T> &k, int first, float scale,
                                                  const Adjust &adjust, float factorWithoutKeys, unsigned char *shared) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
    constexpr bool hasMask = IsMask<Adjust>::value;
    const unsigned base = sharedAddress(shared);
    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4,
              steps = countSteps(k, first), firstOfGroup = first + group * 64;
    const unsigned at = base + group * bytesQ;
    copyRows<64, width>(q, firstOfGroup, at);
    commitCopies();
    waitCopies<0>();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    meet(1 + group, 128);
    if (inTurn && group == Groups - 1)
      announce(1 + Groups, 256);

    unsigned queries[KeepsQueries ? width / 16 : 1][4];
    if constexpr (KeepsQueries)
#pragma unroll
      for (int d = 0; d < width / 16; ++d)
        loadMatrices(queries[d], at + d / 4 * 8192 +
                                     swizzle<8>(threadIdx.x % 128 / 32 * 16 + lane % 16, d % 4 * 2 + lane / 16) * 16);
    float scores[Keys / 2], sums[ValueDepth / 2], greatest[2] = {minusInfinity(), minusInfinity()}, total[2] = {0.0f, 0.0f};
    unsigned weights[Keys / 16][4];
#pragma unroll
    for (int i = 0; i < ValueDepth / 2; ++i)
      sums[i] = 0.0f;
    // Without a mask, a score times this is the exponent of 2 of its weight.
    const float factor = scale * kLog2E;

    auto awaitFull = [&](Event event, int slot, unsigned parity) {
      awaitBarrier(barrier(base, event, slot), parity);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    };
    auto release = [&](Event event, int slot) {
      __syncwarp();
      if (lane == 0)
        arriveAt(barrier(base, event, slot));
    };
    auto startScores = [&](int slot) {
      const unsigned keys = keysAt(base, slot);
      refresh(scores);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int d = 0; d < width / 16; ++d) {
        const unsigned long long columns = matrixDescriptor(keys + d / 4 * (Keys * 128) + d % 4 * 32);
        if constexpr (KeepsQueries)
          multiplyScores(scores, queries[d], columns, d > 0);
        else
          multiplyScores(scores, matrixDescriptor(at + d / 4 * 8192 + d % 4 * 32), columns, d > 0);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    };
    auto startSums = [&](int slot) {
      const unsigned values = valuesAt(base, slot);
      refresh(sums);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int j = 0; j < Keys / 16; ++j)
        multiplyWeights(sums, weights[j], columnsDescriptor(values + j * 2048, Keys * 128), 1);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    };
    // From the scores of a step to their weights; the sums before must be multiplied
    // by `correction`.
    auto weigh = [&](int step, float (&correction)[2]) {
      const int end = (step + 1) * Keys;
      const bool isWhole = end <= k.rows && (!Causal || end <= firstOfGroup + 1) && (!hasMask || firstOfGroup + 64 <= q.rows);
      auto query = [&](int i) { return first + row + i / 2 % 2 * 8; };
      auto key = [&](int i) { return step * Keys + i / 4 * 8 + lane % 4 * 2 + i % 2; };
      if (isWhole) {
        if constexpr (hasMask)
#pragma unroll
          for (int i = 0; i < Keys / 2; ++i)
            scores[i] = adjust(scores[i] * scale, query(i), key(i));
      } else {
#pragma unroll
        for (int i = 0; i < Keys / 2; ++i) {
          const int t = query(i), s = key(i);
          const bool isSeen = s < k.rows && (!hasMask || t < q.rows) && (!Causal || s <= t);
          if constexpr (hasMask)
            scores[i] = isSeen ? adjust(scores[i] * scale, t, s) : minusInfinity();
          else
            scores[i] = isSeen ? scores[i] : minusInfinity();
        }
      }
      float shift[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float before = greatest[h];
#pragma unroll
        for (int j = 0; j < Keys / 8; ++j)
          greatest[h] = fmaxf(greatest[h], fmaxf(scores[j * 4 + h * 2], scores[j * 4 + h * 2 + 1]));
        greatest[h] = fmaxf(greatest[h], __shfl_xor_sync(0xffffffffu, greatest[h], 1));
        greatest[h] = fmaxf(greatest[h], __shfl_xor_sync(0xffffffffu, greatest[h], 2));
        shift[h] = greatest[h] == minusInfinity() ? 0.0f : hasMask ? greatest[h] : greatest[h] * factor;
        correction[h] = hasMask ? weightOf(before, shift[h]) : quickExp2(before * factor - shift[h]);
        total[h] *= correction[h];
      }
#pragma unroll
      for (int i = 0; i < Keys / 2; ++i) {
        scores[i] = hasMask ? weightOf(scores[i], shift[i / 2 % 2]) : quickExp2(fmaf(scores[i], factor, -shift[i / 2 % 2]));
        total[i / 2 % 2] += scores[i];
      }
    };
    auto pack = [&] {
#pragma unroll
      for (int i = 0; i < Keys / 4; ++i)
        weights[i / 4][i % 4] = packPair(T(), scores[i * 2], scores[i * 2 + 1]);
    };

    float correction[2];
    int slot = 0, slotBefore = 0;
    unsigned parity = 0, parityBefore = 0;
    awaitFull(kKeysFull, 0, 0);
    startScores(0);
    waitGroups<0>();
    refresh(scores);
    release(kKeysEmpty, 0);
    weigh(0, correction);
    pack();
#pragma unroll 1
    for (int step = 1; step < steps; ++step) {
      if (++slot == Stages) {
        slot = 0;
        parity ^= 1;
      }
      awaitFull(kKeysFull, slot, parity);
      if constexpr (inTurn)
        meet(1 + Groups + group, 256);
      startScores(slot);
      awaitFull(kValuesFull, slotBefore, parityBefore);
      startSums(slotBefore);
      if constexpr (inTurn)
        announce(1 + Groups + (group + 1) % Groups, 256);
      waitGroups<0>();
      refresh(scores);
      refresh(sums);
      release(kKeysEmpty, slot);
      release(kValuesEmpty, slotBefore);
      weigh(step, correction);
#pragma unroll
      for (int i = 0; i < ValueDepth / 2; ++i)
        sums[i] *= correction[i / 2 % 2];
      pack();
      slotBefore = slot;
      parityBefore = parity;
    }
    awaitFull(kValuesFull, slotBefore, parityBefore);
    startSums(slotBefore);
    waitGroups<0>();
    refresh(sums);

    meet(15, computing);
    float *tile = reinterpret_cast<float *>(shared);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
      total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
      const float inverse = total[h] == 0.0f ? factorWithoutKeys : 1.0f / total[h];
#pragma unroll
      for (int j = 0; j < ValueDepth / 8; ++j)
        *reinterpret_cast<float2 *>(tile + (row + h * 8) * (ValueDepth + 4) + j * 8 + lane % 4 * 2) =
            make_float2(sums[j * 4 + h * 2] * inverse, sums[j * 4 + h * 2 + 1] * inverse);
    }
    meet(15, computing);
    return tile;
  }
};
