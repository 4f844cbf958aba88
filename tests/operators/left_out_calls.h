// The calls of the table that programs made at random (tests/random_models) do
// not have, each with the reason: eager's own result is no one number, or not
// that of the program.
#ifndef AITUNE_TESTS_OPERATORS_LEFT_OUT_CALLS_H_
#define AITUNE_TESTS_OPERATORS_LEFT_OUT_CALLS_H_

#include <vector>

#include "tests/operators/operator_table.h"

namespace aitune {

// Of which operands a call is left out.
enum class LeftOutOf {
  kAll,
  kRounded,   // one of them was rounded before
  kRepeated,  // elements of one of them share an address
};

// Empty fields fit everything.
struct LeftOutCall {
  const char* ops;    // names of operators, separated by spaces
  const char* calls;  // a part of the call
  const char* but;    // a part of the calls that programs have all the same
  LeftOutOf of;
  const char* reason;
};

const std::vector<LeftOutCall>& LeftOutCalls();

// The first that fits; null: programs have the call.
const LeftOutCall* FindLeftOutCall(const OperatorCall& call);

}  // namespace aitune

#endif  // AITUNE_TESTS_OPERATORS_LEFT_OUT_CALLS_H_
