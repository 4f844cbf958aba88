/* AITune for programs in C, or in anything that calls C.
 *
 *   ait_module *module = NULL;
 *   ait_error *error = ait_module_load("bert.pt", NULL, &module);
 *   if (error) { fprintf(stderr, "%s\n", ait_error_message(error)); ... }
 *   error = ait_module_record(module, inputs, 2, 1);
 *   error = ait_module_tune(module, "MaxThroughput", 0);
 *   error = ait_module_run(module, inputs, 2, &result);   // any thread
 *   ait_tensor output = {sizeof output};
 *   error = ait_result_tensor(result, 0, &output);
 *
 * Errors: a function that can fail returns NULL for success, or an error, which
 * the caller frees with ait_error_free; after an error it has set none of its
 * results. A pointer that is NULL where the comment does not allow it, also a
 * handle, is the error AIT_INVALID_ARGUMENT. Every function may return
 * AIT_RESOURCE_EXHAUSTED (out of memory) and AIT_INTERNAL (a defect of AITune
 * or LibTorch); comments name the others. Nothing is thrown.
 *
 * Ownership: handles are opaque. What a function returns through a pointer the
 * caller frees, each kind with its own function. Arguments are only read while
 * the function runs, and belong to the caller. Texts end with a zero.
 *
 * Threads: any number of threads may call functions at once, also for one
 * module; a handle must not be freed while another thread uses it. An
 * ait_options, ait_result or ait_error is for one thread at a time.
 *
 * Processes: in a child of fork, modules of the parent can be called. The
 * thread that called fork then computes with one thread if the parent had
 * several; threads that the child makes have all cores. Asynchronous calls of
 * the parent end in the parent; in the child ait_call_wait gives
 * AIT_FAILED_PRECONDITION for them, and new ones run in a thread of the child.
 * Modules that the parent compiled for in the background must not be freed
 * there, as that thread stays with the parent. Nothing that holds a GPU can be
 * used by a child.
 *
 * Versions: each structure begins with its own size in bytes, which the caller
 * sets to sizeof, in every element of an array. A later library knows by it
 * which fields an older program has. AIT_API_VERSION changes when a function
 * changes or is removed, but not when one, or a field at the end of a
 * structure, is added. A program should check once that ait_api_version() ==
 * AIT_API_VERSION.
 *
 * Trust: models, checkpoints and replacements of operators are programs, which
 * run with the rights of the process (SECURITY.md). */
#ifndef AITUNE_FRONTEND_API_AITUNE_H_
#define AITUNE_FRONTEND_API_AITUNE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AIT_API_VERSION 2
#define AIT_API __attribute__((visibility("default")))

typedef struct ait_module ait_module;
typedef struct ait_result ait_result;
typedef struct ait_error ait_error;

/* The version that the library was built with. */
AIT_API int ait_api_version(void);

/* What kind of error it is. Numbers are never used again for another kind. */
typedef enum ait_code {
  AIT_OK = 0,
  AIT_CANCELLED = 1,
  AIT_UNKNOWN = 2,
  AIT_INVALID_ARGUMENT = 3, /* a wrong argument, input or file, also what the
                               model raises for an input */
  AIT_DEADLINE_EXCEEDED = 4,
  AIT_NOT_FOUND = 5, /* no such file, part or device */
  AIT_ALREADY_EXISTS = 6,
  AIT_PERMISSION_DENIED = 7,  /* the system, or the cache's owner, forbids it */
  AIT_RESOURCE_EXHAUSTED = 8, /* out of memory or disk, or beyond a limit */
  AIT_FAILED_PRECONDITION = 9, /* not possible in this state; the text says
                                  what must come first */
  AIT_ABORTED = 10,
  AIT_OUT_OF_RANGE = 11,
  AIT_UNIMPLEMENTED = 12, /* something that AITune can't do */
  AIT_INTERNAL = 13,      /* a defect */
  AIT_UNAVAILABLE = 14,   /* may work later */
  AIT_DATA_LOSS = 15      /* a damaged file */
} ait_code;

/* The kind and the text of an error; AIT_OK and "" for NULL. The text names the
 * thing, what was wrong with it and what to do, is UTF-8 (what is none in a
 * path is U+FFFD there), and is valid until the error is freed. */
AIT_API ait_code ait_error_code(const ait_error* error);
AIT_API const char* ait_error_message(const ait_error* error);
AIT_API void ait_error_free(ait_error* error); /* NULL is allowed */

/* Types of elements. */
typedef enum ait_dtype {
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
} ait_dtype;

/* Where memory is. */
typedef enum ait_device_type { AIT_CPU = 0, AIT_CUDA = 1 } ait_device_type;

/* What an argument of a call is. */
typedef enum ait_kind {
  AIT_TENSOR = 0,
  AIT_NUMBER = 1, /* an int, a float or a bool: `dtype` is AIT_INT64,
                     AIT_FLOAT64 or AIT_BOOL, `rank` 0, and `data` points to it
                     in memory of the CPU */
  AIT_TEXT = 2,   /* a str: `data` is its UTF-8, which ends with a zero */
  AIT_NONE = 3,   /* None; the fields but `name` are not read */
  AIT_LIST = 4,   /* a list of sizes[0] elements: `rank` is 1, and `data` an
                     array of ait_tensor, each of any kind; their names are not
                     read */
  AIT_TUPLE = 5,  /* a tuple, likewise */
  AIT_DICT = 6    /* a dict whose keys are texts: the names of the elements */
} ait_kind;

/* A dense row-major tensor, or an argument of another kind. It does not own the
 * memory, which is that of the CPU or of the GPU that the module runs on. */
typedef struct ait_tensor {
  size_t struct_size;   /* sizeof(ait_tensor) */
  int32_t dtype;        /* an ait_dtype */
  int32_t rank;         /* number of axes, at most 64 */
  const int64_t* sizes; /* elements of each axis; NULL is allowed for rank 0 */
  void* data;          /* the elements; NULL is allowed if there are none. Those
                          of inputs are only read, except by a model that
                          changes its arguments in place */
  int32_t device_type; /* an ait_device_type */
  int32_t device_index; /* the number of the GPU; ignored for the CPU. The
                           structures of programs without these two fields
                           are of the CPU */
  /* Of arguments. Programs without these two fields give tensors in order. */
  const char* name; /* the parameter that this is for, as Python's
                       model(x, mask=m) names it; NULL: that at this place.
                       Those with names come last */
  int32_t kind;     /* an ait_kind; outputs and weights are tensors */
} ait_tensor;

/* Loads a TorchScript model from a file that torch.jit.save wrote. It runs in
 * eager until it is tuned. Compiled models are stored in the folder
 * `cache_dir`; NULL: they are not stored. The caller frees the module. Errors:
 * AIT_NOT_FOUND, AIT_INVALID_ARGUMENT for something else than a model. */
AIT_API ait_error* ait_module_load(const char* path, const char* cache_dir,
                                   ait_module** module);

/* A change of a submodule when the module is tuned: LibTorch runs it (`source`
 * is NULL), or the method that `source` defines in TorchScript replaces it:
 * "def forward(self, x: Tensor):\n    return ...\n". */
typedef struct ait_submodule_change {
  size_t struct_size;    /* sizeof(ait_submodule_change) */
  const char* submodule; /* such as "encoder.layer.0" */
  const char* source;
} ait_submodule_change;

/* As ait_module_load, with `count` changes of submodules, which may be NULL if
 * `count` is 0. AIT_NOT_FOUND or AIT_INVALID_ARGUMENT also for a submodule that
 * the model lacks and for source that does not fit. */
AIT_API ait_error* ait_module_load_changed(const char* path,
                                           const char* cache_dir,
                                           const ait_submodule_change* changes,
                                           size_t count, ait_module** module);

/* As ait_module_load_changed, to run on `device`: "cpu", or "cuda" or "cuda:N"
 * for a GPU; NULL: the CPU. Tensors of calls may be in memory of the CPU also
 * then, and those of an ait_result are. For a GPU it must be called before the
 * process makes its first LibTorch tensor. An error, with the reason, if the
 * GPU can't be used. */
AIT_API ait_error* ait_module_load_on(const char* device, const char* path,
                                      const char* cache_dir,
                                      const ait_submodule_change* changes,
                                      size_t count, ait_module** module);

/* Options of loading and compiling a module. Names and values are those of the
 * command line's options, such as "target" and "avx2", "tf32" and "none",
 * "tuning-database" and a file, "emulate-eager-casts" and "true"; sizes are
 * bytes and times seconds, without units. The error for an unknown name lists
 * all names. The file of "tuning-database" is opened, and made if there is none:
 * one that can't be is an error here (AIT_FAILED_PRECONDITION: of another
 * program; AIT_PERMISSION_DENIED, AIT_UNAVAILABLE), as is a program of "worker"
 * or "tune-worker" that can't be started (AIT_INVALID_ARGUMENT). One of another
 * build than the library is AIT_FAILED_PRECONDITION of what compiles. Settings
 * that hold for all modules have functions of their own. */
typedef struct ait_options ait_options;
AIT_API ait_options* ait_options_new(void); /* NULL: out of memory */
AIT_API ait_error* ait_options_set(ait_options* options, const char* name,
                                   const char* value);
AIT_API void ait_options_free(ait_options* options); /* NULL is allowed */

/* Has tunings of modules that are loaded with `options` call `progress`, with
 * `user`, after each part of a phase: the phase's name, such as "check against
 * eager", the number of its parts that are done, and that of all its parts. It
 * is called by the thread that tunes, or that compiles for a call, and may call
 * ait_module_cancel_tune; the text is valid while it runs. NULL: nothing. */
AIT_API ait_error* ait_options_set_progress(
    ait_options* options,
    void (*progress)(void* user, const char* phase, int done, int total),
    void* user);

/* As ait_module_load_on, with options, which are only read. An option that has
 * no effect on the device is an error. */
AIT_API ait_error* ait_module_load_with(const ait_options* options,
                                        const char* path,
                                        const ait_submodule_change* changes,
                                        size_t count, ait_module** module);

/* As ait_module_load_with, from the `size` bytes of such a file, which are not
 * needed afterwards. The module is called `name` in texts; NULL: "module". */
AIT_API ait_error* ait_module_load_bytes(const ait_options* options,
                                         const void* bytes, size_t size,
                                         const char* name,
                                         const ait_submodule_change* changes,
                                         size_t count, ait_module** module);

/* Replaces the operator `op`, such as "mylib::gate", by the function that
 * `source` defines, in all modules that are tuned from now on; NULL removes the
 * replacement. A process without the replacement refuses checkpoints of such
 * modules. AIT_INVALID_ARGUMENT for source that is not one function. */
AIT_API ait_error* ait_substitute_in_graph(const char* op, const char* source);

/* Loads a tuned module that was saved. On the kind of machine that it was saved
 * on, nothing is compiled. `digest` is that of ait_module_save; NULL: it is not
 * compared, which an empty text does not say. The caller frees the module.
 * Errors: AIT_NOT_FOUND, AIT_INVALID_ARGUMENT for something else than a
 * checkpoint, AIT_DATA_LOSS for one that is damaged or has another digest,
 * AIT_FAILED_PRECONDITION for one that was made with replacements that this
 * process lacks. */
AIT_API ait_error* ait_module_load_checkpoint(const char* path,
                                              const char* digest,
                                              ait_module** module);

/* The same to run on `device`; NULL: on the device that it was saved for. On
 * another kind of GPU it is compiled anew. */
AIT_API ait_error* ait_module_load_checkpoint_on(const char* device,
                                                 const char* path,
                                                 const char* digest,
                                                 ait_module** module);

/* The same from the `size` bytes of a checkpoint that was saved as one file.
 * They are not needed afterwards. */
AIT_API ait_error* ait_module_load_checkpoint_bytes(const char* device,
                                                    const void* bytes,
                                                    size_t size,
                                                    const char* digest,
                                                    ait_module** module);

/* As ait_module_load_checkpoint_on, only if the owner of the public Ed25519 key
 * in the file `key` (PEM) signed the checkpoint: `deploy --sign` of the command
 * line writes the signature to the file "PATH.sig". AIT_PERMISSION_DENIED for a
 * signature of somebody else, AIT_NOT_FOUND without a signature or a key,
 * AIT_DATA_LOSS for a checkpoint that is not the one that was signed. */
AIT_API ait_error* ait_module_load_checkpoint_verified(const char* device,
                                                       const char* path,
                                                       const char* key,
                                                       ait_module** module);

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

/* Replaces the elements of `count` parameters and buffers without compiling:
 * names[i], as state_dict names it, gets a copy of those of tensors[i], of the
 * dtype and sizes that the model has. Calls from then on compute with them;
 * bindings must be made anew. Needs memory for both while it loads, and waits
 * for a tuning under way. AIT_NOT_FOUND for a name that the model lacks,
 * AIT_FAILED_PRECONDITION for weights of which compiled code holds something
 * (tensors of one element or of integers, quantised layers, others): the text
 * names the weight and what was made of it. After an error all is as before. */
AIT_API ait_error* ait_module_replace_weights(ait_module* module,
                                              const char* const* names,
                                              const ait_tensor* tensors,
                                              size_t count);

/* Runs the module on `count` arguments. The caller frees
 * the result, which has memory of its own: the inputs may be changed or freed
 * before it. On a GPU the function waits for the result, so that an index out
 * of range, say, is the error of this call. AIT_INVALID_ARGUMENT for inputs
 * that the model does not take; AIT_UNIMPLEMENTED for outputs that are no dense
 * tensors of an ait_dtype. A call with sizes that nothing was compiled for may
 * compile for seconds, as the module's options say. */
AIT_API ait_error* ait_module_run(const ait_module* module,
                                  const ait_tensor* inputs, size_t count,
                                  ait_result** result);

/* As ait_module_run, with the results in memory of the caller: `outputs` are
 * the tensors of the result in depth-first order of its nesting, of exactly the
 * dtypes and sizes that the call gives, and their data is written. Their memory
 * must not be that of an input. It may also be on the module's GPU.
 * AIT_INVALID_ARGUMENT for another number, dtype or sizes, with those of the
 * result; no output is written then, but the call was made, and what the model
 * keeps between calls is as after it. */
AIT_API ait_error* ait_module_run_into(const ait_module* module,
                                       const ait_tensor* inputs, size_t count,
                                       const ait_tensor* outputs,
                                       size_t output_count);

/* Runs a call of `count` arguments a few times, so that the first one to serve
 * pays for nothing: a version for its sizes is compiled now, memory is
 * allocated and written, CUDA graphs are captured (inputs in other memory of
 * the GPU capture one more), and the computing threads of this thread are
 * started. NULL with the count 0: the calls of the samples, or
 * of a checkpoint those that its versions show. The model's state is the same
 * afterwards; nobody may call a model with state meanwhile. Errors as
 * ait_module_run; AIT_FAILED_PRECONDITION where nothing shows a call. */
AIT_API ait_error* ait_module_warm_up(const ait_module* module,
                                      const ait_tensor* inputs, size_t count);

/* The same for random inputs of the largest and of the smallest sizes that the
 * texts say, as ait_module_tune_for takes them. */
AIT_API ait_error* ait_module_warm_up_for(const ait_module* module,
                                          const char* const* inputs,
                                          size_t count);

/* A call that runs while its caller does something else. */
typedef struct ait_call ait_call;

/* Has a thread of the module's run one call, after those that were made before,
 * with the stance and the number of threads of the calling thread. `inputs` and
 * `outputs` are as ait_module_run_into takes them, or `outputs` is NULL
 * (`output_count` 0) and the result has memory of its own. The memory of their
 * data must stay, and that of the inputs stay as it is, until ait_call_wait has
 * returned or the call is freed; on a GPU it must be ready now. From
 * `milliseconds` from now on the result is of no use (below 0: no such time).
 * `done`, which may be NULL, is called with `user` once when the call has
 * ended, by the thread that ended it: the module's, or for a call that was not
 * begun that of ait_call_cancel or ait_call_wait. It may call ait_call_wait for
 * the result, and must not free the call.
 * The caller frees the call, before the module. AIT_INVALID_ARGUMENT for
 * structures that describe no tensors; all other errors are those of
 * ait_call_wait. */
AIT_API ait_error* ait_module_run_async(
    const ait_module* module, const ait_tensor* inputs, size_t count,
    const ait_tensor* outputs, size_t output_count, double milliseconds,
    void (*done)(void* user), void* user, ait_call** call);

/* Ends the call: at once if it has not begun, otherwise after the step of the
 * model that is under way. What LibTorch runs as one piece, as it does a module
 * in eager, and what was queued on a GPU goes on to its end. */
AIT_API ait_error* ait_call_cancel(ait_call* call);

/* Whether the call has ended: 1 or 0 (NULL: 1). */
AIT_API int ait_call_has_ended(const ait_call* call);

/* Waits until the call has ended, and gives its result, which the caller frees;
 * NULL: it is not wanted, as with `outputs`. May be called again, from one
 * thread at a time. AIT_CANCELLED after ait_call_cancel,
 * AIT_DEADLINE_EXCEEDED if the time was over before the call began or between
 * two of its steps; otherwise as ait_module_run_into. */
AIT_API ait_error* ait_call_wait(ait_call* call, ait_result** result);

/* Cancels the call if it has not ended, and waits until it has. NULL is
 * allowed. */
AIT_API void ait_call_free(ait_call* call);

/* A call with memory of the caller's, to be run many times. */
typedef struct ait_binding ait_binding;

/* Binds `inputs` and `outputs`, as ait_module_run_into takes them; the memory
 * of their data stays the caller's and must outlive the binding, as must the
 * module. Outputs overlap neither each other nor the inputs. May compile, as a
 * call does. A compiled version then reads and writes that memory itself if the
 * tensors are on the module's device, outputs are aligned to 64 bytes on a CPU
 * and 256 on a GPU, and their sizes follow from the inputs' sizes;
 * ait_binding_copies_nothing is 1 then, and a run on the CPU allocates nothing
 * from the second one on unless LibTorch runs a part of the model. Otherwise,
 * and in eager, each run is a call and a copy of its results. The caller frees
 * the binding. Errors as ait_module_run_into, but that outputs of other sizes
 * may be an error of ait_binding_run only. */
AIT_API ait_error* ait_module_bind(const ait_module* module,
                                   const ait_tensor* inputs, size_t count,
                                   const ait_tensor* outputs,
                                   size_t output_count, ait_binding** binding);
AIT_API int ait_binding_copies_nothing(const ait_binding* binding);

/* Runs a bound call; one thread at a time for each binding. On a GPU the work
 * is queued on `stream`, a CUstream or cudaStream_t (NULL: LibTorch's current
 * stream), and the function waits for nothing where nothing is copied; memory
 * of the CPU is ready when it returns. A CPU has no streams (NULL).
 * AIT_FAILED_PRECONDITION when the version that was bound has gone, as the
 * module was tuned again: bind again. */
AIT_API ait_error* ait_binding_run(ait_binding* binding, void* stream);
AIT_API void ait_binding_free(ait_binding* binding); /* NULL is allowed */

/* The error of an earlier call on a GPU that was found after ait_binding_run
 * had returned, such as an index out of range. It is certain to be found once
 * the caller has waited for the stream. Each error is given once; NULL: none.
 */
AIT_API ait_error* ait_module_take_failed_check(const ait_module* module);

/* How long each step of a module takes. */
typedef struct ait_profile ait_profile;

/* Whose code a step runs. */
typedef enum ait_step_kind {
  AIT_STEP_KERNEL = 0,  /* a kernel that was generated for the model */
  AIT_STEP_LIBRARY = 1, /* a library's, such as oneDNN's or cuBLASLt's */
  AIT_STEP_LIBTORCH = 2 /* LibTorch's operators */
} ait_step_kind;

typedef struct ait_step {
  size_t struct_size;  /* sizeof(ait_step) */
  const char* name;    /* such as "matmul_gelu_3"; the module's for all of it */
  int32_t kind;        /* an ait_step_kind */
  double microseconds; /* the median of its times */
  const char* implementation; /* "generated", "LibTorch", the library's name */
  const char* location;       /* where in the model's source; may be "" */
} ait_step;

/* Runs the module `repeats` times (1 to 10000) on `count` arguments, after one
 * run that is not timed and may compile. The profile has
 * the steps in their order; it is one step while LibTorch runs the whole
 * module, as before it is tuned. The caller frees the profile. Errors as
 * ait_module_run; AIT_INVALID_ARGUMENT for `repeats` out of range. */
AIT_API ait_error* ait_module_profile(const ait_module* module,
                                      const ait_tensor* inputs, size_t count,
                                      int repeats, ait_profile** profile);
/* The number of steps (0 for NULL), and each of them. The caller sets
 * step->struct_size; texts belong to the profile. AIT_OUT_OF_RANGE if there is
 * no step `index`. */
AIT_API size_t ait_profile_steps(const ait_profile* profile);
AIT_API ait_error* ait_profile_step(const ait_profile* profile, size_t index,
                                    ait_step* step);
AIT_API void ait_profile_free(ait_profile* profile); /* NULL is allowed */

/* What a module has done since it was loaded or last tuned, and what it holds
 * now. */
typedef struct ait_usage {
  size_t struct_size;     /* sizeof(ait_usage) */
  int64_t calls;          /* calls and runs of bindings */
  int64_t eager_calls;    /* those of them that LibTorch ran in eager */
  int64_t versions;       /* compiled versions that are loaded */
  int64_t cache_hits;     /* those of them that the cache had */
  int64_t recompilations; /* versions that calls made since the tuning */
  int64_t memory_bytes;   /* bytes that the versions hold on the device, without
                             the model's own weights, with copies of them */
  /* The fields from here on are not written for programs without them. */
  int64_t background_builds;   /* recompilations that were done in the
                                  background while LibTorch ran the calls */
  int64_t background_failures; /* those that failed: LibTorch goes on running
                                  calls of these sizes, the log says why */
  int64_t background_pending;  /* asked for or under way now: 0 or 1 */
  int64_t eager_parts;         /* runs of compiled parts of control flow, since
                                  their versions were loaded, for inputs that no
                                  version of the part is right for: LibTorch ran
                                  them */
} ait_usage;
AIT_API ait_error* ait_module_usage(const ait_module* module, ait_usage* usage);

/* The memory that a module holds now, in bytes of the CPU's memory and the
 * GPU's together. Their sum is what a limit is compared with. Results that the
 * caller has, and what LibTorch allocates within a call, do not count. */
typedef struct ait_memory {
  size_t struct_size;   /* sizeof(ait_memory) */
  int64_t model_bytes;  /* the model's own weights, on each device; of a loaded
                           quantised one their codes, and the weights once
                           LibTorch has run it or a version was compiled */
  int64_t weight_bytes; /* packed, reordered or computed when a version loads */
  int64_t arena_bytes;  /* intermediate values, kept from call to call */
  int64_t result_bytes; /* kept for results of later calls */
  int64_t graph_bytes;  /* inputs and outputs of captured CUDA graphs */
  int64_t limit_bytes;  /* of ait_module_set_memory_limit; 0: none */
} ait_memory;
AIT_API ait_error* ait_module_memory(const ait_module* module,
                                     ait_memory* memory);

/* The most bytes that the module may hold, from the next call on and after
 * later tunings too; 0: no limit. Where a call of a compiled version would need
 * more, what is kept is given back, and if that is too little the call fails
 * with AIT_RESOURCE_EXHAUSTED, with what is held; the next one is tried anew.
 * AIT_INVALID_ARGUMENT for less than 0. */
AIT_API ait_error* ait_module_set_memory_limit(ait_module* module,
                                               int64_t bytes);

/* Gives back what is kept for later calls and no call is using: arenas, memory
 * for results, captured graphs. The next call allocates it again. */
AIT_API ait_error* ait_module_free_kept_memory(const ait_module* module);

/* Has the memory that calls of compiled versions on a CPU take be the
 * program's, from the next call on and after later tunings too: that of their
 * results, and of intermediate values and scratch, which are kept for later
 * calls (ait_module_free_kept_memory) and freed with the module.
 *
 * `allocate` gives memory of `bytes` > 0 bytes at a multiple of `alignment`
 * bytes, a power of two; NULL: there is none, and the call fails with
 * AIT_RESOURCE_EXHAUSTED. Memory that is not aligned so is
 * AIT_INVALID_ARGUMENT. `release` frees what `allocate` gave for these numbers.
 * Both get `user` and are called by any thread, by several at once, until the
 * module and all its results are freed. They may run while the module is
 * locked: they must not call functions of this module, nor wait for a thread
 * that does. `release` must not throw. Both NULL: the system's memory again.
 *
 * Not covered are weights, what LibTorch allocates (temporaries and results of
 * the operators and calls that it runs), results of autocast, the runs of a
 * tuning, and the bookkeeping of calls. AIT_INVALID_ARGUMENT for one function
 * without the other, and for a module on a GPU. */
AIT_API ait_error* ait_module_set_allocator(
    ait_module* module,
    void* (*allocate)(void* user, size_t bytes, size_t alignment),
    void (*release)(void* user, void* memory, size_t bytes, size_t alignment),
    void* user);

/* The number of CPU threads, the calling one included, that calls of this
 * module and later tunings compute with; 0, as before it is set: as many as the
 * calling thread has. What ait_module_bind gave may keep the number that it was
 * bound with. Threads belong to the calling thread and serve all modules that
 * it calls; they run on the cores that it may run on when it first calls.
 * AIT_INVALID_ARGUMENT for less than 0 or more than 1024. */
AIT_API ait_error* ait_module_set_threads(ait_module* module, int threads);

/* The number of tensors of a result (0 for NULL), and each of them in
 * depth-first order of its nesting. The caller sets tensor->struct_size; the
 * memory of sizes and data belongs to the result and is valid until that is
 * freed. AIT_OUT_OF_RANGE if there is no tensor `index`. */
AIT_API size_t ait_result_count(const ait_result* result);
AIT_API ait_error* ait_result_tensor(const ait_result* result, size_t index,
                                     ait_tensor* tensor);

/* All values of a result, also those that are no tensors: the number of them (0
 * for NULL), and each in depth-first order of the nesting, with the kind
 * AIT_TENSOR, AIT_NUMBER, AIT_TEXT or AIT_NONE. `name` says where it is, as
 * Python would index the result, such as "[0]['mask']" ("": it is the result).
 * Objects and complex numbers are left out. Otherwise as ait_result_tensor;
 * tensor->struct_size must be that of a structure with `kind`. */
AIT_API size_t ait_result_values(const ait_result* result);
AIT_API ait_error* ait_result_value(const ait_result* result, size_t index,
                                    ait_tensor* value);
AIT_API void ait_result_free(ait_result* result); /* NULL is allowed */

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

AIT_API void ait_text_free(char* text); /* NULL is allowed */

/* Measures on the first sample how much of the model's time in eager each
 * submodule takes, over `repeats` calls; ait_module_report has it from then on.
 * AIT_FAILED_PRECONDITION without samples. */
AIT_API ait_error* ait_module_inspect(ait_module* module, int repeats);

/* Whether calls run in a backend that was tuned or loaded: 1 or 0 (NULL: 0). */
AIT_API int ait_module_is_tuned(const ait_module* module);

/* With 1, calls run in eager from now on; with 0, in the tuned backend again.
 * While it is 1, the module counts as not tuned. */
AIT_API ait_error* ait_module_set_disabled(ait_module* module, int disabled);

/* What the compiled versions of a module take and give. */
typedef struct ait_signature ait_signature;

typedef enum ait_direction { AIT_INPUT = 0, AIT_OUTPUT = 1 } ait_direction;

typedef struct ait_tensor_signature {
  size_t struct_size; /* sizeof(ait_tensor_signature) */
  const char* name;   /* as Python would say it: "mask", "pair[0]", "output" */
  int32_t dtype;      /* an ait_dtype; 0: a value that only LibTorch knows */
  int32_t rank;       /* number of axes */
  /* The least and the most elements of each axis. INT64_MAX: as many as the
   * inputs make them. */
  const int64_t* min_sizes;
  const int64_t* max_sizes;
} ait_tensor_signature;

/* A parameter of the model's forward, and what is known of its arguments: by the
 * compiled versions, or else by the samples that were recorded. */
typedef struct ait_parameter {
  size_t struct_size;  /* sizeof(ait_parameter) */
  const char* name;    /* as arguments name it */
  const char* type;    /* as TorchScript prints it: "Tensor", "Optional[int]" */
  int32_t has_default; /* 1: calls may leave it out */
  int32_t dtype;       /* an ait_dtype; 0: not known, or not one tensor */
  int32_t rank;        /* number of axes; -1: not known */
  const int64_t* min_sizes; /* as ait_tensor_signature, of `rank` axes */
  const int64_t* max_sizes;
} ait_parameter;

/* The signature of a module as it is now. It has the parameters of every model,
 * but no versions while the module runs in eager, or in a backend that compiles
 * nothing. Calls of other sizes compile a further version, or run
 * in LibTorch. The caller frees the signature. */
AIT_API ait_error* ait_module_signature(const ait_module* module,
                                        ait_signature** signature);
AIT_API size_t ait_signature_versions(const ait_signature* signature);

/* Tensor `index` of the inputs or outputs of a version. The caller sets
 * tensor->struct_size; the memory of the name and the sizes belongs to the
 * signature. AIT_OUT_OF_RANGE beyond the last version or tensor. */
AIT_API ait_error* ait_signature_tensor(const ait_signature* signature,
                                        size_t version, ait_direction direction,
                                        size_t index,
                                        ait_tensor_signature* tensor);

/* The number of parameters (0 for NULL), and each of them in the order of the
 * model's. The caller sets parameter->struct_size; memory belongs to the
 * signature. AIT_OUT_OF_RANGE beyond the last one. */
AIT_API size_t ait_signature_parameters(const ait_signature* signature);
AIT_API ait_error* ait_signature_parameter(const ait_signature* signature,
                                           size_t index,
                                           ait_parameter* parameter);
AIT_API void ait_signature_free(ait_signature* signature); /* NULL is allowed */

/* Saves a tuned module to one file, or to a folder if `path` ends with "/",
 * with the state that calls on a CPU have left in the model. Writes its digest, 64 hexadecimal digits and a zero, to
 * `digest`, which may be NULL. AIT_FAILED_PRECONDITION if it is not tuned,
 * AIT_UNIMPLEMENTED if LibTorch can't save the model; the system's errors, with
 * the path. */
AIT_API ait_error* ait_module_save(const ait_module* module, const char* path,
                                   char digest[65]);

/* Signs the checkpoint at `path`, whose digest ait_module_save gave, with the
 * private Ed25519 key in the file `key` (PEM): writes "PATH.sig", which
 * ait_module_load_checkpoint_verified asks for. AIT_NOT_FOUND without a key,
 * AIT_INVALID_ARGUMENT for a file that holds none; the system's errors. */
AIT_API ait_error* ait_sign_checkpoint(const char* path, const char* digest,
                                       const char* key);

AIT_API void ait_module_free(ait_module* module); /* NULL is allowed */

/* Sets the stance of all modules of the process: "default", "force_eager",
 * "eager_on_recompile", "fail_on_recompile" (torch.compiler.set_stance), or
 * "eager_while_compiling", with which calls of sizes that nothing was compiled
 * for run in eager while that is done in the background.
 * AIT_INVALID_ARGUMENT for another name. */
AIT_API ait_error* ait_set_stance(const char* name);

/* The same for calls that the calling thread makes, also asynchronous ones, in
 * place of the process's; NULL: the process's again. */
AIT_API ait_error* ait_set_thread_stance(const char* name);

/* Forgets what was compiled for all modules of the process, and sets the stance
 * "default". Modules can be called as before: they compile again, or keep what
 * was loaded where there is no compiler. Calls under way go on.
 * AIT_FAILED_PRECONDITION within a call of a module. */
AIT_API ait_error* ait_reset(void);

/* Lets LibTorch run the operator `op`, such as "aten::topk" or "mylib::gate",
 * within compiled graphs of full-graph backends, or takes that back; for what
 * is compiled from then on. Names are not looked up. */
AIT_API ait_error* ait_allow_in_graph(const char* op);
AIT_API ait_error* ait_disallow_in_graph(const char* op);

/* Has `sink` take the process's log records instead of stderr: the channel,
 * "warning", "error" or one of ait_set_log_channels, and the text, both valid
 * while it runs. It is called with `user`, by any thread but one at a time, and
 * must call no function of this library. NULL: stderr. The sink before is not
 * called any more when this returns. */
AIT_API ait_error* ait_set_log_sink(void (*sink)(void* user,
                                                 const char* channel,
                                                 const char* text),
                                    void* user);

/* Turns on the log channels in `names`, separated by commas, and the others
 * off: "dynamic", "perf_hints", "graph_breaks", "recompiles", "output_code"; ""
 * for none. Before it is called they are those of the environment variable
 * AITUNE_LOGS. Warnings and errors are always on. AIT_INVALID_ARGUMENT for
 * another name; nothing is changed then. */
AIT_API ait_error* ait_set_log_channels(const char* names);

/* Sets the number of threads with which calls on the calling thread compute; 0
 * or less: no change. In a server with N threads that call at once, each should
 * set its share of the cores. */
AIT_API void ait_set_threads(int threads);

#ifdef __cplusplus
}
#endif

#endif /* AITUNE_FRONTEND_API_AITUNE_H_ */
