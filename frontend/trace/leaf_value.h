// A leaf of nested inputs and outputs, as LibTorch has it and as plans run on
// it.
//
// A leaf is any value that is not a tuple, list or dict: a tensor, a number, a
// string, None or an object. A dense tensor of a known dtype on the CPU is
// represented by its memory, which is made contiguous, because that is all that
// compiled code reads; all other leaves are opaque values that hold an IValue.
//
// Thread-safe. All may throw what LibTorch throws.
#ifndef AITUNE_FRONTEND_TRACE_LEAF_VALUE_H_
#define AITUNE_FRONTEND_TRACE_LEAF_VALUE_H_

#include <memory>

#include "frontend/values/value_list.h"
#include "runtime/backend/source_model.h"
#include "runtime/device/device.h"
#include "runtime/executable/fallback_region.h"

namespace aitune::frontend {

// The leaf for an IValue. A tensor that is not contiguous is copied; the memory
// of any other tensor is shared and kept alive.
OwnedValue ToOwned(const c10::IValue& leaf);

// The IValue of a leaf. A tensor refers to the leaf's memory, which is that of
// `device`, and keeps `owner` alive.
c10::IValue ToIValue(const RegionValue& leaf,
                     std::shared_ptr<const void> owner = nullptr,
                     const Device& device = Device());

// Whether `value` is a tuple, list or dict, and so no leaf.
bool IsContainer(const c10::IValue& value);

// Whether what a program computes from them is the same: NaN is the same as
// itself, -0 not the same as 0.
bool SameNumber(double a, double b);

// Whether an opaque leaf holds a tuple, list or dict. A value that LibTorch
// computes from data may be one.
bool HoldsContainer(const OwnedValue& leaf);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_LEAF_VALUE_H_
