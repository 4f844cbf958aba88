// Whether the table of the sweep and the importer's registry are of the same
// operators.
#include <torch/csrc/jit/runtime/operator.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/operators/operator_table.h"
#include "tests/operators/supported_operators.h"

namespace aitune {
namespace {

// LibTorch has these on GPUs alone.
const char* const kGpuOnly[] = {"aten::cudnn_batch_norm"};

std::string SchemaName(const char* op) {
  return absl::StrContains(op, "::") ? op : absl::StrCat("aten::", op);
}

TEST(OperatorNames, EverySupportedOperatorIsInTheTable) {
  std::set<std::string> covered(std::begin(kGpuOnly), std::end(kGpuOnly));
  for (const OperatorCall& call : OperatorCalls())
    covered.insert(SchemaName(call.op));
  for (const std::string& op : SupportedOperatorNames()) {
    EXPECT_TRUE(covered.count(op))
        << op << " has no call in tests/operators/*_calls.cc: add one";
  }
}

TEST(OperatorNames, TheTableHasNoOthers) {
  const std::vector<std::string> names = SupportedOperatorNames();
  std::set<std::string> supported(names.begin(), names.end());
  // Tracing takes it apart (frontend/tracing/decompositions.cc).
  supported.insert("aten::im2col");
  for (const OperatorCall& call : OperatorCalls()) {
    EXPECT_TRUE(supported.count(SchemaName(call.op)))
        << "the importer does not know " << call.op << ", of " << call.call;
  }
}

TEST(OperatorNames, LibTorchHasEverySupportedOperator) {
  for (const std::string& op : SupportedOperatorNames()) {
    EXPECT_FALSE(
        torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(op)).empty())
        << op << " is in the importer's registry, but LibTorch has none";
  }
}

}  // namespace
}  // namespace aitune
