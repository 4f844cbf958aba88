#include "frontend/torchscript/substitution.h"

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/trace/print_trace.h"
#include "frontend/tracing/build_trace.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kOp[] = "aten::hardswish";

class SubstituteInGraphTest : public testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(SubstituteInGraph(kOp, "").ok()); }

  static absl::StatusOr<std::string> TraceText() {
    auto model = Model::FromSource(
        "def forward(self, x: Tensor):\n"
        "    return torch.relu(torch.hardswish(x))\n");
    if (!model.ok()) return model.status();
    auto trace = BuildTrace(*model, ValueList({at::randn({4})}), {});
    if (!trace.ok()) return trace.status();
    return PrintTrace(*trace);
  }
};

TEST_F(SubstituteInGraphTest, IsUsedInPlaceOfTheOperator) {
  auto before = TraceText();
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_THAT(*before, HasSubstr(kOp));
  EXPECT_EQ(SubstitutionsText(), "");
  const absl::Status registered = SubstituteInGraph(kOp, R"(
def hardswish(x: Tensor):
    return x * torch.clamp(x + 3., 0., 6.) / 6.
)");
  ASSERT_TRUE(registered.ok()) << registered;
  auto after = TraceText();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_THAT(*after, Not(HasSubstr(kOp)));
  EXPECT_THAT(*after, HasSubstr("aten::clamp"));
  EXPECT_THAT(SubstitutionsText(), HasSubstr(kOp));
  ASSERT_TRUE(SubstituteInGraph(kOp, "").ok());
  EXPECT_THAT(*TraceText(), HasSubstr(kOp));
}

TEST_F(SubstituteInGraphTest, WrongReplacementsAreErrors) {
  EXPECT_EQ(SubstituteInGraph(kOp, "def f(x: Tensor) return x").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(SubstituteInGraph(kOp,
                                            "def f(x: Tensor):\n    return x\n"
                                            "def g(x: Tensor):\n    return x\n")
                              .message()),
              HasSubstr("2 functions instead of one"));
  ASSERT_TRUE(
      SubstituteInGraph(kOp, "def f(x: Tensor, y: Tensor):\n    return x + y\n")
          .ok());
  EXPECT_THAT(std::string(TraceText().status().message()),
              HasSubstr("takes 2 arguments, the operator has 1"));
  ASSERT_TRUE(
      SubstituteInGraph(kOp, "def f(x: Tensor):\n    return 3\n").ok());
  EXPECT_THAT(std::string(TraceText().status().message()),
              HasSubstr("gives a int as result 0, the operator a Tensor"));
}

}  // namespace
}  // namespace aitune::frontend
