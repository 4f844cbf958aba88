// Element types. Half types and 8-bit floats are storage only: arithmetic is in
// float.
struct half { unsigned short bits; };
struct bfloat { unsigned short bits; };
struct e4m3 { unsigned char bits; };

__device__ __forceinline__ float toFloat(half x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ __forceinline__ float toFloat(bfloat x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
// Of a code that is not NaN: its bits in their places in a half, whose exponent's
// bias is greater by 8.
__device__ __forceinline__ float toFloat(e4m3 x) {
  const unsigned bits = x.bits;
  return toFloat(half{static_cast<unsigned short>((bits & 0x80u) << 8 | (bits & 0x7fu) << 7)}) * 256.0f;
}
__device__ __forceinline__ float toFloat(float x) { return x; }
__device__ __forceinline__ double toFloat(double x) { return x; }

template <typename T> struct Convert {
  template <typename S> static __device__ __forceinline__ T from(S x) { return static_cast<T>(x); }
};
template <> struct Convert<half> {
  static __device__ __forceinline__ half from(float x) {
    half y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  }
  static __device__ __forceinline__ half from(double x) {
    half y;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y.bits) : "d"(x));
    return y;
  }
};
template <> struct Convert<bfloat> {
  static __device__ __forceinline__ bfloat from(float x) {
    bfloat y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  }
  static __device__ __forceinline__ bfloat from(double x) { return from(static_cast<float>(x)); }
};
template <typename T, typename S> __device__ __forceinline__ T to(S x) { return Convert<T>::from(x); }

// Entry `number` of the launch's KernelChecks (runtime/cpu/kernel_abi.h).
__device__ __forceinline__ void reportFailure(long long *checks, int number, long long value) {
  checks[2 * number + 1] = value;
  checks[2 * number] = 1;
}

// NaN if either is NaN.
__device__ __forceinline__ float maximum(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
__device__ __forceinline__ float minimum(float a, float b) {
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
__device__ __forceinline__ double maximum(double a, double b) { return a > b || a != a ? a : b; }
__device__ __forceinline__ double minimum(double a, double b) { return a < b || a != a ? a : b; }

// The error function to 4e-7 (1 is 6e-8), as a quotient of polynomials in x * x
// fitted where it is not yet 1: erff has twice as many instructions, and they
// are most of what a matmul with GELU does beside its products.
__device__ __forceinline__ float quickErf(float x) {
  x = maximum(minimum(x, 3.92f), -3.92f);
  const float z = x * x;
  float p = 2.05007677e-06f;
  p = fmaf(p, z, 0.000284883714f);
  p = fmaf(p, z, 0.00376566722f);
  p = fmaf(p, z, 0.0527488811f);
  p = fmaf(p, z, 0.190407656f);
  p = fmaf(p, z, 1.12837915f);
  float q = 3.80916567e-05f;
  q = fmaf(q, z, 0.00116254736f);
  q = fmaf(q, z, 0.0149693186f);
  q = fmaf(q, z, 0.114109604f);
  q = fmaf(q, z, 0.502077133f);
  q = fmaf(q, z, 1.0f);
  // q is of ordinary size: __fdividef would scale both first.
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(q));
  return x * (p * inverse);
}

// N neighbours in memory, moved 16 bytes at a time where they are as many.
template <typename T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
  __device__ __forceinline__ T &operator[](int i) { return at[i]; }
  __device__ __forceinline__ const T &operator[](int i) const { return at[i]; }
};
template <int Bytes> struct Bits { using type = uint4; };
template <> struct Bits<8> { using type = uint2; };
template <> struct Bits<4> { using type = unsigned; };
template <> struct Bits<2> { using type = unsigned short; };
template <> struct Bits<1> { using type = unsigned char; };

template <int N, typename T> __device__ __forceinline__ Pack<T, N> load(const T *from) {
  constexpr int bytes = sizeof(T) * N, step = bytes < 16 ? bytes : 16;
  using Word = typename Bits<step>::type;
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < bytes / step; ++i)
    reinterpret_cast<Word *>(&pack)[i] = reinterpret_cast<const Word *>(from)[i];
  return pack;
}
template <typename T, int N> __device__ __forceinline__ void store(T *to, const Pack<T, N> &pack) {
  constexpr int bytes = sizeof(T) * N, step = bytes < 16 ? bytes : 16;
  using Word = typename Bits<step>::type;
#pragma unroll
  for (int i = 0; i < bytes / step; ++i)
    reinterpret_cast<Word *>(to)[i] = reinterpret_cast<const Word *>(&pack)[i];
}

// Programmatic dependent launch: the next kernel may start its blocks, if it
// waits before it touches memory; what the one before wrote may be read.
__device__ __forceinline__ void launchNext(int nextWaits) {
#if __CUDA_ARCH__ >= 900
  if (nextWaits)
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void waitForPrevious() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
