#include "frontend/torchscript/dtype_checks.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/torch.h>

#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// A function with the checks, and the operators that they added.
struct Checked {
  explicit Checked(const std::string& source) {
    unit.define(std::nullopt, source, torch::jit::nativeResolver(), nullptr);
    const auto graph = torch::jit::toGraphFunction(unit.get_function("forward"))
                           .graph()
                           ->copy();
    const std::string before = graph->toString();
    CheckDtypes(*graph);
    graph->lint();
    is_same = graph->toString() == before;
    function = unit.create_function("checked", graph);
  }

  torch::jit::CompilationUnit unit;
  bool is_same = false;
  torch::jit::Function* function = nullptr;
};

TEST(CheckDtypes, NumbersThatAreNoDtypesRaise) {
  const at::Tensor x = torch::rand({3});
  for (const char* operation :
       {"torch.zeros_like(x, dtype=d)", "x.to(d)", "torch.zeros([3], dtype=d)",
        "torch.sum(x, 0, dtype=d)",
        "torch.sum(x, 0, dtype=d if bool(x.sum() < 9) else 6)"}) {
    Checked checked(std::string("def forward(x: Tensor, d: int):\n  return ") +
                    operation + "\n");
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf})
      EXPECT_EQ((*checked.function)({x, static_cast<int64_t>(type)})
                    .toTensor()
                    .scalar_type(),
                type)
          << operation;
    for (const int64_t number :
         {int64_t{-1}, static_cast<int64_t>(c10::ScalarType::NumOptions),
          int64_t{1} << 40})
      EXPECT_ANY_THROW((*checked.function)({x, number})) << operation;
  }
}

TEST(CheckDtypes, NoDtypeIsNone) {
  Checked checked(
      "def forward(x: Tensor, d: Optional[int]):\n"
      "  return torch.sum(x, 0, dtype=d)\n");
  const at::Tensor x = torch::rand({3});
  EXPECT_EQ((*checked.function)({x, c10::IValue()}).toTensor().scalar_type(),
            at::kFloat);
  EXPECT_ANY_THROW((*checked.function)({x, 1000}));
}

TEST(CheckDtypes, ThoseOfTensorsAndConstantsAreNotChecked) {
  EXPECT_TRUE(Checked("def forward(x: Tensor, y: Tensor):\n"
                      "  d = y.dtype if bool(x.sum() < 9) else 6\n"
                      "  return x.to(d) + x.to(7) + x.to(y)\n")
                  .is_same);
}

}  // namespace
}  // namespace aitune::frontend
