/* Calls a module: at once, with memory of the caller, or without waiting.
 *
 * Part of aitune.h, which says what is true of all functions: errors,
 * ownership, threads. */
#ifndef AITUNE_FRONTEND_API_AITUNE_CALL_H_
#define AITUNE_FRONTEND_API_AITUNE_CALL_H_

#include "aitune_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * the result, and must free neither the call nor the module.
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
 * On a stream on which the caller records a CUDA graph, in any mode, the call
 * becomes part of that graph, which may run beside other calls. It has memory
 * of its own until the graph and all that was made of it are destroyed; it must
 * not run once the version that was bound has gone.
 * AIT_FAILED_PRECONDITION when the version that was bound has gone, as the
 * module was tuned again: bind again. */
AIT_API ait_error* ait_binding_run(ait_binding* binding, void* stream);
AIT_API void ait_binding_free(ait_binding* binding); /* NULL is allowed */

/* The error of an earlier call on a GPU that was found after ait_binding_run
 * had returned, such as an index out of range. It is certain to be found once
 * the caller has waited for the stream. Each error is given once; NULL: none.
 */
AIT_API ait_error* ait_module_take_failed_check(const ait_module* module);

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
 * The keys of a dict are values, too, if they are tensors, each before its own:
 * ".keys()[0]" and ".values()[0]". An undefined tensor is None. Objects and
 * complex numbers are left out. Otherwise as ait_result_tensor;
 * tensor->struct_size must be that of a structure with `kind`. */
AIT_API size_t ait_result_values(const ait_result* result);
AIT_API ait_error* ait_result_value(const ait_result* result, size_t index,
                                    ait_tensor* value);
AIT_API void ait_result_free(ait_result* result); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif /* AITUNE_FRONTEND_API_AITUNE_CALL_H_ */
