// The functions outside of a model's own object code that its kernels may call:
// arithmetic of libm and libmvec, and copying and filling of memory. Internal
// to this folder.
#ifndef AITUNE_RUNTIME_CPU_KERNEL_IMPORTS_H_
#define AITUNE_RUNTIME_CPU_KERNEL_IMPORTS_H_

#include <string_view>

namespace aitune {

// Whether object code may refer to the function `symbol`. The list is closed:
// nothing in it reaches a file, a process or the network, so that an object
// that refers to anything else was not made by this compiler. Thread-safe.
bool MayImport(std::string_view symbol);

// Whether `symbol` is the name of a function of libm for vectors, as the vector
// function ABI of x86-64 writes it ("_ZGVdN8v_sinf"): glibc has these in
// libmvec. Thread-safe.
bool IsVectorFunction(std::string_view symbol);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_KERNEL_IMPORTS_H_
