/* What a module takes and gives, how long its steps take, and the memory and
 * threads that it has.
 *
 * Part of aitune.h, which says what is true of all functions: errors,
 * ownership, threads. */
#ifndef AITUNE_FRONTEND_API_AITUNE_INSPECT_H_
#define AITUNE_FRONTEND_API_AITUNE_INSPECT_H_

#include "aitune_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* A parameter of the model's forward, and what is known of its arguments: by
 * the compiled versions, or else by the samples that were recorded. */
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

#ifdef __cplusplus
}
#endif

#endif /* AITUNE_FRONTEND_API_AITUNE_INSPECT_H_ */
