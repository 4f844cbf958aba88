// Products of few rows of A with many rows of B, as fast as B can be read. Each of
// the eight warps of a block has BN / 8 rows of B, of which each lane copies and
// multiplies 16 of every 512 bytes. No thread reads what another one copied, so
// threads wait for their own copies only. `Stages` steps of 512 bytes are copied
// ahead; if B is constant, the first ones while the previous kernel still runs.

// Leaves the BM x BN product over k in [first, last) in `shared`, as floats in
// rows of BN + 4, and returns its address. Depth is the number of elements of
// k, rounded up to a multiple of 512 bytes.
template <typename T, int BM, int BN, int Stages, int Depth, bool ConstantB>
__device__ __forceinline__ float *multiplyStream(const Rows<T> &a, const Rows<T> &b, int first, int last, unsigned char *shared) {
  constexpr int threads = 256, rows = BN / 8, elements = 16 / sizeof(T), step = 32 * elements;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = b.first + warp * rows;
  unsigned char *const ring = shared + threadIdx.x * 16;
  T *const x = reinterpret_cast<T *>(shared + Stages * rows * threads * 16);
  float *const tile = reinterpret_cast<float *>(x + BM * Depth);
  const unsigned to = sharedAddress(ring);
  auto fill = [&](int slot, int k) {
    k += lane * elements;
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      const bool valid = k < last && row + j < b.rows;
      copyChunk(to + (slot * rows + j) * threads * 16, valid ? b.from + (row + j) * b.stride + k : b.from, valid);
    }
  };
  if constexpr (!ConstantB)
    waitForPrevious();
#pragma unroll
  for (int s = 0; s < Stages; ++s) {
    fill(s, first + s * step);
    commitCopies();
  }
  if constexpr (ConstantB)
    waitForPrevious();
  for (int i = threadIdx.x * elements; i < BM * Depth; i += threads * elements) {
    const int r = a.first + i / Depth, k = first + i % Depth;
    uint4 chunk = make_uint4(0, 0, 0, 0);
    if (r < a.rows && k < last)
      chunk = *reinterpret_cast<const uint4 *>(a.from + r * a.stride + k);
    *reinterpret_cast<uint4 *>(x + i) = chunk;
  }
  __syncthreads();
  float sums[BM][rows] = {};
  int slot = 0;
  for (int k = first; k < last; k += step) {
    waitCopies<Stages - 1>();
    Pack<T, elements> pack[rows];
#pragma unroll
    for (int j = 0; j < rows; ++j)
      pack[j] = load<elements>(reinterpret_cast<const T *>(ring + (slot * rows + j) * threads * 16));
#pragma unroll
    for (int m = 0; m < BM; ++m) {
      const Pack<T, elements> other = load<elements>(x + m * Depth + k - first + lane * elements);
#pragma unroll
      for (int e = 0; e < elements; ++e)
#pragma unroll
        for (int j = 0; j < rows; ++j)
          sums[m][j] = fmaf(toFloat(pack[j][e]), toFloat(other[e]), sums[m][j]);
    }
    if (k + Stages * step < last)
      fill(slot, k + Stages * step);
    commitCopies();
    slot = slot + 1 == Stages ? 0 : slot + 1;
  }
#pragma unroll
  for (int m = 0; m < BM; ++m)
#pragma unroll
    for (int j = 0; j < rows; ++j) {
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2)
        sums[m][j] += __shfl_xor_sync(0xffffffff, sums[m][j], distance);
      if (lane == 0)
        tile[m * (BN + 4) + warp * rows + j] = sums[m][j];
    }
  __syncthreads();
  return tile;
}
