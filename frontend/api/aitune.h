/* AITune for programs in C, or in anything that calls C.
 *
 *   ait_module *module = NULL;
 *   ait_error *error = ait_module_load("bert.pt", NULL, &module);
 *   if (error) { fprintf(stderr, "%s\n", ait_error_message(error)); ... }
 *   error = ait_module_record(module, inputs, 2, 1);
 *   error = ait_module_tune(module, "MaxThroughput", 0);
 *   error = ait_module_run(module, inputs, 2, &result);   // any thread
 *
 * Handles are opaque. A function that can fail returns NULL for success, or an
 * error that the caller must free; after an error it has set none of its
 * results. Any number of threads may use a module at once, except for freeing
 * it. Pointers must not be NULL unless the comment allows it. Texts end with a
 * zero.
 *
 * AIT_API_VERSION changes when a function changes or is removed, but not when
 * one is added. A program should check once that ait_api_version() ==
 * AIT_API_VERSION. */
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
  AIT_BOOL = 10 /* one byte for each element, 0 or 1 */
};

/* A dense row-major tensor in memory of the CPU. It does not own the memory. */
typedef struct ait_tensor {
  int32_t dtype;        /* AIT_FLOAT32, ... */
  int32_t rank;         /* number of axes */
  const int64_t* sizes; /* elements of each axis */
  void* data;           /* the elements; those of inputs are only read */
} ait_tensor;

/* Loads a TorchScript model from a file that torch.jit.save wrote. It runs in
 * eager until it is tuned. Compiled models are stored in the folder
 * `cache_dir`; NULL: they are not stored. The caller frees the module. */
AIT_API ait_error* ait_module_load(const char* path, const char* cache_dir,
                                   ait_module** module);

/* A change of a submodule when the module is tuned: LibTorch runs it (`source`
 * is NULL), or the method that `source` defines in TorchScript replaces it:
 * "def forward(self, x: Tensor):\n    return ...\n". */
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
 * for a GPU; NULL: the CPU. Tensors of calls and results are in memory of the
 * CPU also then. For a GPU it must be called before the process makes its first
 * LibTorch tensor. */
AIT_API ait_error* ait_module_load_on(const char* device, const char* path,
                                      const char* cache_dir,
                                      const ait_submodule_change* changes,
                                      size_t count, ait_module** module);

/* Options of loading and compiling a module. Names and values are those of the
 * command line's options, such as "target" and "avx2", "tf32" and "none",
 * "tuning-database" and a file, "emulate-eager-casts" and "true". The error for
 * an unknown name lists all names. Settings that hold for all modules have
 * functions of their own. An ait_options must not be used by two threads at
 * once. */
typedef struct ait_options ait_options;
AIT_API ait_options* ait_options_new(void); /* NULL: out of memory */
AIT_API ait_error* ait_options_set(ait_options* options, const char* name,
                                   const char* value);
AIT_API void ait_options_free(ait_options* options); /* NULL is allowed */

/* As ait_module_load_on, with options, which are only read. An option that has
 * no effect on the device is an error. */
AIT_API ait_error* ait_module_load_with(const ait_options* options,
                                        const char* path,
                                        const ait_submodule_change* changes,
                                        size_t count, ait_module** module);

/* Replaces the operator `op`, such as "mylib::gate", by the function that
 * `source` defines, in all modules that are tuned from now on; NULL removes the
 * replacement. A process without the replacement refuses checkpoints of such
 * modules. */
AIT_API ait_error* ait_substitute_in_graph(const char* op, const char* source);

/* Loads a tuned module that was saved. On the kind of machine that it was saved
 * on, nothing is compiled. `digest` is that of ait_module_save; NULL: it is not
 * compared. The caller frees the module. */
AIT_API ait_error* ait_module_load_checkpoint(const char* path,
                                              const char* digest,
                                              ait_module** module);

/* The same to run on `device`; NULL: on the device that it was saved for. On
 * another kind of GPU it is compiled anew. */
AIT_API ait_error* ait_module_load_checkpoint_on(const char* device,
                                                 const char* path,
                                                 const char* digest,
                                                 ait_module** module);

/* Keeps a copy of one call's inputs as a sample for tuning: `count` tensors,
 * one for each argument of the model, which hold `batch` items. */
AIT_API ait_error* ait_module_record(ait_module* module,
                                     const ait_tensor* inputs, size_t count,
                                     int64_t batch);

/* Chooses how to run the module by a strategy: "OneBackend" (compile it),
 * "FirstWins", "MaxThroughput", "MinLatency", or "LatencyBudget" with
 * `milliseconds`, which the others ignore. At least one sample must have been
 * recorded. After an error the module runs as before. Takes seconds or
 * minutes. */
AIT_API ait_error* ait_module_tune(ait_module* module, const char* strategy,
                                   double milliseconds);

/* The same with the caller's bound on errors: `tolerance` is the largest error
 * of an output to eager, relative to the output's scale. Below 0: the bounds
 * that the backends' configurations promise, as above. */
AIT_API ait_error* ait_module_tune_within(ait_module* module,
                                          const char* strategy,
                                          double milliseconds,
                                          double tolerance);

/* Runs the module on `count` tensors, one for each argument. The caller frees
 * the result. On a GPU the function waits for the result, so that an index out
 * of range, say, is the error of this call. */
AIT_API ait_error* ait_module_run(const ait_module* module,
                                  const ait_tensor* inputs, size_t count,
                                  ait_result** result);

/* The tensors of a result in depth-first order of its nesting. Their memory is
 * valid until the result is freed. ait_result_tensor returns a tensor of rank
 * -1 if there is no tensor `index`. */
AIT_API size_t ait_result_count(const ait_result* result);
AIT_API ait_tensor ait_result_tensor(const ait_result* result, size_t index);
AIT_API void ait_result_free(ait_result* result); /* NULL is allowed */

/* ait_module_describe tells how the module runs, such as
 * "TorchInductorBackend(mode=max-autotune)"; ait_module_report gives the report
 * of tuning in the format "json" or "html". The caller frees the text. */
AIT_API ait_error* ait_module_describe(const ait_module* module, char** text);
AIT_API ait_error* ait_module_report(const ait_module* module,
                                     const char* format, char** text);
AIT_API void ait_text_free(char* text); /* NULL is allowed */

/* Saves a tuned module to one file. Writes its digest, 64 hexadecimal digits
 * and a zero, to `digest`, which may be NULL. */
AIT_API ait_error* ait_module_save(const ait_module* module, const char* path,
                                   char digest[65]);

AIT_API void ait_module_free(ait_module* module); /* NULL is allowed */

/* Sets the stance of all modules of the process: "default", "force_eager",
 * "eager_on_recompile" or "fail_on_recompile" (torch.compiler.set_stance). */
AIT_API ait_error* ait_set_stance(const char* name);

/* Sets the number of threads with which calls on the calling thread compute; 0
 * or less: no change. In a server with N threads that call at once, each should
 * set its share of the cores. */
AIT_API void ait_set_threads(int threads);

#ifdef __cplusplus
}
#endif

#endif /* AITUNE_FRONTEND_API_AITUNE_H_ */
