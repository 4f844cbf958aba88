// Dynamic axes: sizes as formulas, or fixed with a note.
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Case {
  const char* body;
  std::vector<std::string> specs;
  const char* expected;  // in the printed trace
};

class DynamicAxes : public ::testing::TestWithParam<Case> {};

TEST_P(DynamicAxes, AgreesWithEager) {
  const auto trace = TraceAndCompare(
      absl::StrCat("def forward(self, x: Tensor):\n", GetParam().body),
      GetParam().specs);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(PrintTrace(*trace), HasSubstr(GetParam().expected));
  EXPECT_THAT(trace->notes, IsEmpty());
  EXPECT_EQ(FallbackCount(*trace), 0) << PrintTrace(*trace);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, DynamicAxes,
    ::testing::Values(
        Case{"  return x.reshape(x.size(0) * x.size(1), -1)",
             {"float32[1..8,2..32,6]"},
             "float32[s0 * s1, 6]"},
        Case{"  b, n = x.size(0), x.size(1)\n  return x.view(b, n, 2, "
             "3).transpose(1, 2)",
             {"float32[1..8,1..16,6]"},
             "float32[s0, 2, s1, 3]"},
        Case{
            "  return x.flatten()", {"float32[1..8,1..9]"}, "float32[s0 * s1]"},
        Case{"  return torch.cat([x, x, x[:1]])",
             {"float32[1..8,3]"},
             "float32[(s0 * 2) + 1, 3]"},
        // What a trace has for `b *= 4` of a size.
        Case{"  b = torch.tensor(x.size(0))\n  b.mul_(4)\n  b.add_(b).sub_(1)\n"
             "  return torch.cat([x] * 8).flatten()[:int(b)]",
             {"float32[1..40]"},
             "float32[(s0 * 8) + -1]"},
        Case{"  return x[:, ::2]",
             {"float32[2,3..40]"},
             "float32[2, (s0 + 1) floordiv 2]"},
        Case{"  return x[1:-1]", {"float32[4..40]"}, "float32[s0 + -2]"},
        Case{"  return torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])",
             {"float32[1,2,16..64,16..64]"},
             "floordiv 2"},
        Case{"  return torch.max_pool2d(torch.max_pool2d(x, [2, 2]), [2, 2])",
             {"float32[1,2,16..64,16]"},
             "floordiv 2"},
        Case{"  return x + torch.arange(x.size(1))",
             {"float32[2,2..64]"},
             "aten::arange"},
        Case{"  m = torch.ones([x.size(1), x.size(1)]).tril()\n  return "
             "x.matmul(m)",
             {"float32[1..4,2..64]"},
             "aten::tril"},
        Case{"  y = torch.zeros([x.size(0), 8])\n  y[:, :4] = x\n  return y",
             {"float32[1..8,4]"},
             "aten::slice_scatter"},
        Case{"  return x.reshape(-1)[:x.numel() - 1]",
             {"float32[1..4,2..9,2..9,2..9]"},
             "(((s0 * s1) * s2) * s3) + -1"},
        Case{"  return x.sum() / x.numel()",
             {"float32[1..4,4..20,4..20]"},
             "aten::div"},
        Case{"  n = torch.tensor(x.size(0))\n  return x / n",
             {"float32[1..8,4]"},
             "aten::div"},
        Case{"  a, b = x.chunk(2, 1)\n  return a * b",
             {"float32[2..9,6]"},
             "float32[s0, 3]"},
        // The last part ends with the tensor, others where the call says.
        Case{"  a, b, c = x.chunk(3, 1)\n  return a * 2, c + 1",
             {"float32[2,20..100]"},
             "(s0 + 2) floordiv 3"},
        Case{"  n = x.size(1) // 3\n  return x.split([n, x.size(1) - n], 1)",
             {"float32[2,20..100]"},
             "s0 floordiv 3"},
        Case{"  n = x.size(0)\n"
             "  return x.tensor_split([n // 3, n // 2])[1] * 2",
             {"float32[1..130,4]"},
             "(s0 floordiv 2) + "},
        // Two sizes and a quotient of one of them.
        Case{"  return torch.cat([x[::2], x[::3], x[: x.size(0) // 2]])",
             {"float32[2..64,4]"},
             "aten::cat"},
        Case{"  return x.mean(0) * x.size(0)",
             {"float32[1..16,4]"},
             "aten::mul"},
        Case{"  return x[:, -1].expand(x.size(0), x.size(0))",
             {"float32[1..16,1..16]"},
             "float32[s0, s0]"},
        Case{"  return x.unsqueeze(1).expand(-1, 3, -1).reshape(-1, x.size(1))",
             {"float32[1..8,1..8]"},
             "float32[s0 * 3, s1]"},
        // Of one row and one column in all probes.
        Case{"  y = x[::25, ::25]\n  return y.t() * 2, y.permute(1, 0) + 1",
             {"float32[n=26..99,n=26..99]"},
             "aten::t"},
        Case{"  y = torch.avg_pool2d(x, [32, 32])\n"
             "  y.diagonal(0, 2, 3).fill_(5)\n  return y",
             {"float32[1..3,4,n=48..96,n=48..96]"},
             "aten::diagonal_scatter"},
        Case{"  y = torch.avg_pool2d(x, [32, 32]).flatten(2).transpose(1, 2)\n"
             "  y = y.contiguous().view([y.size(0), y.size(1), 1, 4])\n"
             "  return y.permute(0, 2, 1, 3)",
             {"float32[1..3,4,48..96,48..96]"},
             ", 1, (s1 floordiv 32) * (s2 floordiv 32), 4]"},
        // By as much as sizes say.
        Case{"  h = x.size(1) // 2\n  return torch.constant_pad_nd(x, [h, h])",
             {"float32[1..3,5..20]"},
             "aten::constant_pad_nd"},
        Case{"  n = int(torch.ceil(torch.tensor((x.size(1) - 4) / 4)))\n"
             "  extra = n * 4 + 4 - x.size(1)\n"
             "  return torch.constant_pad_nd(x, [4, extra])",
             {"float32[1..3,16..90]"},
             "aten::constant_pad_nd"},
        Case{"  return torch.im2col(x, [3, 2], [2, 1], [1, 0], [2, 4])",
             {"float32[1..3,2,9..30,9..30]"},
             "aten::index_select"},
        Case{"  return x.sum(1, keepdim=True), x.size(0) == x.size(0)",
             {"float32[1..8,1..8]"},
             "float32[s0, 1]"}));

TEST(DynamicAxesOfSeveralInputs, ShareSymbols) {
  const auto trace =
      TraceAndCompare(R"(
def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
  return (ids * mask).float().softmax(-1)
)",
                      {"int64[1..4,1..32]{0..50}", "int64[1..4,1..32]{1..1}"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->symbols.size(), 2u);
  EXPECT_EQ(trace->symbols[1].max, 32);
}

TEST(DynamicAxesThatCannotStay, AreFixedWithANote) {
  // The number of operators depends on the size.
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  y = x[0]
  for i in range(x.size(0)):
    y = y + x[i]
  return y
)",
                                     {"float32[2..5,1..8]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->symbols.size(), 1u);
  EXPECT_EQ(trace->symbols[0].axis, 1);
  EXPECT_THAT(trace->notes,
              ElementsAre(HasSubstr("axis 0 of input 0 is 5: the length of a "
                                    "loop depends on the size")));
}

TEST(DynamicAxesThatCannotStay, SizeOneIsLeftOut) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  y = x.squeeze(0)
  if y.dim() == 1:
    return y
  return y + 1
)",
                                     {"float32[1..8,4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->symbols.size(), 1u);
  EXPECT_EQ(trace->symbols[0].min, 2);
  EXPECT_THAT(trace->notes,
              ElementsAre(HasSubstr("axis 0 of input 0 is 2..8: the rank")));
}

// LibTorch returns an argument without elements as it is.
TEST(DynamicAxesThatCannotStay, NoElementsWhereTheirSizesDiffer) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  return torch.pixel_unshuffle(x, 2)",
      {"float32[0..3,3,4,4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->symbols.size(), 1u);
  EXPECT_EQ(trace->symbols[0].min, 1);
}

TEST(DynamicAxesThatCannotStay, SizesAsResults) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  return x + 1, x.size(0) * 2",
      {"float32[1..8,4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Contains("aitune::size"));
}

TEST(DynamicAxesThatCannotStay, SizesAtWhichTheModelRaisesAreLeftOut) {
  const std::string source =
      "def forward(self, x: Tensor):\n  return x.view(2, -1)";
  const auto trace = TraceSource(source, {"float32[2..8,3]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->constraints.size(), 1u);
  EXPECT_EQ(trace->constraints[0].ToString(), "s0 mod 2 == 0");
  TraceOptions odd;
  odd.anchor = {5};
  const auto raised = TraceSource(source, {"float32[2..8,3]"}, odd);
  ASSERT_FALSE(raised.ok());
  // The error names the size that is asked for, not a probe's.
  EXPECT_THAT(std::string(raised.status().message()),
              AllOf(HasSubstr("aten::view(float32[5,3], [int64=2, "),
                    HasSubstr("(with inputs float32[5,3])")));
}

TEST(DynamicAxesThatCannotStay, AnErrorNamesTheSizesThatWereAskedFor) {
  TraceOptions options;
  options.anchor = {119};
  const auto raised = TraceSource(R"(
def forward(self, x: Tensor):
  n = x.size(0)
  assert n <= 100, "too long: {} by {}".format(n, n - 100)
  return x * 2
)",
                                  {"float32[1..130,4]"}, options);
  ASSERT_FALSE(raised.ok());
  EXPECT_THAT(std::string(raised.status().message()),
              HasSubstr("too long: 119 by 19"));
}

// Whether it raises depends on the memory behind its tensor, which shapes don't
// tell.
TEST(DynamicAxesThatCannotStay,
     AViewBeyondTheMemoryOfSmallerSizesIsOfTheLargest) {
  const std::string source =
      "def forward(self, x: Tensor, y: Tensor):\n"
      "  return x.as_strided([8, 3], [4, 1]) + 1, y * 2";
  const auto trace =
      TraceAndCompare(source, {"float32[1..8,4]", "float32[1..5]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->notes,
              ElementsAre(AllOf(HasSubstr("axis 0 of input 0 is 8"),
                                HasSubstr("whether aten::as_strided fails"))));
  ASSERT_EQ(trace->symbols.size(), 1u);
  EXPECT_EQ(trace->symbols[0].max, 5);
  // No size is large enough.
  const auto raised = TraceSource(source, {"float32[1..7,4]", "float32[1..5]"});
  ASSERT_FALSE(raised.ok());
  EXPECT_THAT(std::string(raised.status().message()),
              HasSubstr("aten::as_strided"));
}

TEST(DynamicAxesThatCannotStay, AnAnchorOutsideOfTheRangesIsRefused) {
  TraceOptions options;
  options.anchor = {9};
  EXPECT_EQ(TraceSource("def forward(self, x: Tensor):\n  return x + 1",
                        {"float32[2..8,3]"}, options)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

// LibTorch's attention of no heads ends the process.
TEST(DynamicAxes, AttentionMayHaveNoHeads) {
  const auto trace = TraceSource(
      "def forward(self, x: Tensor):\n"
      "  return torch.scaled_dot_product_attention(x, x, x)",
      {"float32[1..4,0..4,8,16]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->symbols.size(), 2);
  EXPECT_EQ(trace->symbols[1].min, 0);
}

// Which equals no number, itself included.
TEST(DynamicAxes, NanIsOneNumber) {
  for (const char* value : {"x.masked_fill(x > 0, float('nan'))",
                            "torch.full(x.shape, float('nan')) + x",
                            "torch.constant_pad_nd(x, [1, 1], float('nan'))"}) {
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor):\n  return ", value),
        {"float32[1..4,8..32]"});
    ASSERT_TRUE(trace.ok()) << value << ": " << trace.status();
    EXPECT_THAT(trace->notes, IsEmpty()) << value;
  }
}

// Tensors of complex numbers have no type in a trace, but sizes: all probes are
// so near each other that steps of 128 have the same number of places there.
TEST(DynamicComplexNumbers, SizesHaveFormulas) {
  const std::pair<const char*, const char*> cases[] = {
      {"torch.complex(x, x)[:, ::128].abs()",
       "float32[2, (s0 + 127) floordiv 128]"},
      {"torch.fft_rfft(x)[:, ::128].abs()", "floordiv 128]"},
      {"torch.view_as_real(torch.complex(x, x).unfold(1, 128, 128))",
       "s0 floordiv 128, 128, 2]"},
      {"torch.stft(x, 256, 128, return_complex=True).abs()",
       "float32[2, 129, (s0 + -128) floordiv 128]"},
  };
  for (const auto& [value, sizes] : cases) {
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor):\n  return ", value),
        {"float32[2,1900..2100]"});
    ASSERT_TRUE(trace.ok()) << value << ": " << trace.status();
    EXPECT_THAT(PrintTrace(*trace), HasSubstr(sizes)) << value;
    EXPECT_THAT(trace->notes, IsEmpty()) << value;
  }
}

// At sizes below a patch eager raises.
TEST(DynamicWindows, SizesWithoutPatchesAreLeftOut) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  return torch.im2col(x, [3, 3], [1, 1], [0, 0], [2, 2])\n",
      {"float32[1,2,1..9,5]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->symbols[0].min, 3);
}

// A window that slides by more than the probes' sizes differ, one behind the
// other, has one formula for the whole range.
TEST(DynamicWindows, AreOneVersion) {
  const struct {
    const char* body;
    const char* spec;
  } kPrograms[] = {
      {"  return torch.conv1d(x, torch.ones([4, 1, 10]), None, [5])",
       "float32[1..4,1,800..3200]"},
      {"  return torch.conv2d(x, torch.ones([4, 3, 16, 16]), None, [16, 16])"
       ".flatten(2).transpose(1, 2).mean(1)",
       "float32[1..4,3,64..128,64..128]"},
      {"  return torch.max_pool2d(x, [7, 9], [7, 9], [3, 4])",
       "float32[1,2,64..256,64..256]"},
      {"  w = torch.ones([2, 2, 3])\n"
       "  x = torch.conv1d(x, torch.ones([2, 1, 10]), None, [5])\n"
       "  for i in range(5):\n    x = torch.conv1d(x, w, None, [2])\n"
       "  return torch.relu(x) + x, x.mean(-1)",
       "float32[1..4,1,800..32000]"},
      {"  return x.unfold(1, 400, 160).sum(-1)", "float32[1..3,400..16000]"},
      // As integers.
      {"  n = (x.size(1) - 400) // 160 + 1\n"
       "  return torch.ones([x.size(0), n]) + x.mean()",
       "float32[1..3,400..16000]"},
      {"  h, w = x.size(2) // 16, x.size(3) // 16\n"
       "  y = torch.conv2d(x, torch.ones([4, 3, 16, 16]), None, [16, 16])\n"
       "  return y.view(x.size(0), 4, h * w).sum(1)",
       "float32[1..4,3,64..128,64..128]"},
  };
  for (const auto& [body, spec] : kPrograms) {
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor):\n", body), {spec});
    ASSERT_TRUE(trace.ok()) << body << trace.status();
    EXPECT_THAT(trace->notes, IsEmpty()) << body;
    EXPECT_THAT(trace->constraints, IsEmpty()) << body;
    EXPECT_EQ(FallbackCount(*trace), 0) << body;
  }
}

}  // namespace
}  // namespace aitune::frontend
