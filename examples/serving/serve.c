/* Serves one model from several threads through the C API: loads and tunes it
 * (or loads what was saved), then calls it from 1, 2, 4, ... threads at once
 * and prints the calls a second.
 *
 *   serve MODEL.pt SIZES [THREADS [CALLS]]      SIZES such as 1x1024, float32
 *   serve MODEL.aitune SIZES ...                a checkpoint: compiles nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aitune.h"

enum { MAX_RANK = 8 };

static void check(ait_error* error, const char* what) {
  if (!error) return;
  fprintf(stderr, "serve: %s: %s\n", what, ait_error_message(error));
  ait_error_free(error);
  exit(1);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

struct worker {
  pthread_t thread;
  const ait_module* module;
  ait_tensor input;
  int calls;
  double sum; /* of the first elements, so that results are read */
};

static void* work(void* argument) {
  struct worker* worker = argument;
  /* The threads share the cores: one each. */
  ait_set_threads(1);
  for (int i = 0; i < worker->calls; ++i) {
    ait_result* result = NULL;
    check(ait_module_run(worker->module, &worker->input, 1, &result), "run");
    ait_tensor output = ait_result_tensor(result, 0);
    if (output.dtype == AIT_FLOAT32) worker->sum += *(float*)output.data;
    ait_result_free(result);
  }
  return NULL;
}

static double serve(const ait_module* module, ait_tensor input, int threads,
                    int calls) {
  struct worker* workers = calloc(threads, sizeof(*workers));
  const double start = seconds();
  for (int i = 0; i < threads; ++i) {
    workers[i].module = module;
    workers[i].input = input;
    workers[i].calls = calls;
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
      fprintf(stderr, "serve: no more threads\n");
      exit(1);
    }
  }
  for (int i = 0; i < threads; ++i) pthread_join(workers[i].thread, NULL);
  const double rate = threads * calls / (seconds() - start);
  free(workers);
  return rate;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: serve MODEL SIZES [THREADS [CALLS]]\n");
    return 2;
  }
  if (ait_api_version() != AIT_API_VERSION) {
    fprintf(stderr, "serve: the library is of another version\n");
    return 1;
  }
  int64_t sizes[MAX_RANK];
  int rank = 0;
  size_t elements = 1;
  for (char* size = strtok(argv[2], "x"); size && rank < MAX_RANK;
       size = strtok(NULL, "x")) {
    sizes[rank] = atoll(size);
    elements *= sizes[rank++];
  }
  const int threads = argc > 3 ? atoi(argv[3]) : 2;
  const int calls = argc > 4 ? atoi(argv[4]) : 100;
  float* data = malloc(elements * sizeof(float));
  for (size_t i = 0; i < elements; ++i) data[i] = (float)(i % 7) / 7 - 0.5f;
  const ait_tensor input = {AIT_FLOAT32, rank, sizes, data};

  ait_module* module = NULL;
  const char* dot = strrchr(argv[1], '.');
  const double start = seconds();
  if (dot && strcmp(dot, ".aitune") == 0) {
    check(ait_module_load_checkpoint(argv[1], NULL, &module), "load");
  } else {
    check(ait_module_load(argv[1], "aitune-cache", &module), "load");
    check(ait_module_record(module, &input, 1, 1), "record");
    check(ait_module_tune(module, "OneBackend", 0), "tune");
    check(ait_module_save(module, "served.aitune", NULL), "save");
  }
  char* text = NULL;
  check(ait_module_describe(module, &text), "describe");
  printf("%s, ready in %.2f s\n", text, seconds() - start);
  ait_text_free(text);
  serve(module, input, threads, 3); /* warm up */
  for (int n = 1; n <= threads; n *= 2)
    printf("%d thread%s: %.1f calls/s\n", n, n == 1 ? "" : "s",
           serve(module, input, n, calls));
  ait_module_free(module);
  free(data);
  return 0;
}
