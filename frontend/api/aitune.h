/* AITune for programs in C, or in anything that calls C.
 *
 *   ait_module *module = NULL;
 *   ait_error *error = ait_module_load("bert.pt", NULL, &module);
 *   if (error) { fprintf(stderr, "%s\n", ait_error_message(error)); ... }
 *   error = ait_module_record(module, inputs, 2, 1);
 *   error = ait_module_tune(module, "MaxThroughput", 0);
 *   error = ait_module_run(module, inputs, 2, &result);   // any thread
 *
 * Handles are opaque. Every function that can fail returns NULL for success or
 * an error that the caller frees; it then has set nothing. A module may be used
 * by any number of threads at once, but for freeing it. NULL is allowed where
 * it is said to be.
 *
 * AIT_API_VERSION changes when a function changes or goes; functions are added
 * without that. A program checks ait_api_version() == AIT_API_VERSION once. */
#ifndef AITUNE_FRONTEND_API_AITUNE_H_
#define AITUNE_FRONTEND_API_AITUNE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AIT_API_VERSION 1
#define AIT_API __attribute__((visibility("default")))

typedef struct ait_module ait_module;
typedef struct ait_result ait_result;
typedef struct ait_error ait_error;

/* The version that the library was built with. */
AIT_API int ait_api_version(void);

/* Errors. Codes are those of absl::StatusCode (3: invalid argument, 5: not
 * found, 8: out of memory or beyond a limit, 9: not possible now, 13: internal,
 * 15: damaged data, ...). The text is valid until the error is freed. */
AIT_API int ait_error_code(const ait_error* error);
AIT_API const char* ait_error_message(const ait_error* error);
AIT_API void ait_error_free(ait_error* error); /* NULL is allowed */

enum {
  AIT_FLOAT32 = 1,
  AIT_FLOAT64 = 2,
  AIT_FLOAT16 = 3,
  AIT_BFLOAT16 = 4,
  AIT_INT64 = 5,
  AIT_INT32 = 6,
  AIT_INT16 = 7,
  AIT_INT8 = 8,
  AIT_UINT8 = 9,
  AIT_BOOL = 10 /* a byte, 0 or 1 */
};

/* A dense row-major tensor in memory of the CPU that somebody else owns. */
typedef struct ait_tensor {
  int32_t dtype;
  int32_t rank;
  const int64_t* sizes; /* rank of them */
  void* data;           /* inputs are only read */
} ait_tensor;

/* A TorchScript model (torch.jit.save), run in eager until it is tuned.
 * `cache_dir` is where compiled models are kept; NULL: nowhere. */
AIT_API ait_error* ait_module_load(const char* path, const char* cache_dir,
                                   ait_module** module);

/* What is asked of a submodule when the module is tuned: to be left to LibTorch
 * (`source` is NULL), or to be replaced by the method that `source` defines, in
 * TorchScript: "def forward(self, x: Tensor):\n    return ...\n". */
typedef struct ait_submodule_change {
  const char* submodule; /* such as "encoder.layer.0" */
  const char* source;
} ait_submodule_change;

/* As ait_module_load, with changes of submodules. */
AIT_API ait_error* ait_module_load_changed(const char* path,
                                           const char* cache_dir,
                                           const ait_submodule_change* changes,
                                           size_t count, ait_module** module);

/* As ait_module_load_changed, to run on `device`: "cpu", or "cuda" or "cuda:N"
 * for a GPU. Tensors are given and returned in memory of the CPU all the same.
 * Before the process makes its first LibTorch tensor. NULL: the CPU. */
AIT_API ait_error* ait_module_load_on(const char* device, const char* path,
                                      const char* cache_dir,
                                      const ait_submodule_change* changes,
                                      size_t count, ait_module** module);

/* How a module is loaded and compiled, by the names and values of the command
 * line's options, such as "target" and "avx2", "tf32" and "none",
 * "tuning-database" and a file, "emulate-eager-casts" and "true"; an unknown
 * name's error lists them. What holds for all modules alike has functions of
 * its own. */
typedef struct ait_options ait_options;
AIT_API ait_options* ait_options_new(void); /* NULL: out of memory */
AIT_API ait_error* ait_options_set(ait_options* options, const char* name,
                                   const char* value);
AIT_API void ait_options_free(ait_options* options); /* NULL is allowed */

/* As ait_module_load_on, with options, which are read and stay the caller's.
 * Options that would have no effect on the device are an error. */
AIT_API ait_error* ait_module_load_with(const ait_options* options,
                                        const char* path,
                                        const ait_submodule_change* changes,
                                        size_t count, ait_module** module);

/* Replaces the operator `op`, such as "mylib::gate", by the function that
 * `source` defines, in all modules that are tuned from now on; NULL takes it
 * back. Checkpoints of such modules are refused where it is missing. */
AIT_API ait_error* ait_substitute_in_graph(const char* op, const char* source);

/* A tuned module that was saved: compiles nothing on the kind of machine that
 * it was saved on. `digest` is what ait_module_save gave; NULL: not compared.
 */
AIT_API ait_error* ait_module_load_checkpoint(const char* path,
                                              const char* digest,
                                              ait_module** module);

/* The same on `device`, wherever it was saved; NULL: there. On another kind of
 * GPU it is compiled anew. */
AIT_API ait_error* ait_module_load_checkpoint_on(const char* device,
                                                 const char* path,
                                                 const char* digest,
                                                 ait_module** module);

/* Keeps a copy of one call's inputs, which hold `batch` items, as a sample: one
 * tensor for each argument of the model. */
AIT_API ait_error* ait_module_record(ait_module* module,
                                     const ait_tensor* inputs, size_t count,
                                     int64_t batch);

/* Chooses how to run the module: "OneBackend" (compile it), "FirstWins",
 * "MaxThroughput", "MinLatency", or "LatencyBudget" with `milliseconds`.
 * Needs samples. On an error the module runs as before. Takes seconds. */
AIT_API ait_error* ait_module_tune(ait_module* module, const char* strategy,
                                   double milliseconds);

/* The same with a bound of the caller's: the largest error to eager, relative
 * to the output's scale, that an output may have. Below 0: what the backends'
 * configurations promise, as above. */
AIT_API ait_error* ait_module_tune_within(ait_module* module,
                                          const char* strategy,
                                          double milliseconds,
                                          double tolerance);

/* Runs the module. The result is to be freed. On a GPU it was waited for, so
 * that what the call found wrong, an index say, is its own error. */
AIT_API ait_error* ait_module_run(const ait_module* module,
                                  const ait_tensor* inputs, size_t count,
                                  ait_result** result);

/* The tensors of a result, of whatever nesting, in order. They are valid until
 * it is freed. ait_result_tensor gives rank -1 beyond the last. */
AIT_API size_t ait_result_count(const ait_result* result);
AIT_API ait_tensor ait_result_tensor(const ait_result* result, size_t index);
AIT_API void ait_result_free(ait_result* result); /* NULL is allowed */

/* How it runs, such as "TorchInductorBackend(mode=max-autotune)", or the report
 * of tuning as "json" or "html". The text is to be freed. */
AIT_API ait_error* ait_module_describe(const ait_module* module, char** text);
AIT_API ait_error* ait_module_report(const ait_module* module,
                                     const char* format, char** text);
AIT_API void ait_text_free(char* text); /* NULL is allowed */

/* Saves a tuned module to one file. `digest` gets 64 digits and a zero; NULL is
 * allowed. */
AIT_API ait_error* ait_module_save(const ait_module* module, const char* path,
                                   char digest[65]);

AIT_API void ait_module_free(ait_module* module); /* NULL is allowed */

/* "default", "force_eager", "eager_on_recompile" or "fail_on_recompile", for
 * all modules of the process. */
AIT_API ait_error* ait_set_stance(const char* name);

/* Threads that one call on the calling thread computes with; 0 or less: no
 * change. A server whose N threads call at once gives each its share of the
 * cores, or one. */
AIT_API void ait_set_threads(int threads);

#ifdef __cplusplus
}
#endif

#endif /* AITUNE_FRONTEND_API_AITUNE_H_ */
