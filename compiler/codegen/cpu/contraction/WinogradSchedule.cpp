#include <algorithm>

#include "compiler/codegen/cpu/contraction/Winograd.h"
#include "compiler/codegen/cpu/target/ScheduleConfig.h"
#include "compiler/dialect/Ait.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Tiles assumed where they are only known at run time.
constexpr int64_t kTypicalTiles = 64;
/// Bytes of the stack that a kernel may take.
constexpr int64_t kStackBytes = 1024 * 1024;
/// Bytes of transformed filters up to which, and tiles and channels from which,
/// the choice without measuring is an algorithm of Winograd's: more bytes would
/// be felt in a model's memory, and fewer tiles would not pay for reading them.
constexpr int64_t kRuledFilterBytes = 1024 * 1024;
constexpr int64_t kRuledTiles = 32, kLeastChannels = 32;
/// Bytes and tiles up to and from which an algorithm is measured.
constexpr int64_t kMeasuredFilterBytes = 10 * 1024 * 1024;
constexpr int64_t kMeasuredTiles = 16;
/// Units that a few threads can share.
constexpr int64_t kUsefulUnits = 8;

/// Of the transformed filters.
int64_t getFilterBytes(ConvolutionAlgorithm algorithm, int64_t inputs,
                       int64_t outputs) {
  return getWinogradPositions(algorithm) * inputs * outputs *
         int64_t(sizeof(float));
}

/// One of the T * T matmuls.
MatmulShape getProductShape(const ConvolutionProblem &problem,
                            ConvolutionAlgorithm algorithm) {
  MatmulShape shape;
  shape.format = problem.shape.format;
  shape.m = getWinogradTileCount(problem, algorithm);
  shape.n = problem.outputs;
  shape.k = problem.inputs;
  return shape;
}

/// Bytes of transformed inputs and sums for each tile of a block.
int64_t getTileBytes(const ConvolutionProblem &problem,
                     ConvolutionAlgorithm algorithm, int64_t nr,
                     int64_t lanes) {
  return getWinogradPositions(algorithm) *
         (getWinogradRow(problem.inputs, lanes) + nr) * int64_t(sizeof(float));
}

/// The number of tiles of a block: as many as fit `bytes`, such that blocks
/// have about the same size.
int64_t getBlock(int64_t tiles, int64_t mr, int64_t tileBytes, int64_t bytes) {
  int64_t most = std::max(mr, bytes / tileBytes / mr * mr);
  int64_t blocks = llvm::divideCeil(tiles, most);
  return llvm::alignTo(llvm::divideCeil(tiles, blocks), mr);
}

/// Panels of a unit: as many as leave units enough, since each unit transforms
/// its inputs anew.
int64_t getPanels(int64_t tiles, int64_t panels, int64_t mc) {
  int64_t blocks = llvm::divideCeil(tiles, mc);
  int64_t groups =
      std::clamp<int64_t>(llvm::divideCeil(kUsefulUnits, blocks), 1, panels);
  return llvm::divideCeil(panels, groups);
}

} // namespace

int64_t getWinogradOutputs(ConvolutionAlgorithm algorithm) {
  switch (algorithm) {
  case ConvolutionAlgorithm::Direct:
  case ConvolutionAlgorithm::DirectHalfVectors:
    return 0;
  case ConvolutionAlgorithm::Winograd2x2:
    return 2;
  case ConvolutionAlgorithm::Winograd4x4:
    return 4;
  }
  llvm_unreachable("all algorithms are listed");
}

int64_t getWinogradPositions(ConvolutionAlgorithm algorithm) {
  int64_t tile = getWinogradOutputs(algorithm) + 2;
  return tile * tile;
}

ait::PackedLayout getWinogradPacking(ConvolutionAlgorithm algorithm) {
  return algorithm == ConvolutionAlgorithm::Winograd2x2
             ? ait::PackedLayout::Winograd2x2
             : ait::PackedLayout::Winograd4x4;
}

int64_t getWinogradRow(int64_t inputs, int64_t lanes) {
  // A power of two apart, rows would fight for the same sets of the cache.
  return llvm::alignTo(inputs, lanes) + lanes;
}

AffineExpr getWinogradTiles(const ConvolutionProblem &problem,
                            ConvolutionAlgorithm algorithm) {
  int64_t outputs = getWinogradOutputs(algorithm);
  return ait::canonicalizeSize(problem.batch *
                               problem.outputHeight.ceilDiv(outputs) *
                               problem.outputWidth.ceilDiv(outputs));
}

int64_t getWinogradTileCount(const ConvolutionProblem &problem,
                             ConvolutionAlgorithm algorithm) {
  auto constant =
      dyn_cast<AffineConstantExpr>(getWinogradTiles(problem, algorithm));
  return constant ? constant.getValue() : -1;
}

int64_t getLeastWinogradTiles(const ConvolutionProblem &problem,
                              ConvolutionAlgorithm algorithm) {
  if (const int64_t tiles = getWinogradTileCount(problem, algorithm);
      tiles >= 0)
    return tiles;
  ConvolutionProblem image = problem;
  image.batch = getAffineConstantExpr(1, problem.batch.getContext());
  return getWinogradTileCount(image, algorithm);
}

bool isWinogradByRule(int64_t tiles, int64_t inputs, int64_t outputs) {
  return tiles >= kRuledTiles && std::min(inputs, outputs) >= kLeastChannels &&
         getFilterBytes(ConvolutionAlgorithm::Winograd4x4, inputs, outputs) <=
             kRuledFilterBytes;
}

AffineExpr getWinogradGrid(const ConvolutionProblem &problem,
                           const ConvolutionSchedule &schedule) {
  int64_t panels = llvm::divideCeil(problem.outputs, schedule.nr);
  return ait::canonicalizeSize(
      getWinogradTiles(problem, schedule.algorithm).ceilDiv(schedule.mc) *
      int64_t(llvm::divideCeil(panels, schedule.panels)));
}

double getWinogradUnitWork(const ConvolutionProblem &problem,
                           const ConvolutionSchedule &schedule) {
  return double(getWinogradPositions(schedule.algorithm)) * schedule.mc *
         schedule.nr * schedule.panels * problem.inputs;
}

std::string rejectWinogradSchedule(const ConvolutionSchedule &schedule,
                                   const ConvolutionProblem &problem,
                                   const Target &target) {
  if (problem.form != ConvolutionForm::Taps || problem.kernelHeight != 3 ||
      problem.kernelWidth != 3 || problem.stride[0] != 1 ||
      problem.stride[1] != 1 || problem.dilation[0] != 1 ||
      problem.dilation[1] != 1 || problem.groups != 1)
    return "Winograd's algorithms are for 3x3 convolutions of stride 1, "
           "dilation 1 and one group, of 8 channels or more";
  if (!problem.input.storedType.isF32() || !problem.filter.storedType.isF32())
    return "Winograd's algorithms are for f32: their transforms lose a digit";
  if (schedule.kc != 0)
    return "kc must be 0: the matmuls of Winograd's algorithms take all "
           "channels at once";
  // Only the register tile must be legal for a matmul; blocks are different
  // here.
  MatmulSchedule tile = schedule;
  if (schedule.mr > 0 && schedule.mc % schedule.mr == 0)
    tile.mc = schedule.mr;
  if (std::string reason = rejectMatmulSchedule(
          tile, getProductShape(problem, schedule.algorithm), target);
      !reason.empty())
    return reason;
  int64_t panels = llvm::divideCeil(problem.outputs, schedule.nr);
  if (schedule.panels > panels)
    return llvm::formatv("panels must be at most the {0} there are, not {1}",
                         panels, schedule.panels);
  int64_t lanes = target.vectorBits / 32;
  int64_t bytes = schedule.mc *
                  getTileBytes(problem, schedule.algorithm, schedule.nr, lanes);
  if (bytes > kStackBytes)
    return llvm::formatv("its blocks take {0} bytes of stack, more than {1}",
                         bytes, kStackBytes);
  return "";
}

ConvolutionSchedule chooseWinogradSchedule(const ConvolutionProblem &problem,
                                           ConvolutionAlgorithm algorithm,
                                           const Target &target) {
  int64_t lanes = target.vectorBits / 32;
  ConvolutionSchedule schedule;
  static_cast<MatmulSchedule &>(schedule) =
      chooseMatmulSchedule(getProductShape(problem, algorithm), target);
  schedule.algorithm = algorithm;
  schedule.kc = 0;
  int64_t tiles = getWinogradTileCount(problem, algorithm);
  tiles = tiles < 0 ? kTypicalTiles : std::max<int64_t>(tiles, 1);
  int64_t bytes = getTileBytes(problem, algorithm, schedule.nr, lanes);
  schedule.mc = getBlock(tiles, schedule.mr, bytes, target.l2Bytes / 2);
  schedule.panels = getPanels(
      tiles, llvm::divideCeil(problem.outputs, schedule.nr), schedule.mc);
  schedule.panelsOuter = true;
  return schedule;
}

std::vector<ConvolutionSchedule>
listWinogradSchedules(const ConvolutionProblem &problem, const Target &target) {
  std::vector<ConvolutionSchedule> schedules;
  auto add = [&](const ConvolutionSchedule &schedule) {
    addIfNew<ConvolutionSchedule>(
        schedules, schedule, [&](const ConvolutionSchedule &schedule) {
          return rejectWinogradSchedule(schedule, problem, target);
        });
  };
  int64_t lanes = target.vectorBits / 32;
  for (ConvolutionAlgorithm algorithm :
       {ConvolutionAlgorithm::Winograd4x4, ConvolutionAlgorithm::Winograd2x2}) {
    ConvolutionSchedule chosen =
        chooseWinogradSchedule(problem, algorithm, target);
    add(chosen);
    MatmulShape shape = getProductShape(problem, algorithm);
    int64_t tiles = shape.m < 0 ? kTypicalTiles : shape.m;
    for (int64_t vectors = 1; vectors <= 4; ++vectors) {
      int64_t most = std::min<int64_t>(
          14, (target.vectorRegisters - vectors - 1) / vectors);
      int64_t even =
          tiles > most ? llvm::divideCeil(tiles, llvm::divideCeil(tiles, most))
                       : tiles;
      for (int64_t mr : {most, even, most / 2}) {
        if (mr < 1 || mr > tiles)
          continue;
        ConvolutionSchedule schedule = chosen;
        schedule.mr = mr;
        schedule.nr = vectors * lanes;
        int64_t panels = llvm::divideCeil(problem.outputs, schedule.nr);
        int64_t bytes = getTileBytes(problem, algorithm, schedule.nr, lanes);
        for (int64_t stack :
             {target.l2Bytes / 2, target.l2Bytes / 4, target.l2Bytes}) {
          schedule.mc = getBlock(tiles, mr, bytes, stack);
          schedule.panels = getPanels(tiles, panels, schedule.mc);
          add(schedule);
          schedule.panels = panels;
          add(schedule);
        }
      }
    }
  }
  return schedules;
}

std::vector<ConvolutionAlgorithm>
listWinogradAlternatives(ait::ConvolutionOp convolution) {
  std::vector<ConvolutionAlgorithm> algorithms;
  auto filter = cast<RankedTensorType>(convolution.getFilter().getType());
  auto result = cast<RankedTensorType>(convolution.getResult().getType());
  auto isOnes = [](ArrayRef<int64_t> numbers) {
    return llvm::all_of(numbers, [](int64_t number) { return number == 1; });
  };
  if (!convolution.getChannelsLast() || convolution.getGroups() != 1 ||
      !isOnes(convolution.getStride()) || !isOnes(convolution.getDilation()) ||
      !filter.getElementType().isF32() || filter.getDimSize(2) != 3 ||
      filter.getDimSize(3) != 3 || result.isDynamicDim(1) ||
      result.isDynamicDim(2))
    return algorithms;
  const int64_t inputs = filter.getDimSize(1), outputs = filter.getDimSize(0);
  const int64_t images = result.isDynamicDim(0) ? 1 : result.getDimSize(0);
  auto countTiles = [&](ConvolutionAlgorithm algorithm) {
    const int64_t size = getWinogradOutputs(algorithm);
    return images * llvm::divideCeil(result.getDimSize(1), size) *
           llvm::divideCeil(result.getDimSize(2), size);
  };
  if (std::min(inputs, outputs) < kLeastChannels ||
      isWinogradByRule(countTiles(ConvolutionAlgorithm::Winograd4x4), inputs,
                       outputs))
    return algorithms;
  for (ConvolutionAlgorithm algorithm :
       {ConvolutionAlgorithm::Winograd4x4, ConvolutionAlgorithm::Winograd2x2})
    if (countTiles(algorithm) >= kMeasuredTiles &&
        getFilterBytes(algorithm, inputs, outputs) <= kMeasuredFilterBytes)
      algorithms.push_back(algorithm);
  return algorithms;
}

} // namespace aitune
