// Matrix products of tiles in shared memory, which cp.async fills some stages
// ahead. A chunk is 16 bytes of a row. The chunks of a row are stored in an order
// (swizzle) in which threads that copy or load together use different banks of
// the shared memory.
__device__ __forceinline__ unsigned sharedAddress(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
// Starts to copy 16 bytes to the shared address `to`, or zeros if not `valid`.
__device__ __forceinline__ void copyChunk(unsigned to, const void *from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
__device__ __forceinline__ void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> __device__ __forceinline__ void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// The place, in chunks, of a chunk of a row in a tile of Chunks chunks a row.
template <int Chunks> __device__ __forceinline__ int swizzle(int row, int chunk) {
  if constexpr (Chunks >= 8)
    return row * Chunks + (chunk ^ (row & 7));
  else if constexpr (Chunks == 4)
    return row * Chunks + (chunk ^ ((row >> 1) & 3));
  else
    return row * Chunks + (chunk ^ ((row >> 2) & 1));
}

// The place of the chunk that a thread copies next. A source of a tile (Rows,
// Columns, Windows) makes a place and moves it along k, the reduced axis.
template <typename T> struct Cursor {
  const T *at;
  int left; // number of elements of k from here on; if it is not positive: zeros
};

// A matrix whose rows are contiguous along k: row r begins at from + r * stride.
template <typename T> struct Rows {
  using Place = Cursor<T>;
  const T *from;
  long long stride;
  int first;         // the tile's first row
  int rows, columns; // the sizes of the matrix
  __device__ __forceinline__ Place place(int r, int chunk, int k) const {
    k += chunk * (16 / static_cast<int>(sizeof(T)));
    const bool valid = first + r < rows;
    return {valid ? from + (first + r) * stride + k : from, valid ? columns - k : -(1 << 30)};
  }
  __device__ __forceinline__ bool has(const Place &place) const { return place.left > 0; }
  __device__ __forceinline__ const T *at(const Place &place) const { return place.at; }
  template <int Step> __device__ __forceinline__ void advance(Place &place) const {
    place.at += Step;
    place.left -= Step;
  }
};

// A matrix whose rows are k: element k of column c is from[k * stride + c].
template <typename T> struct Columns {
  using Place = Cursor<T>;
  const T *from;
  long long stride;
  int first;         // the tile's first column
  int columns, rows; // the sizes of the matrix
  __device__ __forceinline__ Place place(int r, int chunk, int k) const {
    const int c = first + chunk * (16 / static_cast<int>(sizeof(T)));
    const bool valid = c < columns;
    return {valid ? from + (k + r) * stride + c : from, valid ? rows - (k + r) : -(1 << 30)};
  }
  __device__ __forceinline__ bool has(const Place &place) const { return place.left > 0; }
  __device__ __forceinline__ const T *at(const Place &place) const { return place.at; }
  template <int Step> __device__ __forceinline__ void advance(Place &place) const {
    place.at += Step * stride;
    place.left -= Step;
  }
};

// The windows of a convolution over channels-last images as rows of KH * KW *
// channels elements. Row r of the tile is the window of output pixel first + r,
// counted through all images.
template <typename T, int KH, int KW> struct Windows {
  struct Place {
    const T *image;
    int y, x;      // the window's first pixel
    int kh, kw, c; // the place inside the window
  };
  const T *from;
  long long imageStride, rowStride, columnStride;
  int first, rows, outHeight, outWidth, height, width, channels;
  int strideY, strideX, padY, padX, dilationY, dilationX;
  __device__ __forceinline__ Place place(int r, int chunk, int k) const {
    const int row = first + r, x = row % outWidth, y = row / outWidth % outHeight, n = row / outWidth / outHeight;
    k += chunk * (16 / static_cast<int>(sizeof(T)));
    return {from + n * imageStride, row < rows ? y * strideY - padY : -(1 << 28), x * strideX - padX,
            k / channels / KW, k / channels % KW, k % channels};
  }
  __device__ __forceinline__ int row(const Place &place) const { return place.y + place.kh * dilationY; }
  __device__ __forceinline__ int column(const Place &place) const { return place.x + place.kw * dilationX; }
  __device__ __forceinline__ bool has(const Place &place) const {
    const int y = row(place), x = column(place);
    return place.kh < KH && y >= 0 && y < height && x >= 0 && x < width;
  }
  __device__ __forceinline__ const T *at(const Place &place) const {
    return place.image + row(place) * rowStride + column(place) * columnStride + place.c;
  }
  template <int Step> __device__ __forceinline__ void advance(Place &place) const {
    place.c += Step;
    while (place.c >= channels) {
      place.c -= channels;
      if (++place.kw == KW) {
        place.kw = 0;
        ++place.kh;
      }
    }
  }
};

// Starts to copy the chunk at a place of a source to the shared address `to`;
// zeros where it has none. No null pointer stands for a missing chunk: of a
// register pair that is zero unless a chunk is there, ptxas 13.0.88 (sm_90) may let
// a comparison read what was in it before.
template <typename Source>
__device__ __forceinline__ void sendChunk(unsigned to, const Source &source, const typename Source::Place &place) {
  const bool has = source.has(place);
  copyChunk(to, has ? source.at(place) : source.from, has);
}
// Whether neighbouring threads take chunks of neighbouring rows, not of one row.
template <typename Source> struct TakesRows { static constexpr bool value = false; };

// Fills tiles of R rows and Chunks chunks with all threads, one tile after the
// other, each Step elements of k behind the one before.
template <typename Source, int R, int Chunks, int Threads, int Step> struct TileFill {
  static constexpr int passes = (R * Chunks + Threads - 1) / Threads;
  typename Source::Place places[passes];
  unsigned offsets[passes];
  __device__ __forceinline__ TileFill(const Source &source, int k) {
#pragma unroll
    for (int p = 0; p < passes; ++p) {
      constexpr bool takesRows = TakesRows<Source>::value;
      const int id = threadIdx.x + p * Threads, r = takesRows ? id % R : id / Chunks, chunk = takesRows ? id / R : id % Chunks;
      places[p] = source.place(r, chunk, k);
      offsets[p] = swizzle<Chunks>(r, chunk) * 16;
    }
  }
  __device__ __forceinline__ void fill(const Source &source, unsigned to) {
#pragma unroll
    for (int p = 0; p < passes; ++p)
      if (R * Chunks % Threads == 0 || threadIdx.x + p * Threads < R * Chunks) {
        sendChunk(to + offsets[p], source, places[p]);
        source.template advance<Step>(places[p]);
      }
  }
};

// Four 8 x 8 matrices of 16-bit elements from shared memory; each lane gives the
// address of one of their 32 rows.
__device__ __forceinline__ void loadMatrices(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void loadMatricesTransposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address) : "memory");
}

// Adds the product of 16 rows of A and 8 columns of B, each of 32 bytes (16 f16
// or bf16 elements, or 8 floats that are rounded to tf32), to c, in a warp.
__device__ __forceinline__ void multiply(half, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply(bfloat, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ unsigned roundToTf32(unsigned x) {
  unsigned y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(__uint_as_float(x)));
  return y;
}
__device__ __forceinline__ void multiply(float, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(roundToTf32(a[0])), "r"(roundToTf32(a[1])), "r"(roundToTf32(a[2])), "r"(roundToTf32(a[3])),
        "r"(roundToTf32(b0)), "r"(roundToTf32(b1)));
}

// Codes: unsigned ones of A, signed ones of B.
__device__ __forceinline__ void multiply(unsigned char, int (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Codes of both that are 8-bit floats, from compute capability 8.9 on.
__device__ __forceinline__ void multiply(e4m3, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// What products of T are added up in.
template <typename T> struct SumOf { using Type = float; };
template <> struct SumOf<unsigned char> { using Type = int; };

// The fragments of an M x N tile in a warp: on tensor cores. A stage is 128
// bytes deep; `Slices` groups of warps share it and keep partial sums.
template <typename T, int BM, int BN, int WM, int WN, int Slices, bool RowsOfB> struct MmaCore {
  static constexpr int warpsM = BM / WM, warpsN = BN / WN, threads = warpsM * warpsN * Slices * 32;
  static constexpr int slices = Slices;
  static constexpr int depth = 128 / sizeof(T);
  static constexpr int chunksB = RowsOfB ? 8 : BN * sizeof(T) / 16, rowsB = RowsOfB ? BN : depth;
  using Sum = typename SumOf<T>::Type;
  Sum sums[WM / 16][WN / 8][4];
  int slice, m, n;
  __device__ __forceinline__ MmaCore() {
    const int warp = threadIdx.x / 32;
    slice = warp / (warpsM * warpsN);
    m = warp % warpsM * WM;
    n = warp / warpsM % warpsN * WN;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
      for (int j = 0; j < WN / 8; ++j)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          sums[i][j][k] = 0;
  }
  __device__ __forceinline__ void step(unsigned a, unsigned b) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 0; s < 4 / Slices; ++s) {
      const int k = (slice * (4 / Slices) + s) * 2; // chunk
      unsigned fa[WM / 16][4], fb[WN / 16][4];
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
        loadMatrices(fa[i], a + swizzle<8>(m + i * 16 + lane % 16, k + lane / 16) * 16);
#pragma unroll
      for (int j = 0; j < WN / 16; ++j)
        if constexpr (RowsOfB)
          loadMatrices(fb[j], b + swizzle<8>(n + j * 16 + lane % 8 + lane / 16 * 8, k + lane / 8 % 2) * 16);
        else
          loadMatricesTransposed(fb[j], b + swizzle<chunksB>(k * 8 + lane % 16, n / 8 + j * 2 + lane / 16) * 16);
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j)
          multiply(T(), sums[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
  }
  // Slice s has its own tile of BM rows of `Stride` sums.
  template <int Stride> __device__ __forceinline__ void write(Sum *tile) const {
    const int lane = threadIdx.x % 32;
    tile += slice * BM * Stride;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
      for (int j = 0; j < WN / 8; ++j)
#pragma unroll
        for (int h = 0; h < 2; ++h)
          store(tile + (m + i * 16 + h * 8 + lane / 4) * Stride + n + j * 8 + lane % 4 * 2,
                Pack<Sum, 2>{sums[i][j][h * 2], sums[i][j][h * 2 + 1]});
  }
};

// A BM x BN tile in fp32 without tensor cores: a thread has the sums of every 16th
// row and column. B must be given by rows.
template <int BM, int BN> struct SimtCore {
  static constexpr int threads = 256, slices = 1, depth = 32, chunksB = 8, rowsB = BN;
  static constexpr int TM = BM / 16, TN = BN / 16;
  using Sum = float;
  float sums[TM][TN];
  __device__ __forceinline__ SimtCore() {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j)
        sums[i][j] = 0.0f;
  }
  __device__ __forceinline__ static float4 chunk(unsigned address) {
    float4 x;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(address) : "memory");
    return x;
  }
  __device__ __forceinline__ void step(unsigned a, unsigned b) {
    const int m = threadIdx.x / 16, n = threadIdx.x % 16;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      float4 fa[TM], fb[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i)
        fa[i] = chunk(a + swizzle<8>(m + i * 16, k) * 16);
#pragma unroll
      for (int j = 0; j < TN; ++j)
        fb[j] = chunk(b + swizzle<8>(n + j * 16, k) * 16);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          sums[i][j] = fmaf(fa[i].x, fb[j].x, sums[i][j]);
          sums[i][j] = fmaf(fa[i].y, fb[j].y, sums[i][j]);
          sums[i][j] = fmaf(fa[i].z, fb[j].z, sums[i][j]);
          sums[i][j] = fmaf(fa[i].w, fb[j].w, sums[i][j]);
        }
    }
  }
  template <int Stride> __device__ __forceinline__ void write(float *tile) const {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j)
        tile[(threadIdx.x / 16 + i * 16) * Stride + threadIdx.x % 16 + j * 16] = sums[i][j];
  }
};

// Leaves the sums in `shared` once all copies and all reads of it are over.
template <int BN, typename Core> __device__ __forceinline__ typename Core::Sum *finishTile(const Core &core, unsigned char *shared) {
  waitCopies<0>();
  __syncthreads();
  auto *tile = reinterpret_cast<typename Core::Sum *>(shared);
  core.template write<BN + 4>(tile);
  __syncthreads();
  return tile;
}

// The numbers of two of the stages: the one that is read, and the one `ahead` of it
// that is filled.
template <int Stages> struct Ring {
  int read = 0, written;
  __device__ __forceinline__ explicit Ring(int ahead) : written(ahead) {}
  // Goes to the next stages. Whether stage 0 is read again.
  __device__ __forceinline__ bool advance() {
    written = written + 1 == Stages ? 0 : written + 1;
    read = read + 1 == Stages ? 0 : read + 1;
    return read == 0;
  }
};

// Starts to copy A's part of the first stages, each as a group of copies.
template <int Ahead, typename Fill, typename A>
__device__ __forceinline__ void sendFirst(Fill &fill, const A &a, unsigned base, int bytes, int steps) {
#pragma unroll
  for (int s = 0; s < Ahead; ++s) {
    if (s < steps)
      fill.fill(a, base + s * bytes);
    commitCopies();
  }
}

// Leaves the BM x BN product over k in [first, last) in `shared`, as sums in
// rows of BN + 4, a tile for each slice. B is read before the wait for the
// kernel before when it is a constant.
template <typename Core, int BM, int BN, int Stages, bool ConstantB, typename A, typename B>
__device__ __forceinline__ typename Core::Sum *multiplyTile(const A &a, const B &b, int first, int last, unsigned char *shared) {
  constexpr int chunkBytes = 16, bytesA = BM * 8 * chunkBytes;
  constexpr int bytesB = Core::rowsB * Core::chunksB * chunkBytes, bytes = bytesA + bytesB;
  const unsigned base = sharedAddress(shared);
  TileFill<B, Core::rowsB, Core::chunksB, Core::threads, Core::depth> fillB(b, first);
  const int steps = (last - first + Core::depth - 1) / Core::depth;
  if constexpr (!ConstantB)
    waitForPrevious();
#pragma unroll
  for (int s = 0; s < Stages - 1; ++s)
    if (s < steps)
      fillB.fill(b, base + s * bytes + bytesA);
  TileFill<A, BM, 8, Core::threads, Core::depth> fillA(a, first);
  if constexpr (ConstantB)
    waitForPrevious();
  sendFirst<Stages - 1>(fillA, a, base, bytes, steps);
  Core core;
  Ring<Stages> ring(Stages - 1);
  for (int s = 0; s < steps; ++s) {
    waitCopies<Stages - 2>();
    __syncthreads();
    if (s + Stages - 1 < steps) {
      fillA.fill(a, base + ring.written * bytes);
      fillB.fill(b, base + ring.written * bytes + bytesA);
    }
    commitCopies();
    core.step(base + ring.read * bytes, base + ring.read * bytes + bytesA);
    ring.advance();
  }
  return finishTile<BN>(core, shared);
}

// Starts to load from[first] and the N - 1 elements after it into the L1 cache.
template <int N, typename T> __device__ __forceinline__ void prefetchColumns(const T *from, int first, int columns) {
  constexpr int line = 128 / sizeof(T);
  const int c = threadIdx.x * line;
  if (c < N && first + c < columns)
    asm volatile("prefetch.global.L1 [%0];" ::"l"(from + first + c));
}

// N neighbours of a tile, summed over the slices.
template <int N, int Slices, int SliceStride, typename Sum> __device__ __forceinline__ Pack<Sum, N> sumSlices(const Sum *tile) {
  Pack<Sum, N> sum = load<N>(tile);
#pragma unroll
  for (int s = 1; s < Slices; ++s) {
    const Pack<Sum, N> part = load<N>(tile + s * SliceStride);
#pragma unroll
    for (int i = 0; i < N; ++i)
      sum[i] += part[i];
  }
  return sum;
}

// Adds the tiles of all slices to the first one's, so that blocks of a cluster
// read one tile of each other.
template <int Threads, int Slices, int SliceStride, typename Sum> __device__ __forceinline__ void foldSlices(Sum *tile) {
  if constexpr (Slices > 1)
    for (int i = threadIdx.x * 4; i < SliceStride; i += Threads * 4)
      store(tile + i, sumSlices<4, Slices, SliceStride>(tile + i));
}

__device__ __forceinline__ float fromBits(float, unsigned bits) { return __uint_as_float(bits); }
__device__ __forceinline__ int fromBits(int, unsigned bits) { return static_cast<int>(bits); }

// Blocks of a cluster that split the reduced axis: the sum over their tiles.
__device__ __forceinline__ void syncCluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
}
// A float in the shared memory of a block of the cluster, at the place that it has
// in this one's; of no cluster in this one's itself.
template <int Blocks> __device__ __forceinline__ float ofBlock(const float &here, int block) {
  float x = here;
#if __CUDA_ARCH__ >= 900
  if constexpr (Blocks > 1) {
    unsigned at;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(sharedAddress(&here)), "r"(block));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at));
  }
#endif
  return x;
}
template <int N, int Blocks, typename Sum> __device__ __forceinline__ Pack<Sum, N> sumCluster(const Sum *tile) {
  // All loads first: each takes as long as one from the L2 cache.
  Pack<unsigned, N> parts[Blocks];
#if __CUDA_ARCH__ >= 900
#pragma unroll
  for (int block = 0; block < Blocks; ++block) {
    unsigned at;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(sharedAddress(tile)), "r"(block));
    if constexpr (N % 4 == 0) {
#pragma unroll
      for (int i = 0; i < N; i += 4)
        asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(parts[block][i]), "=r"(parts[block][i + 1]), "=r"(parts[block][i + 2]), "=r"(parts[block][i + 3])
                     : "r"(at + i * 4));
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i)
        asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(parts[block][i]) : "r"(at + i * 4));
    }
  }
#endif
  Pack<Sum, N> sum;
#pragma unroll
  for (int i = 0; i < N; ++i)
    sum[i] = fromBits(Sum(), parts[0][i]);
#pragma unroll
  for (int block = 1; block < Blocks; ++block)
#pragma unroll
    for (int i = 0; i < N; ++i)
      sum[i] += fromBits(Sum(), parts[block][i]);
  return sum;
}
