// Floating-point operations of a trace, for coverage and for GFLOP/s.
//
// Only contractions are counted, as is usual: they are where the time of a
// convnet or transformer goes, and "99 % of the FLOPs" then means something.
// A multiply-add counts as two.
//
//   matrix products      2 * elements(result) * K
//   convolutions         2 * elements(result) * (I / groups) * kernel elements
//   transposed ones      2 * elements(input)  * (O / groups) * kernel elements
//   attention            2 * elements(query) * S + 2 * elements(result) * S,
//                        where S is the number of keys; a causal mask saves
//                        nothing in this count; an operator that includes the
//                        projections counts them too
//   einsum               2 * the product of the sizes of all its labels
//   LSTM, GRU, RNN       2 * elements(weights) * steps * batch
//   everything else      0
//
// An operator with an operand of unknown shape counts 0, and so does the inside
// of control flow that depends on data.
//
// The compiler counts its kernels by itself (ait::Contraction::countFlops), and
// not from here: a trace's operators are named by LibTorch and include those
// that never become an operation of the compiler, of which a fused kernel may
// hold parts of several. What both have in common is one product of sizes for
// each of the first four, over numbers here and over symbols there;
// plan_flops_test holds both to the same sums.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_FLOPS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_FLOPS_H_

#include "absl/types/span.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

// FLOPs of one execution of `op`, an operator of `trace`, with symbols[i] for
// the trace's symbol s`i`.
double CountFlops(const Trace& trace, const TraceOp& op,
                  absl::Span<const int64_t> symbols);

// Whether `op` counts 0 only because the sizes of what it reads or gives are
// not known, as where they depend on data.
bool HasUnknownFlops(const Trace& trace, const TraceOp& op);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_FLOPS_H_
