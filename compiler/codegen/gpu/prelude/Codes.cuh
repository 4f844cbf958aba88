// Products with a B of 8-bit codes (signed char, e4m3), which are widened to A's
// type in registers, exactly. The rows of B are the left operand of the matrix
// instruction: what is widened is used for all rows of A. A lane multiplies 16
// neighbouring codes of a row, which the instruction takes in another order of k
// than it asks for; A's elements are in the same order.

// The numbers of 4 codes, in pairs. e4m3 must not be NaN.
__device__ __forceinline__ void widen(bfloat, signed char, unsigned codes, unsigned &first, unsigned &second) {
  // The bits below the sign are the mantissa's of 128 and more; the sign is 128
  // more to take off.
  auto pair = [](unsigned bits) {
    unsigned y;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(bits & 0xff7fff7fu), "r"(0x3f803f80u), "r"((bits & 0x00800080u) | 0xc300c300u));
    return y;
  };
  first = pair(__byte_perm(codes, 0x43434343u, 0x4140));
  second = pair(__byte_perm(codes, 0x43434343u, 0x4342));
}
__device__ __forceinline__ void widen(half, signed char, unsigned codes, unsigned &first, unsigned &second) {
  // Plus 128, the mantissa's bits of 1024 and more.
  auto pair = [](unsigned bits) {
    unsigned y;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(bits), "r"(0xe480e480u));
    return y;
  };
  codes ^= 0x80808080u;
  first = pair(__byte_perm(codes, 0x64646464u, 0x4140));
  second = pair(__byte_perm(codes, 0x64646464u, 0x4342));
}
// With exponent and mantissa in their places, a code is its number over a power
// of two, the difference of the exponents' biases; subnormal ones too.
__device__ __forceinline__ void widen(bfloat, e4m3, unsigned codes, unsigned &first, unsigned &second) {
  auto pair = [](unsigned bits) {
    unsigned y;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y) : "r"((bits & 0x80008000u) | ((bits >> 4) & 0x07f007f0u)), "r"(0x7b807b80u), "r"(0x80008000u));
    return y;
  };
  first = pair(__byte_perm(codes, 0, 0x1404));
  second = pair(__byte_perm(codes, 0, 0x3424));
}
#if __CUDA_ARCH__ >= 890
__device__ __forceinline__ void widen(half, e4m3, unsigned codes, unsigned &first, unsigned &second) {
  asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\n"
      "cvt.rn.f16x2.e4m3x2 %0, low;\ncvt.rn.f16x2.e4m3x2 %1, high;\n}"
      : "=r"(first), "=r"(second) : "r"(codes));
}
constexpr float halfCodeUnit = 1;
#else
// Over 256: with subnormal halves, which products take, no arithmetic is needed.
__device__ __forceinline__ void widen(half, e4m3, unsigned codes, unsigned &first, unsigned &second) {
  const unsigned high = (codes & 0x80808080u) | ((codes >> 1) & 0x3f3f3f3fu), low = (codes << 7) & 0x80808080u;
  first = __byte_perm(low, high, 0x5140);
  second = __byte_perm(low, high, 0x7362);
}
constexpr float halfCodeUnit = 256;
#endif
// What widened codes are to be multiplied with.
template <typename T, typename Code> struct CodeUnit { static constexpr float value = 1; };
template <> struct CodeUnit<half, e4m3> { static constexpr float value = halfCodeUnit; };

__device__ __forceinline__ uint4 readChunk(unsigned address) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(address) : "memory");
  return x;
}
__device__ __forceinline__ unsigned word(const uint4 &x, int i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }

// Sums of 16 rows of B, of which a lane has rows lane / 4 and that plus 8, for
// 8 * Blocks rows of A, of which it has two of each eight.
template <typename T, typename Code, int Blocks> struct CodeSums {
  float at[Blocks][4] = {};
  // 16 codes of each of the two rows, with half of their steps of k: chunk `h`
  // of the lane's two in each of the rows of A that the lane reads.
  __device__ __forceinline__ void add(const uint4 (&codes)[2], const uint4 (&x)[Blocks], int h) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      unsigned rows[4];
      widen(T(), Code(), word(codes[0], h * 2 + s), rows[0], rows[2]);
      widen(T(), Code(), word(codes[1], h * 2 + s), rows[1], rows[3]);
#pragma unroll
      for (int r = 0; r < Blocks; ++r)
        multiply(T(), at[r], rows, word(x[r], s * 2), word(x[r], s * 2 + 1));
    }
  }
  // `unit` times the sums. `tile` is at the first of the rows of A and the first
  // of B; only rows of A below `rows` are there.
  template <int Stride> __device__ __forceinline__ void write(float *tile, int rows, float unit = 1) const {
    const int lane = threadIdx.x % 32, m = lane % 4 * 2, n = lane / 4;
#pragma unroll
    for (int r = 0; r < Blocks; ++r)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (r * 8 + m + e % 2 < rows)
          tile[(r * 8 + m + e % 2) * Stride + n + e / 2 * 8] = at[r][e] * (CodeUnit<T, Code>::value * unit);
  }
};

// As MmaCore. Needs rows of B.
template <typename T, typename Code, int BM, int BN, int WM, int WN> struct CodeCore {
  static constexpr int threads = BM / WM * (BN / WN) * 32, slices = 1, depth = 64, chunksB = 4, rowsB = BN;
  using Sum = float;
  CodeSums<T, Code, WM / 8> sums[WN / 16];
  int m, n;
  __device__ __forceinline__ CodeCore() {
    const int warp = threadIdx.x / 32;
    m = warp % (BM / WM) * WM;
    n = warp / (BM / WM) * WN;
  }
  __device__ __forceinline__ void step(unsigned a, unsigned b) {
    const int row = threadIdx.x % 32 / 4, chunk = threadIdx.x % 4;
    uint4 codes[WN / 16][2];
#pragma unroll
    for (int i = 0; i < WN / 16; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j)
        codes[i][j] = readChunk(b + swizzle<4>(n + i * 16 + j * 8 + row, chunk) * 16);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      uint4 x[WM / 8];
#pragma unroll
      for (int r = 0; r < WM / 8; ++r)
        x[r] = readChunk(a + swizzle<8>(m + r * 8 + row, chunk * 2 + h) * 16);
#pragma unroll
      for (int i = 0; i < WN / 16; ++i)
        sums[i].add(codes[i], x, h);
    }
  }
  template <int Stride> __device__ __forceinline__ void write(float *tile) const {
#pragma unroll
    for (int i = 0; i < WN / 16; ++i)
      sums[i].template write<Stride>(tile + m * Stride + n + i * 16, WM);
  }
};

// Eight elements of A, widened if they are codes.
template <typename T> __device__ __forceinline__ uint4 readEight(T, const T *from) { return *reinterpret_cast<const uint4 *>(from); }
__device__ __forceinline__ uint4 readEight(half, const e4m3 *from) {
  const uint2 codes = *reinterpret_cast<const uint2 *>(from);
  uint4 x;
  widen(half(), e4m3(), codes.x, x.x, x.y);
  widen(half(), e4m3(), codes.y, x.z, x.w);
#if __CUDA_ARCH__ < 890
  auto scale = [](unsigned &pair) { asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(pair) : "r"(0x5c005c00u)); };
  scale(x.x);
  scale(x.y);
  scale(x.z);
  scale(x.w);
#endif
  return x;
}

// Whether a few rows of A become halves.
template <typename T> struct MayBeHalves { static constexpr bool value = false; };
template <> struct MayBeHalves<bfloat> { static constexpr bool value = true; };
// Two bfloats as halves of 64 times their values, and whether those are equal:
// that is so of all from 2^-23 to 2^9, of zeros and of infinities.
__device__ __forceinline__ bool toHalves(unsigned &pair) {
  const float x = __uint_as_float(pair << 16), y = __uint_as_float(pair & 0xffff0000u);
  float x2, y2;
  asm("{\n.reg .f16 low, high;\ncvt.rn.f16x2.f32 %0, %4, %3;\nmov.b32 {low, high}, %0;\n"
      "cvt.f32.f16 %1, low;\ncvt.f32.f16 %2, high;\n}"
      : "=r"(pair), "=f"(x2), "=f"(y2) : "f"(x * 64), "f"(y * 64));
  return x2 / 64 == x && y2 / 64 == y;
}

// The place of a chunk of a stage of a warp's rows of codes. Two neighbouring rows
// have their first chunks in different halves of a line.
__device__ __forceinline__ int streamPlace(int row, int chunk) { return row * 128 + (chunk ^ (row & 1) * 4 ^ (row >> 1 & 3)) * 16; }

// The part of a warp in multiplyCodeStream, with A in shared memory at `x` as T,
// and the first stages of B under way: `fill` copies the others to its `ring`.
// Leaves `unit` times the sums in its slice of the tile.
template <typename T, typename Code, int BM, int BN, int Stages, int StrideX, typename Fill>
__device__ __forceinline__ void multiplyCodeSteps(const Fill &fill, unsigned ring, unsigned x, float *tile, int first, int last, float unit) {
  constexpr int step = 1024, bytes = BN * 128, blocks = (BM + 7) / 8;
  CodeSums<T, Code, blocks> sums[BN / 16];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / 4, chunk = lane % 4;
  x += (warp * 128 + chunk * 16) * 2;
  int slot = 0;
  for (int k = first; k < last; k += step) {
    waitCopies<Stages - 1>();
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint4 codes[BN / 16][2];
#pragma unroll
      for (int j = 0; j < BN / 8; ++j)
        codes[j / 2][j % 2] = readChunk(ring + slot * bytes + streamPlace(j * 8 + row, half * 4 + chunk));
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        uint4 xs[blocks];
#pragma unroll
        for (int r = 0; r < blocks; ++r)
          xs[r] = BM % 8 == 0 || r * 8 + row < BM
                      ? readChunk(x + (r * 8 + row) * StrideX + (k - first + half * 64 + h * 8) * 2)
                      : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < BN / 16; ++i)
          sums[i].add(codes[i], xs, h);
      }
    }
    __syncwarp();
    if (k + Stages * step < last)
      fill(slot, k + Stages * step);
    commitCopies();
    slot = slot + 1 == Stages ? 0 : slot + 1;
  }
#pragma unroll
  for (int i = 0; i < BN / 16; ++i)
    sums[i].template write<BN + 4>(tile + warp * BM * (BN + 4) + i * 16, BM, unit);
}

// As multiplyStream, with a tile for each of eight slices: each warp has 128 of
// every 1024 elements of k, of all rows of B. It copies them as whole lines and
// reads them in the order of the instruction, so that its lanes wait for each
// other, but for no other warp. Depth is last - first, rounded up to 1024.
//
// Codes are widened to halves in fewer instructions than to bfloats. So a few
// rows of bfloats become halves, where that loses nothing of any element.
template <typename T, typename Code, int BM, int BN, int Stages, int Depth, bool ConstantB, typename A>
__device__ __forceinline__ float *multiplyCodeStream(const Rows<A> &a, const Rows<Code> &b, int first, int last, unsigned char *shared) {
  constexpr int threads = 256, step = 1024, bytes = BN * 128;
  // Rows of A are 16 bytes further apart, so that two of them meet no bank twice.
  constexpr int strideX = Depth * 2 + 16;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned ring = sharedAddress(shared) + warp * Stages * bytes;
  unsigned char *const x = shared + Stages * 8 * bytes;
  float *const tile = reinterpret_cast<float *>(x + BM * strideX);
  auto fill = [&](int slot, int k) {
    k += warp * 128 + lane % 8 * 16;
#pragma unroll
    for (int j = 0; j < BN / 4; ++j) {
      const int row = j * 4 + lane / 8;
      const bool valid = k < last && b.first + row < b.rows;
      copyChunk(ring + slot * bytes + streamPlace(row, lane % 8), valid ? b.from + (b.first + row) * b.stride + k : b.from, valid);
    }
  };
  // Whether what the thread put there is equal to its elements of A.
  auto fillX = [&](bool asHalves) {
    bool isEqual = true;
    // Loads of several chunks are under way at a time.
#pragma unroll 8
    for (int p = 0; p < (BM * Depth + threads * 8 - 1) / (threads * 8); ++p) {
      const int i = (p * threads + static_cast<int>(threadIdx.x)) * 8, r = a.first + i / Depth, k = first + i % Depth;
      uint4 chunk = make_uint4(0, 0, 0, 0);
      if (i < BM * Depth && r < a.rows && k < last)
        chunk = readEight(T(), a.from + r * a.stride + k);
      if (asHalves)
        isEqual &= toHalves(chunk.x) & toHalves(chunk.y) & toHalves(chunk.z) & toHalves(chunk.w);
      if (i < BM * Depth)
        *reinterpret_cast<uint4 *>(x + i / Depth * strideX + i % Depth * 2) = chunk;
    }
    return isEqual;
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
  bool isDone = false;
  if constexpr (MayBeHalves<T>::value && BM <= 4) {
    isDone = !__syncthreads_or(!fillX(/*asHalves=*/true));
    if (isDone)
      multiplyCodeSteps<half, Code, BM, BN, Stages, strideX>(fill, ring, sharedAddress(x), tile, first, last, 1.0f / 64);
  }
  if (!isDone) {
    fillX(/*asHalves=*/false);
    __syncthreads();
    multiplyCodeSteps<T, Code, BM, BN, Stages, strideX>(fill, ring, sharedAddress(x), tile, first, last, 1);
  }
  __syncthreads();
  return tile;
}
