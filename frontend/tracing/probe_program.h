// A graph that LibTorch interprets, as a probe runs it.
//
// The elements of probes are made up, and ways are tried that they do not lead.
// So their runs have limits of time, and what would end the process throws.
// A region of control flow on data may call operators that LibTorch has in half
// precision for GPUs alone (nms behind an if, in detection models). A probe
// runs on the CPU: it runs them as RunOrWiden (probe_run.h) runs such a call
// outside of regions. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_PROBE_PROGRAM_H_
#define AITUNE_FRONTEND_TRACING_PROBE_PROGRAM_H_

#include <torch/csrc/jit/ir/ir.h>

#include <memory>

#include "frontend/trace/recorded_op.h"

namespace aitune::frontend {

// What a run on a probe's elements may take, in seconds, as a model in eager
// does.
inline constexpr double kSecondsOfProbe = 20;

// A copy of `graph`, with what is outlined of it, that throws where an operator
// would end the process (frontend/torchscript/fatal_operators.h), and that
// RunLimits limit (frontend/torchscript/run_limits.h); `graph` itself if
// nothing in it needs that.
std::shared_ptr<torch::jit::Graph> WithLimits(
    const std::shared_ptr<torch::jit::Graph>& graph);

// `run`, which interprets `graph`, for probes. Where LibTorch has no code for
// half precision of an operator in it, the graph runs once more, from now on
// with each operator as RunOrWiden runs it; so `run` must write to none of its
// arguments. `graph` must not change any more. Throws as `run`. The result is
// not thread-safe.
RecordedFunction MakeProbeProgram(std::shared_ptr<torch::jit::Graph> graph,
                                  RecordedFunction run);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_PROBE_PROGRAM_H_
