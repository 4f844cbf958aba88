/* What the functions of aitune.h take and give: handles, errors, tensors and
 * other arguments.
 *
 * Part of aitune.h, which says what is true of all functions: errors,
 * ownership, threads. */
#ifndef AITUNE_FRONTEND_API_AITUNE_TYPES_H_
#define AITUNE_FRONTEND_API_AITUNE_TYPES_H_

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

/* Frees a text that a function gave. */
AIT_API void ait_text_free(char* text); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif /* AITUNE_FRONTEND_API_AITUNE_TYPES_H_ */
