// What an executable plan means, beside the fields of plan.proto: size
// expressions in and out of their stored form, their evaluation with every
// error reported, and the rules that a plan must keep to be run.
//
// A plan may come from a file that was damaged or tampered with. ValidatePlan
// is the one gate: what passes it can be loaded without an index out of range,
// a cycle or an unbounded recursion. Sizes are only known when the model is
// called, so errors in their values (overflow, a negative size) are found
// then, by EvaluateSize.
//
// All functions are thread-safe: they read their arguments and nothing else.
#ifndef AITUNE_RUNTIME_PLAN_PLAN_H_
#define AITUNE_RUNTIME_PLAN_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/data_type.h"
#include "runtime/tensor/size_constraint.h"
#include "runtime/tensor/size_expression.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

// TensorTypeProto with its size expressions built.
struct PlanTensorType {
  DataType dtype = DataType::kFloat32;
  std::vector<SizeExpression> sizes;  // elements of each axis
};

// The stored form of `expression`.
SizeExpressionProto ToProto(const SizeExpression& expression);

// The expression that `proto` stores. kInvalidArgument for an unknown kind, a
// wrong number of operands, nesting deeper than 100, a symbol outside
// [0, symbol_count), a constant divisor below 1 or constants that overflow.
absl::StatusOr<SizeExpression> FromProto(const SizeExpressionProto& proto,
                                         int symbol_count);

// The type that `proto` stores. kInvalidArgument for an unknown dtype, a
// constant size below 0 or an expression that FromProto refuses.
absl::StatusOr<PlanTensorType> FromProto(const TensorTypeProto& proto,
                                         int symbol_count);

// A tensor of the type that `proto` stores at the sizes that `symbols` give, as
// SizeExpression::Evaluate computes them, without memory: its data is null.
// Errors as FromProto with as many symbols.
absl::StatusOr<TensorView> ViewOf(const TensorTypeProto& proto,
                                  absl::Span<const int64_t> symbols);

// The stored form of a constraint, and the constraint that `proto` stores.
// kInvalidArgument for an unknown relation or an expression that FromProto
// refuses.
SizeConstraintProto ToProto(const SizeConstraint& constraint);
absl::StatusOr<SizeConstraint> FromProto(const SizeConstraintProto& proto,
                                         int symbol_count);

// The stored form of a type.
TensorTypeProto ToProto(const PlanTensorType& type);

// The value of `expression`, as SizeExpression::Evaluate but with
// kInvalidArgument on overflow, on a divisor below 1 and on a symbol that
// `symbols` lacks.
absl::StatusOr<int64_t> EvaluateSize(const SizeExpression& expression,
                                     absl::Span<const int64_t> symbols);

// All sizes of a tensor. Errors as EvaluateSize; a negative size is one too.
absl::StatusOr<std::vector<int64_t>> EvaluateSizes(
    absl::Span<const SizeExpression> sizes, absl::Span<const int64_t> symbols);

// Bytes of a dense tensor; kInvalidArgument on overflow or a negative size.
absl::StatusOr<int64_t> TensorBytes(DataType dtype,
                                    absl::Span<const int64_t> sizes);

// For each value, the value whose memory it is: itself, or the end of its
// chain of aliases. Precondition: the plan is valid.
std::vector<int32_t> StorageRoots(const ExecutablePlan& plan);

// By step: whether a call with these sizes runs it (see AlternativeProto).
// Precondition: the plan is valid.
std::vector<bool> ChooseAlternatives(absl::Span<const Step* const> steps,
                                     absl::Span<const int64_t> symbols);

// The value of each output (see ExecutablePlan.output_values). Precondition:
// the plan is valid.
std::vector<int32_t> OutputValues(const ExecutablePlan& plan);

// The post-ops of a library step; empty for other steps. They are owned by
// `step`.
absl::Span<const PostOp* const> PostOps(const Step& step);

// Checks everything about a plan that does not depend on the inputs' sizes:
// indices in range, types and packings known, aliases without cycles, every
// value written exactly once and before it is read, library calls with the
// operands and attributes they need. kInvalidArgument names the part of the
// plan, what is wrong and what was expected. Any plan gets a status; time and
// memory are linear in its size.
absl::Status ValidatePlan(const ExecutablePlan& plan);

// "[1, 3, 224, 224]".
std::string SizesToString(absl::Span<const int64_t> sizes);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_PLAN_PLAN_H_
