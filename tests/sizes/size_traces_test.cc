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
