#include "compiler/codegen/gpu/loops/LoopKernel.h"

#include "absl/status/status.h"
#include "compiler/codegen/gpu/loops/LoopSchedule.h"
#include "compiler/codegen/gpu/loops/PointPrinter.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/codegen/gpu/text/KernelText.h"
#include "compiler/codegen/linalg/DescribeChecks.h"
#include "compiler/dialect/Ait.h"
#include "runtime/status/status_macros.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;

namespace aitune {
namespace {

class NestWriter {
public:
  NestWriter(LoopNest &nest, const GpuSchedule &schedule, DimTable &dims,
             func::FuncOp function)
      : nest(nest), schedule(schedule), printer(dims) {
    for (BlockArgument argument : function.getArguments())
      printer.arguments[argument] = {inputName(argument.getArgNumber()),
                                     nullptr};
    printer.current = &root;
  }

  /// The body of the kernel.
  absl::StatusOr<std::string> run() {
    printer.line("launchNext(nextWaits);");
    printer.line("waitForPrevious();");
    switch (schedule.kind) {
    case GpuScheduleKind::Elementwise:
      writeElementwise();
      break;
    case GpuScheduleKind::Row:
      writeRow();
      break;
    case GpuScheduleKind::Column:
      writeColumn();
      break;
    }
    if (!printer.error.empty())
      return absl::UnimplementedError(printer.error);
    return root.text;
  }

  /// Whether the kernel has the parameter `checks`.
  bool reports() const { return printer.reports; }

  /// Blocks of the launch.
  AffineExpr blocks() const {
    if (schedule.kind == GpuScheduleKind::Column) {
      const LoopGroup &last = schedule.rows.groups.back();
      AffineExpr outer = getAffineConstantExpr(1, last.size.getContext());
      for (const LoopGroup &group :
           llvm::ArrayRef(schedule.rows.groups).drop_back())
        outer = outer * group.size;
      return outer * last.size.ceilDiv(schedule.lanes * schedule.groupsInBlock);
    }
    int64_t units = schedule.groupsInBlock;
    if (schedule.kind == GpuScheduleKind::Elementwise)
      units *= schedule.lanes;
    return schedule.rows.size.ceilDiv(units);
  }

private:
  void declare(const std::string &name, const std::string &value) {
    printer.line("const Index " + name + " = " + value + ";");
  }

  /// Binds the dims of flat axes to the parts of the index `flat`, a name.
  void bind(const FlatAxes &axes, const std::string &flat, const char *prefix) {
    AffineExpr inside = getAffineConstantExpr(1, root_context());
    SmallVector<std::string> names(axes.groups.size());
    for (size_t i = axes.groups.size(); i-- > 0;) {
      const LoopGroup &group = axes.groups[i];
      std::string value = flat;
      if (inside != 1)
        value += " / " + printer.divisor(inside);
      if (i > 0)
        value = (inside != 1 ? "(" + value + ")" : value) + " % " +
                printer.divisor(group.size);
      std::string name = flat;
      if (value != flat) {
        name = prefix + std::to_string(i);
        declare(name, value);
      }
      printer.bind(group, name);
      inside = canonical(inside * group.size);
    }
  }

  MLIRContext *root_context() const {
    return nest.outputs.front().value.getContext();
  }

  void storeOutput(const KernelOutput &output) {
    SmallVector<AffineExpr> exprs = nest.indexOf(output);
    std::string value = printer.pull(output.value, exprs);
    printer.store(value, outputName(output.number),
                  cast<RankedTensorType>(output.value.getType()), exprs);
  }

  /// Whether the output changes along an inner axis.
  bool isPerElement(const KernelOutput &output) {
    for (AffineExpr expr : nest.indexOf(output))
      for (const LoopGroup &group : schedule.inner.groups)
        for (unsigned dim : group.dims)
          if (expr.isFunctionOfDim(dim))
            return true;
    return false;
  }

  void writeElementwise() {
    int64_t threads = schedule.threads();
    std::string at = llvm::formatv(
        "static_cast<Index>(blockIdx.x) * {0} + threadIdx.x", threads);
    if (schedule.lanes > 1)
      at = llvm::formatv("({0}) * {1}", at, schedule.lanes);
    declare("e", at);
    printer.line("if (e >= " + printer.index(schedule.rows.size) + ")");
    printer.line("  return;");
    bind(schedule.rows, "e", "d");
    auto elements = [&] {
      for (const KernelOutput &output : nest.outputs)
        storeOutput(output);
    };
    if (schedule.lanes == 1) {
      elements();
    } else {
      unsigned dim = *schedule.laneDim;
      printer.lanes(dim, schedule.lanes, root.bindings[dim], elements);
    }
    printer.flushStores();
  }

  /// A loop of the group's threads over flat axes, whole packs at a time.
  void forEachChunk(const FlatAxes &axes, int64_t lanes,
                    llvm::function_ref<void()> body) {
    std::optional<int64_t> size = getConstant(axes.size);
    int64_t stride = schedule.groupThreads * lanes;
    std::string scaled = lanes > 1 ? " * " + std::to_string(lanes) : "";
    if (!size) {
      printer.block(
          llvm::formatv("for (Index i = thread{0}; i < {1}; i += {2})", scaled,
                        printer.index(axes.size), stride),
          [](PrintScope &) {},
          [&] {
            bind(axes, "i", "i");
            body();
          });
      return;
    }
    int64_t chunks = llvm::divideCeil(*size, stride);
    bool isWhole = chunks * stride == *size;
    bool fitsInt =
        chunks * schedule.groupThreads <= std::numeric_limits<int32_t>::max();
    auto inChunk = [&] {
      bind(axes, "i", "i");
      body();
    };
    printer.block(
        llvm::formatv("for ({0} c = 0; c < {1}; ++c)",
                      fitsInt ? "int" : "Index", chunks),
        [](PrintScope &) {},
        [&] {
          std::string first = chunks == 1 ? std::string("thread")
                                          : llvm::formatv("(c * {0} + thread)",
                                                          schedule.groupThreads)
                                                .str();
          declare("i", first + scaled);
          if (isWhole)
            return inChunk();
          printer.block(
              "if (i < " + std::to_string(*size) + ")", [](PrintScope &) {},
              inChunk);
        },
        /*unroll=*/chunks <= 32);
  }

  static unsigned lastDim(const FlatAxes &axes) {
    return axes.groups.back().dims.back();
  }

  void writeRow() {
    int64_t groups = schedule.groupsInBlock, threads = schedule.groupThreads;
    if (groups == 1) {
      declare("row", "blockIdx.x");
      declare("thread", "threadIdx.x");
    } else {
      // Groups past the end repeat the last row: warps stay whole.
      declare("rows", printer.index(schedule.rows.size));
      declare("group", llvm::formatv("static_cast<Index>(blockIdx.x) * {0} + "
                                     "threadIdx.x / {1}",
                                     groups, threads));
      declare("row", "group < rows ? group : rows - 1");
      declare("thread", "threadIdx.x % " + std::to_string(threads));
    }
    bind(schedule.rows, "row", "d");
    if (schedule.chunks && schedule.lanes > 1) {
      printer.cache.row = printer.current;
      printer.cache.chunks = *schedule.chunks;
      printer.cache.forEachChunk = [this](llvm::function_ref<void()> body) {
        forEachChunk(schedule.inner, schedule.lanes, body);
      };
      for (const LoopGroup &group : schedule.inner.groups)
        printer.cache.dims.insert(group.dims.begin(), group.dims.end());
    }
    for (const SharedReduction &reduction : schedule.reductions)
      writeRowReduction(reduction);
    bool any = false;
    for (const KernelOutput &output : nest.outputs)
      any |= isPerElement(output);
    if (any)
      forEachChunk(schedule.inner, schedule.lanes, [&] {
        unsigned dim = lastDim(schedule.inner);
        printer.lanes(dim, schedule.lanes, printer.current->bindings[dim], [&] {
          for (const KernelOutput &output : nest.outputs)
            if (isPerElement(output))
              storeOutput(output);
        });
        printer.flushStores();
      });
    writeRowOutputs("thread == 0");
  }

  void writeRowOutputs(const std::string &condition) {
    if (llvm::all_of(nest.outputs, [&](const KernelOutput &output) {
          return isPerElement(output);
        }))
      return;
    printer.block(
        "if (" + condition + ")", [](PrintScope &) {},
        [&] {
          for (AffineExpr expr : nest.index)
            if (auto dim = dyn_cast<AffineDimExpr>(expr))
              for (const LoopGroup &group : schedule.inner.groups)
                if (llvm::is_contained(group.dims, dim.getPosition()))
                  printer.current->bindings[dim.getPosition()] = "0";
          auto outputs = [&] {
            for (const KernelOutput &output : nest.outputs)
              if (!isPerElement(output))
                storeOutput(output);
          };
          if (schedule.kind == GpuScheduleKind::Column)
            printer.lanes(*schedule.laneDim, schedule.lanes, "column", outputs);
          else
            outputs();
          printer.flushStores();
        });
  }

  linalg::GenericOp genericOf(const SharedReduction &reduction) {
    return reduction.result.getDefiningOp<linalg::GenericOp>();
  }

  static std::string typeOf(Value tensor) {
    return cudaType(cast<RankedTensorType>(tensor.getType()).getElementType());
  }

  void writeRowReduction(const SharedReduction &reduction) {
    linalg::GenericOp generic = genericOf(reduction);
    std::string name = printer.fresh("a"), type = typeOf(reduction.result);
    printer.line(type + " " + name + " = " + printer.neutral(generic, 0) + ";");
    forEachChunk(reduction.axes, schedule.lanes, [&] {
      unsigned dim = lastDim(reduction.axes);
      printer.lanes(dim, schedule.lanes, printer.current->bindings[dim],
                    [&] { printer.step(generic, reduction.loops, {name}); });
    });
    std::string scratch = "nullptr";
    if (schedule.groupThreads > 32) {
      scratch = printer.fresh("shared");
      printer.line(llvm::formatv("__shared__ {0} {1}[{2}];", type, scratch,
                                 schedule.groupThreads / 32));
    } else {
      scratch = llvm::formatv("static_cast<{0} *>(nullptr)", type);
    }
    printer.line(llvm::formatv("{0} = reduceGroup<{1}, {2}>({0}, {3});", name,
                               PointPrinter::combiner(generic),
                               schedule.groupThreads, scratch));
    printer.define(printer.current, reduction.result, reduction.exprs, name);
  }

  void writeColumn() {
    int64_t columns = schedule.groupsInBlock, lanes = schedule.lanes;
    const LoopGroup &last = schedule.rows.groups.back();
    FlatAxes outer;
    outer.groups.assign(schedule.rows.groups.begin(),
                        schedule.rows.groups.end() - 1);
    std::string blocks = printer.index(last.size.ceilDiv(lanes * columns));
    declare("blocks", blocks);
    declare("row", "static_cast<Index>(blockIdx.x) / blocks");
    // Columns past the end repeat the last ones.
    declare("size", printer.index(last.size));
    declare("first",
            llvm::formatv("(static_cast<Index>(blockIdx.x) % blocks * {0} + "
                          "threadIdx.x % {0}) * {1}",
                          columns, lanes));
    declare("column",
            llvm::formatv("first < size ? first : size - {0}", lanes));
    declare("thread", llvm::formatv("threadIdx.x / {0}", columns));
    if (!outer.groups.empty())
      bind(outer, "row", "d");
    printer.bind(last, "column");
    for (const SharedReduction &reduction : schedule.reductions)
      writeColumnReduction(reduction);
    bool any = false;
    for (const KernelOutput &output : nest.outputs)
      any |= isPerElement(output);
    if (any)
      forEachChunk(schedule.inner, 1, [&] {
        printer.lanes(*schedule.laneDim, lanes, "column", [&] {
          for (const KernelOutput &output : nest.outputs)
            if (isPerElement(output))
              storeOutput(output);
        });
        printer.flushStores();
      });
    writeRowOutputs("thread == 0");
  }

  void writeColumnReduction(const SharedReduction &reduction) {
    linalg::GenericOp generic = genericOf(reduction);
    int64_t lanes = schedule.lanes, columns = schedule.groupsInBlock;
    std::string name = printer.fresh("a"), type = typeOf(reduction.result),
                start = printer.neutral(generic, 0);
    printer.line(llvm::formatv("{0} {1}[{2}];", type, name, lanes));
    printer.line(llvm::formatv("for (int j = 0; j < {0}; ++j)", lanes));
    printer.line("  " + name + "[j] = " + start + ";");
    forEachChunk(reduction.axes, 1, [&] {
      printer.lanes(*schedule.laneDim, lanes, "column", [&] {
        printer.step(generic, reduction.loops,
                     {name + (lanes > 1 ? "[j]" : "[0]")});
      });
    });
    std::string scratch = printer.fresh("shared");
    printer.line(llvm::formatv("__shared__ {0} {1}[{2}];", type, scratch,
                               schedule.threads() * lanes));
    printer.line(llvm::formatv("reduceColumn<{0}, {1}, {2}>({3}, {4});",
                               PointPrinter::combiner(generic), columns,
                               schedule.groupThreads, name, scratch));
    printer.define(printer.current, reduction.result, reduction.exprs,
                   name + (lanes > 1 ? "[j]" : "[0]"));
  }

  LoopNest &nest;
  const GpuSchedule &schedule;
  PrintScope root;
  PointPrinter printer;
};

const char *describe(GpuScheduleKind kind) {
  switch (kind) {
  case GpuScheduleKind::Elementwise:
    return "elementwise";
  case GpuScheduleKind::Row:
    return "rows";
  case GpuScheduleKind::Column:
    return "columns";
  }
  return "";
}

} // namespace

absl::StatusOr<GeneratedCandidate> generateLoopKernel(func::FuncOp function,
                                                      ArrayAttr symbols,
                                                      const GpuTarget &target) {
  std::vector<LoopNest> nests =
      groupOutputs(function.getBody().front().getTerminator());
  if (nests.empty())
    return absl::UnimplementedError("a kernel without results");

  GeneratedCandidate candidate;
  candidate.text = "using Index = " + indexType(function, symbols) + ";\n\n" +
                   preludeText("Common") + "\n" + preludeText("Reduce") + "\n";
  unsigned inputs = function.getNumArguments();
  for (auto [number, nest] : llvm::enumerate(nests)) {
    DimTable dims;
    GpuSchedule schedule =
        scheduleForGpu(nest, dims, symbols, target.multiprocessors);
    NestWriter writer(nest, schedule, dims, function);
    AITUNE_ASSIGN_OR_RETURN(std::string body, writer.run());
    ImplementationStep step;
    std::string name = function.getName().str();
    if (nests.size() > 1)
      name += "_part" + std::to_string(number);
    setLaunch(step, name, {writer.blocks()}, schedule.threads(),
              /*sharedMemory=*/0, target);
    SmallVector<KernelParameter> parameters;
    for (BlockArgument argument : function.getArguments()) {
      auto type = cast<RankedTensorType>(argument.getType());
      parameters.push_back(
          {inputName(argument.getArgNumber()), type.getElementType(), false});
      step.inputs.push_back(static_cast<int>(argument.getArgNumber()));
    }
    for (const KernelOutput &output : nest.outputs) {
      auto type = cast<RankedTensorType>(output.value.getType());
      parameters.push_back(
          {outputName(output.number), type.getElementType(), true});
      step.outputs.push_back(static_cast<int>(inputs + output.number));
    }
    if (writer.reports()) {
      parameters.push_back(
          {"checks", IntegerType::get(function.getContext(), 64), true});
      for (const CheckProto &check : describeChecks(function))
        *step.call.add_checks() = check;
    }
    std::string what = llvm::formatv(
        "{0}, {1} x {2} threads, packs of {3}", describe(schedule.kind),
        schedule.groupsInBlock, schedule.groupThreads, schedule.lanes);
    candidate.text +=
        "// " + name + ": " + what + "\n" +
        kernelHead(name, schedule.threads(), parameters, symbols) + body +
        "}\n";
    candidate.description += (number ? "; " : "") + what;
    candidate.steps.push_back(std::move(step));
  }
  return candidate;
}

} // namespace aitune
