// The program that generates code for this one.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_WORKER_PROGRAM_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_WORKER_PROGRAM_H_

#include <string>
#include <vector>

namespace aitune::frontend {

// The command for GenerationOptions::worker: the program `aitune` in the folder
// of the file, program or library, that this code is in, or, as it is when
// AITune is installed, in the folder bin beside that, with the plug-ins that
// this process has loaded. The program `aitune` finds itself. Empty if there is
// none.
std::vector<std::string> FindWorkerProgram();

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_WORKER_PROGRAM_H_
