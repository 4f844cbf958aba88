// Splits the work of kernels over LibTorch's threads.
//
// A process that runs compiled code beside LibTorch must not have two pools
// fight for the cores, so the threads are those of the libgomp that LibTorch
// loads (oneDNN uses it as well). Their number is OpenMP's (OMP_NUM_THREADS),
// or in a program with LibTorch that of at::set_num_threads, which the frontend
// passes on (SetThreadCountSource). As everywhere with OpenMP, each
// calling thread has workers of its own: callers that run concurrently should
// divide the cores between them.
//
// Only the threads are libgomp's. Its barriers spin for about 3 ms before they
// sleep, and each waits for every thread: beside another busy process, or where
// the scheduler puts two of the threads on one core, a step then costs a time
// slice. So a whole sequence of steps is one parallel region of libgomp, and
// within it the threads share work in a way of their own (work_sharing.h).
//
// libgomp's region still ends only when each thread has run, which on crowded
// cores (crowding.h) takes a time slice. There the threads are others, which
// the calling thread keeps: it wakes them when the first part of a step tells
// that the rest will take longer than waking, and waits for no thread that has
// not taken a part. Those would not do for quiet machines: for some
// milliseconds after each of its regions libgomp's threads spin, and keep
// others from the cores.
#ifndef AITUNE_RUNTIME_CPU_THREAD_POOL_H_
#define AITUNE_RUNTIME_CPU_THREAD_POOL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace aitune {

// The number of threads that a region begun on the calling thread may use,
// itself included: 1 inside of a region, and 1 where AllowedThreads says so,
// otherwise the number of the source below, at most WorkSharing::kMaxThreads.
// Thread-safe.
int ThreadCount();

// `threads`, or 1 on the thread of a child process that has called fork while
// the process had other threads: libgomp would wait for workers that the child
// lacks. OpenMP's own number is set to 1 there. Thread-safe.
int AllowedThreads(int threads);

// The number of threads for work that is split evenly among its threads, such
// as that of oneDNN and LibTorch: ThreadCount(), or half of them while the
// cores are crowded, so that the threads find free ones. Thread-safe.
int LibraryThreadCount();

// Returns the number of threads, at least 1, that work started on the calling
// thread may use. Thread-safe.
using ThreadCountSource = int (*)();

// Makes ThreadCount() call `source` instead of OpenMP. The runtime itself does
// not link LibTorch; a program that does sets LibTorch's number of threads with
// this (frontend/values/torch_threads.cc). `source` must not be null.
// Thread-safe.
void SetThreadCountSource(ThreadCountSource source);

// Calls f on the calling thread. Until it returns, the ParallelFor calls that
// it makes from this thread share one set of up to ThreadCount() threads: each
// then costs well under a microsecond to begin and to end, and waits only for
// threads that have taken a part of its work. A thread without work spins for
// some microseconds, then sleeps.
//
// f must use OpenMP in no other way: what it calls (oneDNN, LibTorch's
// operators) would get one thread. Within a region, and with one thread, this
// is f(). f must not throw. Thread-safe. Allocates nothing, but for the threads
// that the calling thread gets when it first finds the cores crowded.
void ParallelRegion(absl::FunctionRef<void()> f);

// Calls f(begin, end) with disjoint ranges that cover [0, grid), from up to
// ThreadCount() threads of which each has at least `grain` units (at least 1),
// and returns when all calls have. Each thread starts on a part of its own,
// the same one in every call with the same grid, so that consecutive steps
// find their data in its caches; a thread that is done takes over parts of the
// others, so that uneven units and busy cores cost little.
//
// Runs f(0, grid) on the calling thread when there is one thread or one grain
// of work, and when called by f (nested calls). Nothing when grid <= 0. Outside
// a ParallelRegion it is one of its own. f must not throw. Thread-safe.
// Allocates as ParallelRegion does.
void ParallelFor(int64_t grid, int64_t grain,
                 absl::FunctionRef<void(int64_t begin, int64_t end)> f);

// Sets the number of threads of the parallel regions of the calling thread,
// until destroyed: oneDNN plans its primitives for that number.
class ScopedThreadCount {
 public:
  explicit ScopedThreadCount(int threads);
  ~ScopedThreadCount();
  ScopedThreadCount(const ScopedThreadCount&) = delete;
  ScopedThreadCount& operator=(const ScopedThreadCount&) = delete;

 private:
  int previous_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_THREAD_POOL_H_
