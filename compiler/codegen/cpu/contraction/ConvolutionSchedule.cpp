#include <algorithm>
#include <cmath>

#include "compiler/codegen/cpu/contraction/Winograd.h"
#include "compiler/codegen/cpu/target/ScheduleConfig.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Bytes of the stack a copied segment may take.
constexpr int64_t kSegmentBytes = 192 * 1024;
/// Pixels assumed in an output row of unknown length.
constexpr int64_t kTypicalWidth = 56;
/// Output rows of a unit of planes: most images are one unit a channel.
constexpr int64_t kPlaneRows = 64;

int64_t getLanes(const ConvolutionProblem &problem, const Target &target) {
  return target.vectorBits / problem.shape.format.sum.getIntOrFloatBitWidth();
}

int64_t getOutputWidth(const ConvolutionProblem &problem) {
  auto constant = dyn_cast<AffineConstantExpr>(problem.outputWidth);
  return constant ? std::max<int64_t>(constant.getValue(), 1) : kTypicalWidth;
}

/// Bytes that the input under `pixels` neighbours of one output row takes.
int64_t getSegmentBytes(const ConvolutionProblem &problem, int64_t pixels) {
  int64_t columns = (pixels - 1) * problem.stride[1] +
                    (problem.kernelWidth - 1) * problem.dilation[1] + 1;
  int64_t bytes = problem.shape.format.lhsFactor.getIntOrFloatBitWidth() / 8;
  return problem.kernelHeight * columns * problem.tapSteps * bytes;
}

/// Panels hold filters of one group: as wide as fit it evenly.
void fitGroups(const ConvolutionProblem &problem, int64_t lanes,
               MatmulSchedule &schedule) {
  if (problem.groups == 1 || problem.outputs % schedule.nr == 0)
    return;
  int64_t most = std::min(problem.outputs, schedule.nr);
  for (int64_t width = most / lanes * lanes; width >= lanes; width -= lanes)
    if (problem.outputs % width == 0) {
      schedule.nr = width;
      return;
    }
  schedule.nr = most;
  while (problem.outputs % schedule.nr != 0)
    --schedule.nr;
}

/// Panels that fit a group evenly, and the rows to go with them. Of those that
/// do, the tile with the most multiply-adds for what it loads.
void fitTile(const ConvolutionProblem &problem, const Target &target,
             MatmulSchedule &schedule) {
  const int64_t lanes = getLanes(problem, target);
  double best = 0;
  for (int64_t width = lanes; width <= problem.outputs; width += lanes) {
    const int64_t vectors = width / lanes, rows = getMostRows(vectors, target);
    if (problem.outputs % width != 0 || rows < 1)
      continue;
    const double share = double(rows * vectors) / (rows + vectors);
    if (share <= best)
      continue;
    best = share;
    schedule.mr = rows;
    schedule.nr = width;
  }
}

/// Segments of one output row, as few as fit the stack.
void chooseSegments(const ConvolutionProblem &problem,
                    MatmulSchedule &schedule) {
  int64_t width = getOutputWidth(problem);
  int64_t segments = 1;
  auto pixels = [&] {
    return llvm::alignTo(llvm::divideCeil(width, segments), schedule.mr);
  };
  while (int64_t(pixels()) > schedule.mr &&
         (getSegmentBytes(problem, pixels()) > kSegmentBytes ||
          int64_t(pixels()) > 256))
    ++segments;
  schedule.mc = pixels();
  schedule.kc = 0;
  schedule.panels = 1;
}

/// Tiles of as many rows as leave few of those whose windows lie in the image.
int64_t choosePlaneRows(const ConvolutionProblem &problem,
                        const Target &target) {
  const int64_t most = target.vectorRegisters == 32 ? 8 : 4;
  auto rows = dyn_cast<AffineConstantExpr>(problem.outputHeight);
  if (!rows)
    return most;
  const int64_t edges =
      llvm::divideCeil(2 * problem.padding[0], problem.stride[0]);
  const int64_t inside = std::max<int64_t>(rows.getValue() - edges, 1);
  int64_t best = 1;
  auto count = [&](int64_t tile) { return inside / tile + inside % tile; };
  for (int64_t tile = 2; tile <= std::min(most, inside); ++tile)
    if (count(tile) <= count(best))
      best = tile;
  return best;
}

/// The choice without measuring for the direct algorithm, with vectors of
/// `target`.
ConvolutionSchedule chooseDirectSchedule(const ConvolutionProblem &problem,
                                         const Target &target) {
  int64_t lanes = getLanes(problem, target);
  ConvolutionSchedule schedule;
  if (problem.form == ConvolutionForm::Depthwise) {
    schedule.mr = std::min<int64_t>(
        {getOutputWidth(problem), target.vectorRegisters == 32 ? 8 : 4});
    schedule.mc = schedule.mr;
    schedule.nr =
        std::min<int64_t>(llvm::alignTo(problem.groups, lanes), 8 * lanes);
    schedule.panelsOuter = false;
    return schedule;
  }
  if (problem.form == ConvolutionForm::Planes) {
    schedule.mr = choosePlaneRows(problem, target);
    schedule.mc = kPlaneRows;
    schedule.nr = lanes;
    schedule.kc = 0;
    schedule.panels = 1;
    schedule.panelsOuter = false;
    return schedule;
  }
  MatmulShape shape = problem.shape;
  if (problem.form == ConvolutionForm::Segments) {
    // Tiles do not cross the ends of rows, and the copy serves all panels.
    shape.m = getOutputWidth(problem);
    shape.copiesLhs = false;
  }
  static_cast<MatmulSchedule &>(schedule) = chooseMatmulSchedule(shape, target);
  if (problem.form == ConvolutionForm::Matmul)
    return schedule;
  fitGroups(problem, lanes, schedule);
  if (problem.form == ConvolutionForm::Segments) {
    chooseSegments(problem, schedule);
    return schedule;
  }
  if (problem.kernelHeight == 1)
    schedule.kc = 0;
  return schedule;
}

/// Why the problem has no use for vectors half as wide; empty if it has.
std::string rejectHalfVectors(const ConvolutionProblem &problem,
                              const Target &machine) {
  const int64_t lanes = getLanes(
      problem, withVectorsOf(problem, ConvolutionAlgorithm::Direct, machine));
  const bool hasTiles = problem.form == ConvolutionForm::Taps ||
                        problem.form == ConvolutionForm::Segments;
  if (hasTiles && problem.vectorBits > 128 &&
      problem.shape.kind == MicrokernelKind::FusedMultiplyAdd &&
      mayUseHalfVectors(problem.groups, problem.outputs, lanes))
    return "";
  return "half vectors are for groups of channels of which they hold a whole "
         "number and whole vectors do not, multiplied and added in one "
         "instruction";
}

/// The same with vectors half as wide. Precondition: rejectHalfVectors is
/// empty.
ConvolutionSchedule chooseHalfVectorSchedule(const ConvolutionProblem &problem,
                                             const Target &machine) {
  const Target target =
      withVectorsOf(problem, ConvolutionAlgorithm::DirectHalfVectors, machine);
  ConvolutionSchedule schedule = chooseDirectSchedule(problem, target);
  schedule.algorithm = ConvolutionAlgorithm::DirectHalfVectors;
  fitTile(problem, target, schedule);
  if (problem.form == ConvolutionForm::Segments)
    chooseSegments(problem, schedule);
  else
    schedule.mc = llvm::alignTo(schedule.mc, schedule.mr);
  return schedule;
}

} // namespace

ConvolutionSchedule chooseConvolutionSchedule(const ConvolutionProblem &problem,
                                              const Target &machine) {
  const Target target =
      withVectorsOf(problem, ConvolutionAlgorithm::Direct, machine);
  if (problem.form == ConvolutionForm::Taps) {
    ConvolutionSchedule schedule = chooseWinogradSchedule(
        problem, ConvolutionAlgorithm::Winograd4x4, target);
    if (isWinogradByRule(getLeastWinogradTiles(problem, schedule.algorithm),
                         problem.inputs, problem.outputs) &&
        rejectWinogradSchedule(schedule, problem, target).empty())
      return schedule;
  }
  return chooseDirectSchedule(problem, target);
}

std::string rejectConvolutionSchedule(const ConvolutionSchedule &schedule,
                                      const ConvolutionProblem &problem,
                                      const Target &machine) {
  const Target target = withVectorsOf(problem, schedule.algorithm, machine);
  if (isWinograd(schedule.algorithm))
    return rejectWinogradSchedule(schedule, problem, target);
  if (schedule.algorithm == ConvolutionAlgorithm::DirectHalfVectors)
    if (std::string reason = rejectHalfVectors(problem, machine);
        !reason.empty())
      return reason;
  int64_t lanes = getLanes(problem, target);
  if (problem.form == ConvolutionForm::Depthwise) {
    if (schedule.mr < 1 || schedule.mr > target.vectorRegisters / 2)
      return llvm::formatv("mr must be in [1, {0}], not {1}",
                           target.vectorRegisters / 2, schedule.mr);
    if (schedule.nr < lanes || schedule.nr % lanes != 0)
      return llvm::formatv(
          "nr must be a multiple of the {0} lanes of a vector, not {1}", lanes,
          schedule.nr);
    return "";
  }
  if (problem.form == ConvolutionForm::Planes) {
    if (schedule.mr < 1 || schedule.mr > target.vectorRegisters / 2)
      return llvm::formatv("mr must be in [1, {0}], not {1}",
                           target.vectorRegisters / 2, schedule.mr);
    if (schedule.mc < 1 || schedule.nr != lanes)
      return llvm::formatv("mc must be positive, not {0}, and nr the {1} lanes "
                           "of a vector, not {2}",
                           schedule.mc, lanes, schedule.nr);
    return "";
  }
  MatmulSchedule whole = schedule;
  if (problem.groups > 1) {
    if (schedule.nr < 1 || problem.outputs % schedule.nr != 0)
      return llvm::formatv(
          "nr must divide the {0} output channels of a group, not be {1}",
          problem.outputs, schedule.nr);
    if (problem.shape.format.stepsTogether > 1 && schedule.nr % lanes != 0)
      return llvm::formatv(
          "nr must be a multiple of the {0} lanes of a vector, not {1}", lanes,
          schedule.nr);
    whole.nr = llvm::alignTo(schedule.nr, lanes);
  }
  MatmulShape shape = problem.shape;
  if (problem.form == ConvolutionForm::Segments) {
    shape.copiesLhs = false;
    if (schedule.kc != 0 || schedule.panels != 1)
      return "a segment takes all steps and panels at once: kc must be 0 and "
             "panels 1";
    if (getSegmentBytes(problem, schedule.mc) > 2 * kSegmentBytes)
      return llvm::formatv(
          "a segment of {0} pixels takes {1} bytes of stack, more than {2}",
          schedule.mc, getSegmentBytes(problem, schedule.mc),
          2 * kSegmentBytes);
  }
  if (problem.form == ConvolutionForm::Taps && schedule.panels != 1)
    return "panels must be 1: nothing is copied that more panels could share";
  return rejectMatmulSchedule(whole, shape, target);
}

std::vector<ConvolutionSchedule>
listConvolutionSchedules(const ConvolutionProblem &problem,
                         const Target &machine) {
  const Target target =
      withVectorsOf(problem, ConvolutionAlgorithm::Direct, machine);
  std::vector<ConvolutionSchedule> schedules{
      chooseConvolutionSchedule(problem, target)};
  int64_t lanes = getLanes(problem, target);
  auto add = [&](const ConvolutionSchedule &schedule) {
    addIfNew<ConvolutionSchedule>(
        schedules, schedule, [&](const ConvolutionSchedule &schedule) {
          return rejectConvolutionSchedule(schedule, problem, target);
        });
  };
  add(chooseDirectSchedule(problem, target));
  if (rejectHalfVectors(problem, machine).empty())
    add(chooseHalfVectorSchedule(problem, machine));
  if (problem.form == ConvolutionForm::Depthwise) {
    for (int64_t mr : {2, 4, 6, 8, 12})
      for (int64_t vectors : {2, 4, 8, 16}) {
        ConvolutionSchedule schedule = schedules.front();
        schedule.mr = schedule.mc = mr;
        schedule.nr = vectors * lanes;
        add(schedule);
      }
    return schedules;
  }
  if (problem.form == ConvolutionForm::Planes) {
    for (int64_t mr : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12}) {
      ConvolutionSchedule schedule = schedules.front();
      schedule.mr = mr;
      add(schedule);
    }
    return schedules;
  }
  for (const MatmulSchedule &matmul :
       listMatmulSchedules(problem.shape, target)) {
    ConvolutionSchedule schedule;
    static_cast<MatmulSchedule &>(schedule) = matmul;
    if (problem.form != ConvolutionForm::Matmul) {
      schedule.panels = 1;
      fitGroups(problem, lanes, schedule);
    }
    if (problem.form == ConvolutionForm::Segments)
      chooseSegments(problem, schedule);
    add(schedule);
  }
  for (const ConvolutionSchedule &schedule :
       listWinogradSchedules(problem, target))
    add(schedule);
  return schedules;
}

StringRef getName(ConvolutionAlgorithm algorithm) {
  switch (algorithm) {
  case ConvolutionAlgorithm::Direct:
    return "direct";
  case ConvolutionAlgorithm::DirectHalfVectors:
    return "direct_half_vectors";
  case ConvolutionAlgorithm::Winograd2x2:
  case ConvolutionAlgorithm::Winograd4x4:
    return stringifyPackedLayout(getWinogradPacking(algorithm));
  }
  llvm_unreachable("all algorithms have names");
}

DictionaryAttr ConvolutionSchedule::toConfig(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList config(MatmulSchedule::toConfig(context));
  config.set("algorithm", builder.getStringAttr(getName(algorithm)));
  return config.getDictionary(context);
}

std::string ConvolutionSchedule::toString() const {
  std::string tiles = MatmulSchedule::toString();
  return algorithm == ConvolutionAlgorithm::Direct
             ? tiles
             : (getName(algorithm) + " " + tiles).str();
}

FailureOr<ConvolutionSchedule>
readConvolutionSchedule(DictionaryAttr config,
                        const ConvolutionProblem &problem,
                        const Target &machine, std::string &reason) {
  ConvolutionSchedule schedule = chooseConvolutionSchedule(problem, machine);
  StringRef name = getName(schedule.algorithm);
  if (auto attribute =
          config ? config.getAs<StringAttr>("algorithm") : StringAttr())
    name = attribute.getValue();
  auto algorithm =
      llvm::StringSwitch<std::optional<ConvolutionAlgorithm>>(name)
          .Case("direct", ConvolutionAlgorithm::Direct)
          .Case("direct_half_vectors", ConvolutionAlgorithm::DirectHalfVectors)
          .Case("winograd_2x2", ConvolutionAlgorithm::Winograd2x2)
          .Case("winograd_4x4", ConvolutionAlgorithm::Winograd4x4)
          .Default(std::nullopt);
  if (!algorithm) {
    reason = llvm::formatv("algorithm must be direct, direct_half_vectors, "
                           "winograd_2x2 or winograd_4x4, not {0}",
                           name);
    return failure();
  }
  if (*algorithm != schedule.algorithm) {
    const Target target = withVectorsOf(problem, *algorithm, machine);
    if (isWinograd(*algorithm))
      schedule = chooseWinogradSchedule(problem, *algorithm, target);
    else if (*algorithm == ConvolutionAlgorithm::Direct)
      schedule = chooseDirectSchedule(problem, target);
    else if (reason = rejectHalfVectors(problem, machine); reason.empty())
      schedule = chooseHalfVectorSchedule(problem, machine);
    else
      return failure();
  }
  static_cast<MatmulSchedule &>(schedule) =
      readMatmulSchedule(config, schedule);
  return schedule;
}

/// Multiplications of Winograd's algorithms for each of the direct one's.
double getOperations(const ConvolutionSchedule &schedule,
                     const ConvolutionProblem &problem) {
  const int64_t size = getWinogradOutputs(schedule.algorithm);
  if (size == 0)
    return 1;
  const int64_t tiles = getWinogradTileCount(problem, schedule.algorithm);
  const double direct =
      double(std::max<int64_t>(knownSize(problem.shape.m), 1)) * 9;
  const double perTile = double(getWinogradPositions(schedule.algorithm));
  return tiles >= 0 ? perTile * double(std::max<int64_t>(tiles, 1)) / direct
                    : perTile / double(9 * size * size);
}

std::vector<double> getFeatures(const ConvolutionSchedule &schedule,
                                const ConvolutionProblem &problem) {
  // Winograd's algorithms: fewer multiplications, of which the first number is
  // the logarithm, more filters to read, and transforms.
  const int64_t size = getWinogradOutputs(schedule.algorithm);
  MatmulShape shape = problem.shape;
  double multiplications = 0, filters = 0, transforms = 0;
  if (size > 0) {
    shape.m = getWinogradTileCount(problem, schedule.algorithm);
    shape.k = problem.inputs;
    const double positions = double(getWinogradPositions(schedule.algorithm));
    multiplications = std::log2(getOperations(schedule, problem));
    filters = std::log2(positions / 9);
    const int64_t groups = llvm::divideCeil(
        llvm::divideCeil(problem.outputs, schedule.nr), schedule.panels);
    transforms = std::log2(1.0 + double(problem.inputs * groups) /
                                     double(problem.outputs)) +
                 100.0 / double(problem.inputs);
  }
  // The kernel's own sizes come first whatever the algorithm.
  std::vector<double> features =
      getFeatures(static_cast<const MatmulSchedule &>(schedule), problem.shape);
  if (size > 0) {
    std::vector<double> products =
        getFeatures(static_cast<const MatmulSchedule &>(schedule), shape);
    std::copy(products.begin() + 3, products.end(), features.begin() + 3);
  }
  features.insert(features.end(),
                  {double(size) / 2, multiplications, filters, transforms,
                   filters * log2Of(problem.inputs * problem.outputs)});
  return features;
}

} // namespace aitune
