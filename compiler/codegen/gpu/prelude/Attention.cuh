// softmax(q k^T * scale + mask) v without storing the scores. Keys are taken in
// steps; when a step has greater scores than those before, the sums so far are
// scaled to the new maximum (Milakov and Gimelshein, Online normalizer calculation
// for softmax, 2018). `adjust(x, t, s)` is the score x of query t and key s with
// the mask applied. The sums of a query that sees no key are
// 0 and are multiplied by `factorWithoutKeys`: 0, or NaN for what a softmax gives.
// The result is left in `shared`, in rows of ValueDepth + 4 floats, and its address
// is returned. Few queries with many keys are shared by the Splits blocks of a
// cluster, along its z axis, each with a part of the keys; the result is then the
// sum of what they leave.

__device__ __forceinline__ float minusInfinity() { return __int_as_float(0xff800000); }
__device__ __forceinline__ float notANumber() { return __int_as_float(0x7fffffff); }
// The weight of a score beside the greatest one. The difference first: scores of a
// mask of the least numbers are all alike, and would be infinite times log2(e).
__device__ __forceinline__ float weightOf(float score, float greatest) { return quickExp2((score - greatest) * kLog2E); }

// One of two numbers, both of which are computed: a branch for each pair would keep
// the loads of a mask from being under way together.
__device__ __forceinline__ float choose(bool first, float x, float y) {
  float z;
  asm("{\n.reg .pred p;\nsetp.ne.b32 p, %1, 0;\nselp.f32 %0, %2, %3, p;\n}" : "=f"(z) : "r"(static_cast<int>(first)), "f"(x), "f"(y));
  return z;
}

__device__ __forceinline__ unsigned packPair(half, float low, float high) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ unsigned packPair(bfloat, float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Waits for the blocks that share queries, of which one alone is this one.
template <int Splits> __device__ __forceinline__ void syncSplits() {
  if constexpr (Splits > 1)
    syncCluster();
  else
    __syncthreads();
}

// The steps of a block, of `all`: every block but the last has as many.
template <int Splits> struct OwnSteps {
  int begin, end;
  __device__ __forceinline__ explicit OwnSteps(int all) : begin(0), end(all) {
    if constexpr (Splits > 1) {
      const int each = (all + Splits - 1) / Splits;
      begin = static_cast<int>(blockIdx.z) * each;
      end = begin + each < all ? begin + each : all;
    }
  }
};

// What the sums of a query must be multiplied by whose greatest score is `greatest`,
// so that the result is the sum of all parts. Each part has its greatest score and
// its sum of weights in the shared memory of its block.
template <int Splits, int Parts, int Rows>
__device__ __forceinline__ float shareOf(const float (&greatests)[Parts][Rows], const float (&totals)[Parts][Rows], int row,
                                         float greatest, float factorWithoutKeys) {
  float all = minusInfinity(), sum = 0.0f;
#pragma unroll
  for (int block = 0; block < Splits; ++block)
#pragma unroll
    for (int part = 0; part < Parts; ++part)
      all = fmaxf(all, ofBlock<Splits>(greatests[part][row], block));
#pragma unroll
  for (int block = 0; block < Splits; ++block)
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const float its = ofBlock<Splits>(greatests[part][row], block), total = ofBlock<Splits>(totals[part][row], block);
      sum += its == minusInfinity() ? total : total * weightOf(its, all);
    }
  const float share = greatest == minusInfinity() ? 1.0f : weightOf(greatest, all);
  return sum == 0.0f ? factorWithoutKeys : share / sum;
}

// On tensor cores. Each of WQ warps has 16 queries. WK groups of such warps share
// the 64 keys of a step; each leaves its part of the result in a tile of its own,
// scaled so that the result is the sum of the tiles.
template <typename T, int WQ, int WK, int Depth, int ValueDepth, bool Causal, int Splits, typename Adjust>
__device__ __forceinline__ float *attend(const Columns<T> &q, const Columns<T> &k, const Columns<T> &v, int first,
                                         float scale, const Adjust &adjust, float factorWithoutKeys,
                                                unsigned char *shared) {
  constexpr int threads = WQ * WK * 32, keys = 64, own = keys / WK, queries = WQ * 16;
  constexpr int chunks = Depth <= 32 ? 4 : Depth <= 64 ? 8 : 16, chunksV = ValueDepth <= 32 ? 4 : ValueDepth <= 64 ? 8 : 16;
  constexpr int bytesQ = queries * chunks * 16, bytesK = keys * chunks * 16, bytes = bytesK + keys * chunksV * 16;
  constexpr int stepsD = (Depth + 15) / 16, tilesE = (ValueDepth + 15) / 16 * 2;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, m = warp % WQ * 16, group = warp / WQ;
  const unsigned base = sharedAddress(shared);
  int steps = (k.rows + keys - 1) / keys;
  if constexpr (Causal) {
    const int needed = (first + queries - 1) / keys + 1;
    steps = steps < needed ? steps : needed;
  }
  const OwnSteps<Splits> ours(steps);
  TileFill<Columns<T>, queries, chunks, threads, queries> fillQ(q, first);
  TileFill<Columns<T>, keys, chunks, threads, keys> fillK(k, ours.begin * keys);
  TileFill<Columns<T>, keys, chunksV, threads, keys> fillV(v, ours.begin * keys);
  fillQ.fill(q, base);
  fillK.fill(k, base + bytesQ);
  fillV.fill(v, base + bytesQ + bytesK);
  commitCopies();
  unsigned fq[stepsD][4];
  float sums[tilesE][4], greatest[2] = {minusInfinity(), minusInfinity()}, total[2] = {0.0f, 0.0f};
#pragma unroll
  for (int j = 0; j < tilesE; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[j][i] = 0.0f;
  for (int step = ours.begin; step < ours.end; ++step) {
    waitCopies<0>();
    __syncthreads();
    const unsigned at = base + bytesQ + (step - ours.begin) % 2 * bytes;
    if (step + 1 < ours.end) {
      const unsigned next = base + bytesQ + (step + 1 - ours.begin) % 2 * bytes;
      fillK.fill(k, next);
      fillV.fill(v, next + bytesK);
    }
    commitCopies();
    if (step == ours.begin)
#pragma unroll
      for (int d = 0; d < stepsD; ++d)
        loadMatrices(fq[d], base + swizzle<chunks>(m + lane % 16, d * 2 + lane / 16) * 16);
    float scores[own / 8][4];
#pragma unroll
    for (int j = 0; j < own / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[j][i] = 0.0f;
#pragma unroll
    for (int d = 0; d < stepsD; ++d)
#pragma unroll
      for (int j = 0; j < own / 16; ++j) {
        unsigned fk[4];
        loadMatrices(fk, at + swizzle<chunks>(group * own + j * 16 + lane % 8 + lane / 16 * 8, d * 2 + lane / 8 % 2) * 16);
        multiply(T(), scores[j * 2], fq[d], fk[0], fk[1]);
        multiply(T(), scores[j * 2 + 1], fq[d], fk[2], fk[3]);
      }
    // Apply the mask and find the greatest score of each row.
    float before[2] = {greatest[0], greatest[1]};
    const int end = (step + 1) * keys;
    auto query = [&](int i) { return first + m + lane / 4 + i / 2 * 8; };
    auto key = [&](int j, int i) { return step * keys + group * own + j * 8 + lane % 4 * 2 + i % 2; };
    // A condition for each pair would keep the loads of a mask apart.
    if (end <= k.rows && first + queries <= q.rows && (!Causal || end <= first + m + 1)) {
#pragma unroll
      for (int j = 0; j < own / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          scores[j][i] = adjust(scores[j][i] * scale, query(i), key(j, i));
    } else {
#pragma unroll
      for (int j = 0; j < own / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int t = query(i), s = key(j, i);
          float x = minusInfinity();
          if (s < k.rows && t < q.rows && (!Causal || s <= t))
            x = adjust(scores[j][i] * scale, t, s);
          scores[j][i] = x;
        }
    }
#pragma unroll
    for (int j = 0; j < own / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        greatest[i / 2] = fmaxf(greatest[i / 2], scores[j][i]);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      greatest[h] = fmaxf(greatest[h], __shfl_xor_sync(0xffffffffu, greatest[h], 1));
      greatest[h] = fmaxf(greatest[h], __shfl_xor_sync(0xffffffffu, greatest[h], 2));
      const float correction = greatest[h] == minusInfinity() ? 1.0f : weightOf(before[h], greatest[h]);
      total[h] *= correction;
#pragma unroll
      for (int j = 0; j < tilesE; ++j) {
        sums[j][h * 2] *= correction;
        sums[j][h * 2 + 1] *= correction;
      }
    }
#pragma unroll
    for (int j = 0; j < own / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores[j][i] = scores[j][i] == minusInfinity() ? 0.0f : weightOf(scores[j][i], greatest[i / 2]);
        total[i / 2] += scores[j][i];
      }
#pragma unroll
    for (int j = 0; j < own / 16; ++j) {
      const unsigned fp[4] = {packPair(T(), scores[j * 2][0], scores[j * 2][1]), packPair(T(), scores[j * 2][2], scores[j * 2][3]),
                              packPair(T(), scores[j * 2 + 1][0], scores[j * 2 + 1][1]),
                              packPair(T(), scores[j * 2 + 1][2], scores[j * 2 + 1][3])};
#pragma unroll
      for (int e = 0; e < tilesE / 2; ++e) {
        unsigned fv[4];
        loadMatricesTransposed(fv, at + bytesK + swizzle<chunksV>(group * own + j * 16 + lane % 16, e * 2 + lane / 16) * 16);
        multiply(T(), sums[e * 2], fp, fv[0], fv[1]);
        multiply(T(), sums[e * 2 + 1], fp, fv[2], fv[3]);
      }
    }
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
  }
  waitCopies<0>();
  __syncthreads();
  float factors[2];
  if constexpr (WK * Splits == 1) {
#pragma unroll
    for (int h = 0; h < 2; ++h)
      factors[h] = total[h] == 0.0f ? factorWithoutKeys : 1.0f / total[h];
  } else {
    __shared__ float greatests[WK][queries], totals[WK][queries];
    if (lane % 4 == 0)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        greatests[group][m + lane / 4 + h * 8] = greatest[h];
        totals[group][m + lane / 4 + h * 8] = total[h];
      }
    syncSplits<Splits>();
#pragma unroll
    for (int h = 0; h < 2; ++h)
      factors[h] = shareOf<Splits>(greatests, totals, m + lane / 4 + h * 8, greatest[h], factorWithoutKeys);
  }
  float *tile = reinterpret_cast<float *>(shared);
  float *part = tile + group * queries * (ValueDepth + 4);
#pragma unroll
  for (int j = 0; j < tilesE; ++j)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (j * 8 < ValueDepth)
        *reinterpret_cast<float2 *>(part + (m + lane / 4 + h * 8) * (ValueDepth + 4) + j * 8 + lane % 4 * 2) =
            make_float2(sums[j][h * 2] * factors[h], sums[j][h * 2 + 1] * factors[h]);
  __syncthreads();
  return tile;
}

// A matrix with any strides, in elements. Rows beyond its end are zeros.
template <typename T> struct Strided {
  const T *from;
  long long rowStride, columnStride;
  int rows;
  __device__ __forceinline__ float at(int row, int column) const {
    return row < rows ? toFloat(from[row * rowStride + column * columnStride]) : 0.0f;
  }
};
// In fp32 without tensor cores, for every element type and depth. A warp has four
// queries. For the scores each lane has a key, for the result each lane has every
// 32nd element of a value.
template <typename T, int Warps, int Depth, int ValueDepth, bool Causal, int Splits, typename Adjust>
__device__ __forceinline__ float *attendSimt(const Strided<T> &q, const Strided<T> &k, const Strided<T> &v, int first,
                                             float scale, const Adjust &adjust, float factorWithoutKeys,
                                                unsigned char *shared) {
  constexpr int each = 4, queries = Warps * each, parts = (ValueDepth + 31) / 32, threads = Warps * 32;
  float *qs = reinterpret_cast<float *>(shared), *ks = qs + queries * Depth, *vs = ks + 32 * (Depth + 1);
  const int lane = threadIdx.x % 32, m = threadIdx.x / 32 * each;
  for (int i = threadIdx.x; i < queries * Depth; i += threads)
    qs[i] = q.at(first + i / Depth, i % Depth);
  float sums[each][parts], greatest[each], total[each];
#pragma unroll
  for (int r = 0; r < each; ++r) {
    greatest[r] = minusInfinity();
    total[r] = 0.0f;
#pragma unroll
    for (int p = 0; p < parts; ++p)
      sums[r][p] = 0.0f;
  }
  int end = k.rows;
  if constexpr (Causal)
    end = end < first + queries ? end : first + queries;
  const OwnSteps<Splits> ours((end + 31) / 32);
  for (int s0 = ours.begin * 32; s0 < end && s0 < ours.end * 32; s0 += 32) {
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * Depth; i += threads)
      ks[i / Depth * (Depth + 1) + i % Depth] = k.at(s0 + i / Depth, i % Depth);
    for (int i = threadIdx.x; i < 32 * ValueDepth; i += threads)
      vs[i] = v.at(s0 + i / ValueDepth, i % ValueDepth);
    __syncthreads();
    float scores[each];
#pragma unroll
    for (int r = 0; r < each; ++r)
      scores[r] = 0.0f;
    for (int d = 0; d < Depth; ++d) {
      const float x = ks[lane * (Depth + 1) + d];
#pragma unroll
      for (int r = 0; r < each; ++r)
        scores[r] = fmaf(qs[(m + r) * Depth + d], x, scores[r]);
    }
#pragma unroll
    for (int r = 0; r < each; ++r) {
      const int t = first + m + r, s = s0 + lane;
      float x = minusInfinity();
      if (s < k.rows && t < q.rows && (!Causal || s <= t))
        x = adjust(scores[r] * scale, t, s);
      float all = fmaxf(greatest[r], x);
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2)
        all = fmaxf(all, __shfl_xor_sync(0xffffffffu, all, offset));
      const float correction = all == minusInfinity() ? 1.0f : weightOf(greatest[r], all);
      scores[r] = x == minusInfinity() ? 0.0f : weightOf(x, all);
      greatest[r] = all;
      total[r] = total[r] * correction + scores[r];
#pragma unroll
      for (int p = 0; p < parts; ++p)
        sums[r][p] *= correction;
    }
    for (int s = 0; s < 32; ++s)
#pragma unroll
      for (int p = 0; p < parts; ++p) {
        const int e = p * 32 + lane;
        const float x = e < ValueDepth ? vs[s * ValueDepth + e] : 0.0f;
#pragma unroll
        for (int r = 0; r < each; ++r)
          sums[r][p] = fmaf(__shfl_sync(0xffffffffu, scores[r], s), x, sums[r][p]);
      }
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < each; ++r)
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      total[r] += __shfl_xor_sync(0xffffffffu, total[r], offset);
  float factors[each];
  if constexpr (Splits == 1) {
#pragma unroll
    for (int r = 0; r < each; ++r)
      factors[r] = total[r] == 0.0f ? factorWithoutKeys : 1.0f / total[r];
  } else {
    __shared__ float greatests[1][queries], totals[1][queries];
    if (lane == 0)
#pragma unroll
      for (int r = 0; r < each; ++r) {
        greatests[0][m + r] = greatest[r];
        totals[0][m + r] = total[r];
      }
    syncSplits<Splits>();
#pragma unroll
    for (int r = 0; r < each; ++r)
      factors[r] = shareOf<Splits>(greatests, totals, m + r, greatest[r], factorWithoutKeys);
  }
  float *tile = reinterpret_cast<float *>(shared);
#pragma unroll
  for (int r = 0; r < each; ++r)
#pragma unroll
    for (int p = 0; p < parts; ++p)
      if (p * 32 + lane < ValueDepth)
        tile[(m + r) * (ValueDepth + 4) + p * 32 + lane] = sums[r][p] * factors[r];
  __syncthreads();
  return tile;
}
