/* Serves one model from several threads through the C API: loads and tunes it
 * (or loads a saved one), then calls it from 1, 2, 4, ... threads at once, each
 * with one core, and prints the number of calls per second.
 *
 *   serve [-t THREADS] [-n CALLS] [-j FILE] MODEL INPUT...
 *
 * MODEL ends in .pt, or in .aitune: a checkpoint, which compiles nothing. There
 * is an INPUT for each argument of the model, such as "float32[1,3,224,224]" or
 * "int64[1,128]". THREADS (2) is the largest number of threads to try, CALLS
 * (100) the number of calls of each thread in each of five rounds. FILE gets
 * the figures as JSON.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aitune.h"

enum { MAX_RANK = 8, MAX_INPUTS = 8, MAX_STEPS = 16, ROUNDS = 5 };

static void fail(const char* what, const char* why) {
  fprintf(stderr, "serve: %s: %s\n", what, why);
  exit(1);
}

static void check(ait_error* error, const char* what) {
  if (error) fail(what, ait_error_message(error));
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* A tensor of the type that `text` names; the memory is never freed. */
static ait_tensor make_input(const char* text) {
  const int is_float = strncmp(text, "float32[", 8) == 0;
  if (!is_float && strncmp(text, "int64[", 6) != 0)
    fail(text, "is neither float32[...] nor int64[...]");
  ait_tensor tensor = {.struct_size = sizeof tensor,
                       .dtype = is_float ? AIT_FLOAT32 : AIT_INT64};
  int64_t* sizes = calloc(MAX_RANK, sizeof(*sizes));
  size_t elements = 1;
  const char* next = strchr(text, '[') + 1;
  while (*next != ']') {
    char* end;
    const long long size = strtoll(next, &end, 10);
    if (end == next || size < 1 || (*end != ',' && *end != ']') ||
        tensor.rank == MAX_RANK)
      fail(text, "has no list of sizes, such as [1,3,224,224]");
    sizes[tensor.rank++] = size;
    elements *= size;
    next = *end == ',' ? end + 1 : end;
  }
  tensor.sizes = sizes;
  tensor.data = calloc(elements, is_float ? sizeof(float) : sizeof(int64_t));
  if (!tensor.data) fail(text, "no memory");
  for (size_t i = 0; i < elements; ++i) {
    if (is_float)
      ((float*)tensor.data)[i] = (float)(i % 7) / 7 - 0.5f;
    else
      ((int64_t*)tensor.data)[i] = 1;
  }
  return tensor;
}

struct request {
  const ait_module* module;
  const ait_tensor* inputs;
  size_t count;
  int calls;
};

static void* work(void* argument) {
  const struct request* request = argument;
  /* The threads share the cores: one each. */
  ait_set_threads(1);
  for (int i = 0; i < request->calls; ++i) {
    ait_result* result = NULL;
    check(ait_module_run(request->module, request->inputs, request->count,
                         &result),
          "run");
    if (ait_result_count(result) == 0) fail("run", "no result");
    ait_result_free(result);
  }
  return NULL;
}

/* The number of calls per second of all threads together. */
static double serve(struct request* request, int threads) {
  pthread_t* workers = calloc(threads, sizeof(*workers));
  const double start = seconds();
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&workers[i], NULL, work, request) != 0)
      fail("serve", "no more threads");
  }
  for (int i = 0; i < threads; ++i) pthread_join(workers[i], NULL);
  free(workers);
  return threads * request->calls / (seconds() - start);
}

static int compare(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) -
         (*(const double*)a < *(const double*)b);
}

/* Prints the median rate of each number of threads, which take turns so that
 * other load of the machine slows all alike. */
static void measure(struct request* request, int threads, const char* json,
                    const char* description) {
  double rates[MAX_STEPS][ROUNDS];
  for (int round = -1; round < ROUNDS; ++round) { /* the first warms up */
    for (int step = 0; 1 << step <= threads; ++step)
      rates[step][round < 0 ? 0 : round] = serve(request, 1 << step);
  }
  FILE* file = json ? fopen(json, "w") : NULL;
  if (json && !file) fail(json, "cannot be written");
  if (file) fprintf(file, "{\"backend\": \"%s\", \"serving\": [", description);
  printf("%8s %12s %8s\n", "threads", "calls/s", "scaling");
  for (int step = 0; 1 << step <= threads; ++step) {
    qsort(rates[step], ROUNDS, sizeof(double), compare);
    const double rate = rates[step][ROUNDS / 2];
    const double scaling = rate / rates[0][ROUNDS / 2];
    printf("%8d %12.1f %7.2fx\n", 1 << step, rate, scaling);
    if (file)
      fprintf(file,
              "%s{\"threads\": %d, \"calls_per_second\": %.3f, "
              "\"scaling\": %.4f}",
              step ? ", " : "", 1 << step, rate, scaling);
  }
  if (file && (fprintf(file, "]}\n") < 0 || fclose(file) != 0))
    fail(json, "cannot be written");
}

int main(int argc, char** argv) {
  int threads = 2, calls = 100, option;
  const char* json = NULL;
  while ((option = getopt(argc, argv, "t:n:j:")) != -1) {
    if (option == 't') threads = atoi(optarg);
    if (option == 'n') calls = atoi(optarg);
    if (option == 'j') json = optarg;
    if (option == '?') return 2;
  }
  const int count = argc - optind - 1;
  if (count < 1 || count > MAX_INPUTS || calls < 1 || threads < 1 ||
      threads > 1 << (MAX_STEPS - 1)) {
    fprintf(stderr,
            "usage: serve [-t THREADS] [-n CALLS] [-j FILE] MODEL INPUT...\n");
    return 2;
  }
  if (ait_api_version() != AIT_API_VERSION)
    fail("libaitune.so", "is of another version");
  const char* model = argv[optind];
  ait_tensor inputs[MAX_INPUTS];
  for (int i = 0; i < count; ++i) inputs[i] = make_input(argv[optind + 1 + i]);

  ait_module* module = NULL;
  const char* dot = strrchr(model, '.');
  const double start = seconds();
  if (dot && strcmp(dot, ".aitune") == 0) {
    check(ait_module_load_checkpoint(model, NULL, &module), "load");
  } else {
    check(ait_module_load(model, "aitune-cache", &module), "load");
    check(ait_module_record(module, inputs, count, 1), "record");
    check(ait_module_tune(module, "OneBackend", 0), "tune");
    check(ait_module_save(module, "served.aitune", NULL), "save");
  }
  char* description = NULL;
  check(ait_module_describe(module, &description), "describe");
  printf("%s, ready in %.2f s\n", description, seconds() - start);
  struct request request = {module, inputs, count, calls};
  measure(&request, threads, json, description);
  ait_text_free(description);
  ait_module_free(module);
  return 0;
}
