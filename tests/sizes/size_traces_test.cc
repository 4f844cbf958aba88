// The traces of programs that decide by sizes, run by LibTorch: right at every
// size that they say they are for. No compiler, so that there can be many.
//
// AITUNE_SIZE_PROGRAMS=1000 tests so many generated programs.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/tracing/build_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "tests/sizes/size_programs.h"

namespace aitune::sizes {
namespace {

using frontend::InputSpec;
using frontend::Model;
using frontend::ParseInputSpec;
using frontend::Trace;
using frontend::TraceOptions;
using frontend::TraceSymbol;
using frontend::ValueList;

constexpr int64_t kLargest = 130;

bool Holds(const Trace& trace, int64_t rows) {
  // A fixed axis has one size, and no symbol.
  const auto& type = trace.values[static_cast<size_t>(trace.inputs[0])].type;
  if (trace.symbols.empty()) return type.sizes[0].constant() == rows;
  const TraceSymbol& symbol = trace.symbols[0];
  return symbol.min <= rows && rows <= symbol.max &&
         std::all_of(trace.constraints.begin(), trace.constraints.end(),
                     [&](const SizeConstraint& c) { return c.Holds({rows}); });
}

// Returns the number of traces; -1 if one is wrong.
int CompareTraces(const SizeProgram& program) {
  absl::StatusOr<Model> model = Model::FromSource(program.source);
  if (!model.ok()) {
    ADD_FAILURE() << model.status() << "\n" << program.source;
    return -1;
  }
  const std::vector<InputSpec> specs = {
      *ParseInputSpec(absl::StrCat("float32[1..", kLargest, ",4]"))};
  std::vector<Trace> traces;
  for (int64_t i = 0; i < kLargest; ++i) {
    const int64_t rows = i * 37 % kLargest + 1;
    at::manual_seed(static_cast<uint64_t>(rows));
    const ValueList arguments({at::randn({rows, 4})});
    const auto eager = model->RunEager(arguments);
    const Trace* trace = nullptr;
    for (const Trace& made : traces) {
      if (trace == nullptr && Holds(made, rows)) trace = &made;
    }
    std::string difference;
    if (trace == nullptr) {
      TraceOptions options;
      options.anchor = {rows};
      absl::StatusOr<Trace> made = BuildTrace(*model, specs, options);
      if (made.ok() && !Holds(*made, rows)) {
        difference = "the trace is not for the size that was asked for";
      } else if (made.ok()) {
        traces.push_back(*std::move(made));
        trace = &traces.back();
      } else if (eager.ok()) {
        difference = made.status().ToString();
      }
    }
    if (trace != nullptr) {
      const auto ours = RunTrace(*trace, arguments);
      if (ours.ok() != eager.ok()) {
        difference = ours.ok() ? "eager raises" : ours.status().ToString();
      } else if (ours.ok()) {
        difference = frontend::Difference(*ours, *eager);
      }
    }
    if (difference.empty()) continue;
    ADD_FAILURE() << program.name << " at " << rows << ": " << difference
                  << "\n"
                  << program.source;
    return -1;
  }
  return static_cast<int>(traces.size());
}

// Traces `source` at `anchor` and compares at all sizes that the trace says it
// is for. Returns their number.
int CompareRegion(const std::string& source, const std::vector<int64_t>& most,
                  const std::vector<int64_t>& anchor) {
  const Model model = *Model::FromSource(source);
  std::vector<InputSpec> specs;
  for (const int64_t size : most)
    specs.push_back(*ParseInputSpec(absl::StrCat(
        "float32[", specs.empty() ? "n" : "m", "=1..", size, ",1]")));
  TraceOptions options;
  options.anchor = anchor;
  const absl::StatusOr<Trace> trace = BuildTrace(model, specs, options);
  EXPECT_TRUE(trace.ok()) << trace.status() << source;
  if (!trace.ok()) return 0;
  int sizes = 0;
  std::vector<int64_t> point(most.size(), 1);
  for (bool more = true; more;) {
    std::vector<int64_t> symbols;
    std::vector<c10::IValue> arguments;
    bool holds = true;
    for (size_t i = 0; i < most.size(); ++i) {
      const auto& size =
          trace->values[static_cast<size_t>(trace->inputs[i])].type.sizes[0];
      if (size.constant())
        holds &= *size.constant() == point[i];
      else
        symbols.push_back(point[i]);
      arguments.emplace_back(at::ones({point[i], 1}));
    }
    for (size_t s = 0; s < symbols.size(); ++s)
      holds &= trace->symbols[s].min <= symbols[s] &&
               symbols[s] <= trace->symbols[s].max;
    for (const SizeConstraint& constraint : trace->constraints)
      holds = holds && constraint.Holds(symbols);
    if (holds) {
      ++sizes;
      const auto eager = model.RunEager(ValueList(arguments));
      const auto ours = RunTrace(*trace, ValueList(arguments));
      EXPECT_EQ(ours.ok(), eager.ok());
      const std::string difference =
          ours.ok() && eager.ok() ? frontend::Difference(*ours, *eager) : "";
      EXPECT_EQ(difference, "")
          << absl::StrJoin(point, ", ") << " of a trace at "
          << absl::StrJoin(anchor, ", ") << "\n"
          << source;
      if (testing::Test::HasFailure()) return sizes;
    }
    size_t axis = 0;
    while (axis < point.size() && ++point[axis] > most[axis]) point[axis++] = 1;
    more = axis < point.size();
  }
  return sizes;
}

// Integers that are no formula of the sizes, but differ from one at few of
// them.
TEST(SizeTracesTest, WhatDiffersAtFewSizesIsSeen) {
  for (const std::string body : {
           "k = (n + m) % 64 // 63",
           "k = n + ((n * m) % 997) // 996",
           "k = n + [187].count(n + m)",
           "k = n + [\"77x91\", \"50x20\"].count(str(n) + \"x\" + str(m))",
           "t = torch.arange(300)\n  t[187] = 7\n  k = int(t[n + m])",
           "k = int((n + m) / 336 * 1008) // 7",
       })
    for (const std::vector<int64_t>& anchor :
         std::vector<std::vector<int64_t>>{{30, 45}, {100, 87}})
      EXPECT_GT(
          CompareRegion(absl::StrCat("def forward(self, x: Tensor, y: "
                                     "Tensor):\n  n = x.size(0)\n  m = "
                                     "y.size(0)\n  ",
                                     body, "\n  return x.new_zeros([k]), k\n"),
                        {130, 130}, anchor),
          0);
  for (const std::string body :
       {"k = int(n / 336 * 1008)", "k = n + (n % 5003) // 5002",
        "k = n + str(n).count(\"777\")"})
    for (const int64_t anchor : {700, 4900})
      EXPECT_GT(
          CompareRegion(absl::StrCat("def forward(self, x: Tensor):\n  n = "
                                     "x.size(0)\n  ",
                                     body, "\n  return x.new_zeros([k]), k\n"),
                        {6000}, {anchor}),
          100);
}

// A network that halves what it pads asks for the parity of a half.
TEST(SizeTracesTest, TheParityOfAHalfHasTwoTraces) {
  constexpr char kSource[] = R"(def forward(self, x: Tensor):
  n = x.size(0)
  if n // 2 % 2 == 1:
    return x * 2
  return x + 1
)";
  EXPECT_EQ(CompareRegion(kSource, {kLargest}, {6}) +
                CompareRegion(kSource, {kLargest}, {8}),
            kLargest);
}

// As many rows as there are beyond a bound.
TEST(SizeTracesTest, WhatElementsSelectBeyondABoundHasAFormula) {
  for (const std::string rows :
       {"x[torch.arange(n) > 50]", "(torch.arange(n) > 50).nonzero()",
        "x[torch.where(torch.arange(n) > 50)[0]]"})
    EXPECT_GE(CompareRegion(absl::StrCat("def forward(self, x: Tensor):\n  n = "
                                         "x.size(0)\n  y = ",
                                         rows, "\n  return y, y.size(0)\n"),
                            {kLargest}, {90}),
              kLargest - 52)
        << rows;
}

TEST(SizeTracesTest, PairsHaveAFormula) {
  for (const std::string indices :
       {"torch.triu_indices(n, n, 1)", "torch.tril_indices(n, n, -1)",
        "torch.combinations(torch.arange(n), 2).t()"})
    EXPECT_GE(
        CompareRegion(absl::StrCat("def forward(self, x: Tensor):\n  n = "
                                   "x.size(0)\n  i = ",
                                   indices, "\n  return x[i[0]] * x[i[1]]\n"),
                      {kLargest}, {40}),
        kLargest - 2)
        << indices;
}

TEST(SizeTracesTest, WrittenPrograms) {
  for (const SizeProgram& program : WrittenPrograms()) {
    const int traces = CompareTraces(program);
    std::printf("%-16s %d traces\n", program.name.c_str(), traces);
  }
}

TEST(SizeTracesTest, GeneratedPrograms) {
  const char* const asked = std::getenv("AITUNE_SIZE_PROGRAMS");
  const int programs = asked != nullptr ? std::atoi(asked) : 60;
  int wrong = 0, traces = 0, most = 0;
  for (int i = 0; i < programs && wrong < 10; ++i) {
    const int made = CompareTraces(GeneratedProgram(static_cast<uint64_t>(i)));
    if (made < 0) {
      ++wrong;
      continue;
    }
    traces += made;
    most = std::max(most, made);
  }
  std::printf("%d programs, %d wrong, %d traces, at most %d\n", programs, wrong,
              traces, most);
}

}  // namespace
}  // namespace aitune::sizes
