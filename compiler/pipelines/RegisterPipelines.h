// Registers the compiler's phases for aitune-opt, each under its own name.
#ifndef AITUNE_COMPILER_PIPELINES_REGISTERPIPELINES_H
#define AITUNE_COMPILER_PIPELINES_REGISTERPIPELINES_H

namespace aitune {

/// Registers the pipelines of Pipelines.h as ait-transforms, ait-fusion,
/// ait-kernel-to-linalg and ait-kernel-to-loops. To be called once, before the
/// command line is parsed.
void registerPipelines();

} // namespace aitune

#endif // AITUNE_COMPILER_PIPELINES_REGISTERPIPELINES_H
