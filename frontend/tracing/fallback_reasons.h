// Reasons why LibTorch runs a part of a program, as reports give them. Those
// that several files write, or compare with, are here.
#ifndef AITUNE_FRONTEND_TRACING_FALLBACK_REASONS_H_
#define AITUNE_FRONTEND_TRACING_FALLBACK_REASONS_H_

namespace aitune::frontend {

// The reason why a result is opaque if its operator reads an opaque value.
inline constexpr char kUnknownResult[] =
    "it depends on a value that only LibTorch knows";

// The reason why an operator falls back that reads a tensor without a type.
inline constexpr char kUntypedArgument[] =
    "it reads a dtype or layout that compiled code has not";

// The reason why LibTorch runs a loop whole whose length is known.
inline constexpr char kLongLoop[] = "a loop is too long to unroll";

// The reason why LibTorch runs a loop whole that could be unrolled.
inline constexpr char kLibTorchsLoop[] =
    "most operators of its iterations would be LibTorch's";

// The reason why LibTorch runs a loop whole with TraceOptions::rolled_loops.
inline constexpr char kRolledLoop[] = "its length depends on sizes";

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_FALLBACK_REASONS_H_
