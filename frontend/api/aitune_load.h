/* Makes modules, of models and of checkpoints, and saves them.
 *
 * Part of aitune.h, which says what is true of all functions: errors,
 * ownership, threads. */
#ifndef AITUNE_FRONTEND_API_AITUNE_LOAD_H_
#define AITUNE_FRONTEND_API_AITUNE_LOAD_H_

#include "aitune_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * all names. The file of "tuning-database" is opened, and made if there is
 * none: one that can't be is an error here (AIT_FAILED_PRECONDITION: of another
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

/* Gives back what is kept for later calls and no call is using: arenas, memory
 * for results, captured graphs. The next call allocates it again. What calls in
 * CUDA graphs of the caller use stays. */
AIT_API ait_error* ait_module_free_kept_memory(const ait_module* module);

/* Saves a tuned module to one file, or to a folder if `path` ends with "/",
 * with the state that calls on a CPU have left in the model. Writes its digest,
 * 64 hexadecimal digits and a zero, to `digest`, which may be NULL.
 * AIT_FAILED_PRECONDITION if it is not tuned, AIT_UNIMPLEMENTED if LibTorch
 * can't save the model; the system's errors, with the path. */
AIT_API ait_error* ait_module_save(const ait_module* module, const char* path,
                                   char digest[65]);

/* Signs the checkpoint at `path`, whose digest ait_module_save gave, with the
 * private Ed25519 key in the file `key` (PEM): writes "PATH.sig", which
 * ait_module_load_checkpoint_verified asks for. AIT_NOT_FOUND without a key,
 * AIT_INVALID_ARGUMENT for a file that holds none; the system's errors. */
AIT_API ait_error* ait_sign_checkpoint(const char* path, const char* digest,
                                       const char* key);

AIT_API void ait_module_free(ait_module* module); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif /* AITUNE_FRONTEND_API_AITUNE_LOAD_H_ */
