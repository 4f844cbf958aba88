// The program at the other end of GenerationProcesses.h: it generates the code
// of kernels, within limits.
#ifndef AITUNE_COMPILER_CANDIDATES_GENERATIONWORKER_H
#define AITUNE_COMPILER_CANDIDATES_GENERATIONWORKER_H

#include <functional>
#include <string>

#include "compiler/measure/worker.pb.h"

namespace aitune {

/// What a worker does with a request.
using GenerateFunction = std::function<WorkerReply(const WorkerRequest &)>;

/// Answers the requests of `sockets`, numbers of file descriptors with commas
/// between as GenerationProcesses appends them to the command, until all are
/// closed. Each has processes of its own, forked from this one, which must have
/// no other threads. Returns the process's exit code.
int serveGeneration(const std::string &sockets,
                    const GenerateFunction &generate);

/// Generates what the request asks for.
WorkerReply generateForRequest(const WorkerRequest &request);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_GENERATIONWORKER_H
