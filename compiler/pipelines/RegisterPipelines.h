// The compiler's phases for aitune-opt, each under a name of its own.
#ifndef AITUNE_COMPILER_PIPELINES_REGISTERPIPELINES_H
#define AITUNE_COMPILER_PIPELINES_REGISTERPIPELINES_H

namespace aitune {

/// Makes the functions of Pipelines.h known by name: ait-transforms,
/// ait-fusion, ait-kernel-to-linalg and ait-kernel-to-loops. To be called once,
/// before the command line is read.
void registerPipelines();

} // namespace aitune

#endif // AITUNE_COMPILER_PIPELINES_REGISTERPIPELINES_H
