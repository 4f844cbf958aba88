/* Records samples of a module's inputs, and has it compiled and timed for them.
 *
 * Part of aitune.h, which says what is true of all functions: errors,
 * ownership, threads. */
#ifndef AITUNE_FRONTEND_API_AITUNE_TUNE_H_
#define AITUNE_FRONTEND_API_AITUNE_TUNE_H_

#include "aitune_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps a copy of one call's inputs as a sample for tuning: `count` arguments,
 * which hold `batch` items. Arguments here and below are those of the model in
 * order, or by name after them; parameters that have a default may be left out.
 * Numbers are converted to the types of parameters as Python does, and are part
 * of what is compiled: calls with other ones compile a further version.
 * AIT_INVALID_ARGUMENT for another nesting than before, and for names that the
 * model lacks, with its parameters. */
AIT_API ait_error* ait_module_record(ait_module* module,
                                     const ait_tensor* inputs, size_t count,
                                     int64_t batch);

/* Chooses how to run the module by a strategy: "OneBackend" (compile it),
 * "FirstWins", "MaxThroughput", "MinLatency", or "LatencyBudget" with
 * `milliseconds`, which the others ignore. At least one sample must have been
 * recorded (AIT_FAILED_PRECONDITION). After an error the module runs as before.
 * Takes seconds or minutes. Calls on other threads go on meanwhile, but of a
 * model with state (buffers or attributes that calls change): nobody may call
 * it until this returns, as its samples are run on that state, which is then
 * put back. A second tuning of the module waits. */
AIT_API ait_error* ait_module_tune(ait_module* module, const char* strategy,
                                   double milliseconds);

/* The same with the caller's bound on errors: `tolerance` is the largest error
 * of an output to eager, relative to the output's scale. Below 0: the bounds
 * that the backends' configurations promise, as above. */
AIT_API ait_error* ait_module_tune_within(ait_module* module,
                                          const char* strategy,
                                          double milliseconds,
                                          double tolerance);

/* As ait_module_tune_within, for the inputs that the module is to serve:
 * `inputs` has a text for each of the `count` arguments, such as
 * "float32[1..32,3,224,224]" or "int64[8,s0=16..512]", as --input of the
 * command line. A version is made for all these sizes now and compared with
 * eager at the ends of the ranges and between; a call of them compiles only
 * where the model's program decides by sizes. No sample is needed; without one
 * the first range is the batch.
 * AIT_INVALID_ARGUMENT for texts that do not fit the model. */
AIT_API ait_error* ait_module_tune_for(ait_module* module, const char* strategy,
                                       double milliseconds, double tolerance,
                                       const char* const* inputs, size_t count);

/* What a tuning is to do. A program sets struct_size, and to zero what it does
 * not want to choose. */
typedef struct ait_tune_options {
  size_t struct_size;   /* sizeof(ait_tune_options) */
  const char* strategy; /* as ait_module_tune; NULL: "MaxThroughput" */
  double milliseconds;  /* of the strategy "LatencyBudget" */
  /* The backends to choose from, in order of preference, as --backend of the
   * command line takes them and ait_module_describe gives them, such as
   * "TorchInductorBackend(mode=max-autotune, dynamic=True)",
   * "TorchInductorBackend(fullgraph=True, autocast_enabled=True,
   * options.max_autotune=True)" or "TorchScriptBackend"; ait_list_backends has
   * them all. NULL with the count 0: TorchInductorBackend with max-autotune,
   * then TorchScriptBackend; "OneBackend" takes the first alone. */
  const char* const* backends;
  size_t backend_count;
  const char* const* inputs; /* as ait_module_tune_for; NULL: the samples' */
  size_t input_count;
  const int64_t* batches; /* batch sizes, in items, that are timed; NULL: the
                             powers of two that the samples or inputs allow */
  size_t batch_count;
  int32_t tolerance_is_set; /* 0: the bounds that the backends' configurations
                               promise, whatever `tolerance` is; 1: that */
  double tolerance;         /* as ait_module_tune_within, 0 or more */
  double timing_milliseconds; /* for which each backend is timed at each batch
                                 size; 0: the default */
  uint64_t seed;              /* of random elements of inputs */
} ait_tune_options;

/* As ait_module_tune, by `options`, which are only read. AIT_NOT_FOUND for a
 * kind of backend that there is not, AIT_INVALID_ARGUMENT for a text that names
 * none, for a configuration that it does not have, and for batch sizes where no
 * axis is the batch. */
AIT_API ait_error* ait_module_tune_with(ait_module* module,
                                        const ait_tune_options* options);

/* The kinds of backends that this process has. */
typedef struct ait_backends ait_backends;

typedef struct ait_backend {
  size_t struct_size;         /* sizeof(ait_backend) */
  const char* name;           /* such as "TorchInductorBackend" */
  const char* help;           /* one sentence */
  const char* devices;        /* that it runs on, such as "cpu,cuda" */
  const char* usable_devices; /* those of them that can be used in this process,
                                 as far as can be seen without starting them */
  const char* reason; /* why the others can't: a line for each, "cuda: ..." */
} ait_backend;

/* What a setting of TorchInductorBackend's configuration is. */
typedef enum ait_setting_kind {
  AIT_SETTING_MODE = 0,  /* mode=NAME stands for the options in `value` */
  AIT_SETTING_OPTION = 1 /* options.NAME=... is `value` unless it is set */
} ait_setting_kind;

typedef struct ait_setting {
  size_t struct_size; /* sizeof(ait_setting) */
  int32_t kind;       /* an ait_setting_kind */
  const char* name;   /* such as "reduce-overhead" or "max_autotune" */
  const char* value;  /* as Python prints it */
  const char* help;   /* one sentence */
} ait_setting;

/* The kinds of backends by name, and the settings of TorchInductorBackend: what
 * `aitune backends` of the command line prints. The caller frees the list. */
AIT_API ait_error* ait_list_backends(ait_backends** backends);

/* The numbers of backends and of settings (0 for NULL), and each of them. The
 * caller sets struct_size; texts belong to the list. AIT_OUT_OF_RANGE beyond
 * the last one. */
AIT_API size_t ait_backends_count(const ait_backends* backends);
AIT_API ait_error* ait_backends_get(const ait_backends* backends, size_t index,
                                    ait_backend* backend);
AIT_API size_t ait_backends_settings(const ait_backends* backends);
AIT_API ait_error* ait_backends_setting(const ait_backends* backends,
                                        size_t index, ait_setting* setting);
AIT_API void ait_backends_free(ait_backends* backends); /* NULL is allowed */

/* Ends the tuning of the module that another thread is at, with AIT_CANCELLED:
 * after the version that is being compiled or the batch size that is being
 * timed. The module then runs as before. Nothing without a tuning. */
AIT_API ait_error* ait_module_cancel_tune(ait_module* module);

/* ait_module_describe tells how the module runs, such as
 * "TorchInductorBackend(mode=max-autotune)"; ait_module_report gives the report
 * of tuning in the format "json" or "html" (AIT_INVALID_ARGUMENT for another).
 * The caller frees the text. */
AIT_API ait_error* ait_module_describe(const ait_module* module, char** text);
AIT_API ait_error* ait_module_report(const ait_module* module,
                                     const char* format, char** text);

/* The inputs as the samples show them, such as "float32[batch0, 3, 224, 224]":
 * which axes are the batch, and which are dynamic. The caller frees the text.
 * AIT_INVALID_ARGUMENT for samples that don't fit each other. */
AIT_API ait_error* ait_module_spec(const ait_module* module, char** text);

/* Measures on the first sample how much of the model's time in eager each
 * submodule takes, over `repeats` calls; ait_module_report has it from then on.
 * AIT_FAILED_PRECONDITION without samples. */
AIT_API ait_error* ait_module_inspect(ait_module* module, int repeats);

/* Whether calls run in a backend that was tuned or loaded: 1 or 0 (NULL: 0). */
AIT_API int ait_module_is_tuned(const ait_module* module);

/* With 1, calls run in eager from now on; with 0, in the tuned backend again.
 * While it is 1, the module counts as not tuned. */
AIT_API ait_error* ait_module_set_disabled(ait_module* module, int disabled);

#ifdef __cplusplus
}
#endif

#endif /* AITUNE_FRONTEND_API_AITUNE_TUNE_H_ */
