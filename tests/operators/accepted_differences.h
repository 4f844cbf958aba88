// What the sweep may find: differences from eager that are known, each with the
// reason why it stays.
#ifndef AITUNE_TESTS_OPERATORS_ACCEPTED_DIFFERENCES_H_
#define AITUNE_TESTS_OPERATORS_ACCEPTED_DIFFERENCES_H_

#include <string>
#include <vector>

#include "tests/operators/sweep.h"

namespace aitune {

// Empty fields fit everything; lists are separated by spaces.
struct AcceptedDifference {
  const char* ops;      // names of operators, as in OperatorCall
  const char* calls;    // a part of the call
  const char* dtypes;   // as LibTorch prints them: "Float Half"
  const char* sets;     // of values
  const char* devices;  // what ran it: "cpu", "cuda"
  bool only_sums;       // calls of OperatorCall::Kind::kSum alone
  bool only_avx512;     // on CPUs with AVX-512 alone
  const char* reason;   // why it stays
};

const std::vector<AcceptedDifference>& AcceptedDifferences();

// Whether it may occur on this machine's CPU.
bool MayOccur(const AcceptedDifference& difference);

// The first that fits a result of `device` that differs or was refused; -1:
// none, as for what ends by a signal.
int FindAcceptedDifference(const Combination& combination,
                           const OperatorCall& call, const CallResult& result,
                           const std::string& device);

}  // namespace aitune

#endif  // AITUNE_TESTS_OPERATORS_ACCEPTED_DIFFERENCES_H_
