// What a comparison found, from which its conclusion is drawn anew when other
// runs of eager excuse a part of it. Internal to verification.h.
#ifndef AITUNE_FRONTEND_CHECK_EVIDENCE_H_
#define AITUNE_FRONTEND_CHECK_EVIDENCE_H_

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/check/verification.h"

namespace aitune::frontend {

// How many times as far off a single element may be as the output as a whole;
// see verification.h.
inline constexpr double kElementFactor = 4;

struct Evidence {
  // Of integers: both outputs, the elements at which they differ, and those of
  // them that no run has excused.
  at::Tensor ours, eager, differs, wrong;
  // Of integers: the elements at which some run of eager that keeps ties
  // differs from the first, and at how many each of these runs does.
  at::Tensor changed;
  std::vector<int64_t> changes;

  // Floating point: whether the output as a whole is right, and by
  // neighbourhood the largest error of ours and of eager (of eager's first run
  // without a reference) relative to the local scale.
  bool whole = true;
  at::Tensor our_errors, eager_errors;
  // Neighbourhoods near enough to eager.
  at::Tensor near;
  std::string worst;  // where ours is farthest off, for the text
};

// "[0,3]: 1.5, eager 1.25" for the element at `position` in memory.
std::string DescribeElement(int64_t position, const at::Tensor& ours,
                            const at::Tensor& eager);

// How many elements are `wrong`, and the first of them as DescribeElement does.
std::string DescribeFirst(const at::Tensor& wrong, const at::Tensor& ours,
                          const at::Tensor& eager);

// Whether ours is about as near to the reference as eager. Precondition: the
// errors to the reference are set.
bool IsClose(const Comparison& result);

// What is wrong with an output as a whole, in words, from the errors that are
// set.
std::string WholeProblem(const Comparison& result);

// Draws the conclusion from `result.evidence`: sets agrees, problem, and what
// they are drawn from.
void Finish(Comparison& result);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_EVIDENCE_H_
