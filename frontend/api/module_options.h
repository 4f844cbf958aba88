// What ModuleOptions mean: their check, what they are for the compiler, and how
// they are set by the names and values of the command line's options, for
// interfaces that have only text.
#ifndef AITUNE_FRONTEND_API_MODULE_OPTIONS_H_
#define AITUNE_FRONTEND_API_MODULE_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/api/module.h"
#include "runtime/tensor/data_type.h"

namespace ait {

// Sets in `options` what the command line's option --NAME VALUE sets. Names are
// device, cache, dtype, threads, target, tf32 (none, convolutions or all),
// dump, tuning-database, tune-budget and kernel-seconds (in seconds),
// kernel-memory (in bytes), and, with true or false, emulate-eager-casts,
// unchecked-indices and no-measure. compile-in-background (true or false) is
// ModuleOptions::compile_in_background. Two more are paths of the `aitune`
// program:
// tune-worker, with which a search measures, and worker, with which the code of
// kernels is generated (GenerationOptions; by default the one beside the
// library).
// kInvalidArgument for another name or value, the text lists those that exist;
// for a program that can't be started. The errors of TuningDatabase::open for a
// tuning database, which is made if there is none.
absl::Status SetOption(const std::string& name, const std::string& value,
                       ModuleOptions& options);

// kInvalidArgument for options that have no meaning for a module, or no effect;
// the text says what to give instead.
absl::Status CheckModuleOptions(const ModuleOptions& options);

// The options to compile a module with: with the user's tuning database
// (DefaultTuningDatabase) if there is one and no other is given.
aitune::CompileOptions ToCompileOptions(const ModuleOptions& options);

// The dtype with this name: float32 (or fp32), bfloat16 (bf16), float16 (fp16)
// or float64. kInvalidArgument for another name.
absl::StatusOr<aitune::DataType> ParseFloatingPoint(const std::string& name);

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_MODULE_OPTIONS_H_
