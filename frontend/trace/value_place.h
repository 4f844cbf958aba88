// The place of a value in nested inputs, such as input 0['mask'][1], and the
// error that names it.
//
// A place is only a link to the one around it while a walk is there: a call
// whose inputs are right makes no texts.
#ifndef AITUNE_FRONTEND_TRACE_VALUE_PLACE_H_
#define AITUNE_FRONTEND_TRACE_VALUE_PLACE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "frontend/trace/trace.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

// Refers to the place around it and to the container, which must live as long.
struct ValuePlace {
  const ValuePlace* around;  // null: in the list of inputs
  size_t child;              // its number in the container
  const Structure* parent;   // the container

  // For example "input 0['mask']".
  std::string Text() const;
};

// kInvalidArgument: the model was compiled for `expected` at `place`, and
// `given` is something else.
absl::Status Mismatch(const std::string& place, const std::string& expected,
                      const c10::IValue& given);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_VALUE_PLACE_H_
