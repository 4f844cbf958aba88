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
 * Processes: in a child of fork, modules of the parent can be called, if no
 * other thread was in a call of one at that moment: what such a thread had
 * locked stays locked in the child. The thread that called fork then computes
 * with one thread if the parent had several; threads that the child makes have
 * all cores. Asynchronous calls of the parent end in the parent; in the child
 * ait_call_wait gives AIT_FAILED_PRECONDITION for them, and new ones run in a
 * thread of the child. Modules that the parent compiled for in the background
 * must not be freed there, as that thread stays with the parent. Nothing that
 * holds a GPU can be used by a child. At exit(), and where the main thread ends,
 * asynchronous calls are cancelled, and what is being compiled for later calls
 * is waited for, as is the function `done` of a call.
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

#include "aitune_call.h"
#include "aitune_inspect.h"
#include "aitune_load.h"
#include "aitune_tune.h"
#include "aitune_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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
