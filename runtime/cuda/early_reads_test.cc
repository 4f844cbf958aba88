#include "runtime/cuda/early_reads.h"

#include <gtest/gtest.h>

namespace aitune::cuda {
namespace {

int Add(ExecutablePlan& plan, ValueProto::Storage storage, int index = 0) {
  ValueProto& value = *plan.add_values();
  value.set_storage(storage);
  value.set_index(index);
  return plan.values_size() - 1;
}

// An image that a kernel wrote, a filter that is the caller's, and `operand`.
bool IsWritten(ExecutablePlan& plan, int operand) {
  const int image = Add(plan, ValueProto::ARENA);
  const int filter = Add(plan, ValueProto::INPUT);
  Step step;
  for (int value : {image, filter, operand}) step.add_inputs(value);
  return ReadsWrittenOperand(plan, step);
}

TEST(EarlyReadsTest, ImagesAndFiltersAreReadLater) {
  ExecutablePlan plan;
  EXPECT_FALSE(IsWritten(plan, Add(plan, ValueProto::CONSTANT)));
}

TEST(EarlyReadsTest, AResidualIsWritten) {
  ExecutablePlan plan;
  EXPECT_TRUE(IsWritten(plan, Add(plan, ValueProto::ARENA)));
  EXPECT_TRUE(IsWritten(plan, Add(plan, ValueProto::INPUT)));
}

TEST(EarlyReadsTest, WhatIsComputedAtLoadIsThere) {
  ExecutablePlan plan;
  const int scale = Add(plan, ValueProto::ARENA);
  plan.mutable_values(scale)->set_persistent(true);
  EXPECT_FALSE(IsWritten(plan, scale));
}

TEST(EarlyReadsTest, AnAliasIsWhatItReinterprets) {
  ExecutablePlan plan;
  const int written = Add(plan, ValueProto::ARENA),
            constant = Add(plan, ValueProto::CONSTANT);
  const int once = Add(plan, ValueProto::ALIAS, written);
  EXPECT_TRUE(IsWritten(plan, Add(plan, ValueProto::ALIAS, once)));
  EXPECT_FALSE(IsWritten(plan, Add(plan, ValueProto::ALIAS, constant)));
}

}  // namespace
}  // namespace aitune::cuda
