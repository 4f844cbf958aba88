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
// The bits of a code in their places in a half, whose exponent's bias is greater
// by 8. All ones below the sign are NaN.
__device__ __forceinline__ float toFloat(e4m3 x) {
  const unsigned bits = x.bits;
  const float number = toFloat(half{static_cast<unsigned short>((bits & 0x80u) << 8 | (bits & 0x7fu) << 7)}) * 256.0f;
  return (bits & 0x7fu) == 0x7fu ? __uint_as_float(0x7fffffffu) : number;
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
// From compute capability 8.9 on. The instruction gives the greatest number, 448,
// for all beyond it; what is nearer to the next one, 480, is NaN here.
template <> struct Convert<e4m3> {
  static __device__ __forceinline__ e4m3 saturated(float x) {
    unsigned short codes;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(0.0f), "f"(x));
    return {static_cast<unsigned char>(codes)};
  }
  static __device__ __forceinline__ e4m3 from(float x) {
    return saturated(fabsf(x) > 464.0f ? __uint_as_float(0x7fffffffu) : x);
  }
};
template <typename T, typename S> __device__ __forceinline__ T to(S x) { return Convert<T>::from(x); }
// As `to`, but the greatest number of T for all beyond it, infinity too.
template <typename T> __device__ __forceinline__ T saturatedTo(float x) { return Convert<T>::saturated(x); }

// Reports `value` in entry `number` of the launch's KernelChecks
// (runtime/cpu/kernel_abi.h).
__device__ __forceinline__ void reportFailure(long long *checks, int number, long long value) {
  checks[2 * number + 1] = value;
  checks[2 * number] = 1;
}

// A product that is rounded before anything is added to it, where the compiler
// would else make one instruction of both. A product may be computed once to
// reduce it and once more to subtract what it was reduced to: x * y -
// mean(x * y) of one element is 0 only if both are rounded.
__device__ __forceinline__ float roundedProduct(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double roundedProduct(double a, double b) { return __dmul_rn(a, b); }

// The greater and the lesser number; NaN if either is NaN.
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

// The greater and the lesser integer; narrower types are promoted to int. Of two
// signed minima or maxima of 32 or 16 bits the assembler of CUDA 13.0 makes one
// instruction (VIMNMX3, from compute capability 9.0 on) and loses the sign of a
// negated operand: min(min(a, -b), c) becomes min(min(a, b), c). Unsigned ones it
// gets right, so the first bit is flipped and the order is that of unsigned numbers.
__device__ __forceinline__ int maximum(int a, int b) {
  unsigned c;
  asm("max.u32 %0, %1, %2;" : "=r"(c) : "r"(a ^ 0x80000000u), "r"(b ^ 0x80000000u));
  return static_cast<int>(c ^ 0x80000000u);
}
__device__ __forceinline__ int minimum(int a, int b) {
  unsigned c;
  asm("min.u32 %0, %1, %2;" : "=r"(c) : "r"(a ^ 0x80000000u), "r"(b ^ 0x80000000u));
  return static_cast<int>(c ^ 0x80000000u);
}
__device__ __forceinline__ long long maximum(long long a, long long b) { return a > b ? a : b; }
__device__ __forceinline__ long long minimum(long long a, long long b) { return a < b ? a : b; }

constexpr float kLog2E = 1.44269504f; // log2(e)
// 2^x with an error of at most 2^-22 (PTX ISA, ex2); 0 for less than 2^-126.
__device__ __forceinline__ float quickExp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// 1 / x, wrong by a unit in the last place (PTX ISA, rcp); 0 for more than 2^126.
__device__ __forceinline__ float quickReciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The error function, where the generator (text/QuickForms.h) found that the
// result is rounded to 16 bits, with an absolute error of at most 4e-7 (rounding a
// number next to 1 to float changes it by up to 6e-8). It is x times a quotient of
// polynomials in x * x, which were fitted on [-3.92, 3.92]; beyond, it is 1 as the
// nearest float is. CUDA's erff has twice as many instructions.
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
  // q is neither very small nor very large, so it need not be scaled, as
  // __fdividef does.
  const float inverse = quickReciprocal(q);
  return fabsf(x) == 3.92f ? copysignf(1.0f, x) : x * (p * inverse);
}

// 1 + erf(x) and 1 + tanh(x), where the generator found that all uses of the function
// add 1 to it, as those of a GELU do. erfc of |x| is 2 to a polynomial without
// constant term, which was fitted on [0, 4] and falls on beyond: so 1 + erf(x) has a
// relative error of at most 7e-6 down to x = -4, and is less than 2e-8 below. NaN at
// NaN, 0 at -inf. This has two thirds of quickErf's instructions, which are most of
// those that a matmul with GELU executes after its products.
__device__ __forceinline__ float quickErfPlusOne(float x) {
  const float z = fabsf(x);
  float p = -1.99773059e-05f;
  p = fmaf(p, z, 0.000482022983f);
  p = fmaf(p, z, -0.00520496465f);
  p = fmaf(p, z, 0.033869072f);
  p = fmaf(p, z, -0.152384961f);
  p = fmaf(p, z, -0.917103293f);
  p = fmaf(p, z, -1.62805987f);
  const float complement = quickExp2(p * z);
  return x < 0.0f ? complement : 2.0f - complement;
}
// 1 + tanh(x) = 2 / (1 + e^-2x).
__device__ __forceinline__ float quickTanhPlusOne(float x) {
  return 2.0f * quickReciprocal(1.0f + quickExp2(-2.0f * kLog2E * x));
}

// e^x and a / b where the generator (text/QuickForms.h) found that the result is
// rounded to 16 bits. __expf is wrong by 2 + 1.173 * |x| units in the last place
// of a float at most (CUDA C++ Programming Guide, intrinsic functions), div.full by
// 2 (PTX ISA). expf and a quotient rounded as IEEE 754 says have four times as
// many instructions, and a branch.
__device__ __forceinline__ float quickExp(float x) { return __expf(x); }
__device__ __forceinline__ float quickQuotient(float a, float b) {
  float c;
  asm("div.full.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

// a / b for many a and one b, whose reciprocal the compiler computes once, where the
// generator (text/CodeForms.h) found that the result becomes a code of an 8-bit float:
// with fewer instructions and registers than a division, which has a branch.
// Each correction by a reciprocal that is rounded correctly brings the quotient nearer
// (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000
// processor", 1990). After two it is as IEEE 754 rounds it, after one it may be the
// other neighbour if a / b is within 2^-22 units of the last place of the middle of
// both. That changes a code only where one of them is the middle of two codes, which
// has 5 bits; no quotient of an a of 11 bits, as 16-bit floats have, is so near to it.
// Both are scaled by a power of two, so that neither b nor what is left of a is
// subnormal where the code isn't 0; b's sign goes to a, so that 0 keeps its own. An
// infinite or invalid quotient has no correction.
template <int Corrections> __device__ __forceinline__ float codeQuotient(float a, float b) {
  const float scale = fabsf(b) < 0x1p-80f ? 0x1p60f : fabsf(b) > 0x1p100f ? 0x1p-60f : 1.0f;
  const float divisor = fabsf(b) * scale, inverse = 1.0f / divisor;
  const float dividend = a * copysignf(scale, b), first = dividend * inverse, beyond = fmaf(first, divisor, -dividend);
  float result = fmaf(-beyond, inverse, first);
  if (Corrections == 2)
    result = fmaf(-fmaf(result, divisor, -dividend), inverse, result);
  return fabsf(beyond) < __uint_as_float(0x7f800000u) ? result : first;
}

// N neighbouring elements, which are loaded and stored 16 bytes at a time, or all
// at once if they have fewer bytes. They are aligned to as many bytes.
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

// Programmatic dependent launch, from compute capability 9.0 on. launchNext lets
// the next kernel on the stream start its blocks, if `nextWaits` says that it
// calls waitForPrevious. After waitForPrevious the previous kernel has ended: what
// it wrote can be read, and what it read can be overwritten.
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
