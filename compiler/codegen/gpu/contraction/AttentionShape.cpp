#include "compiler/codegen/gpu/contraction/AttentionShape.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/status/status.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

using Algorithm = AttentionShape::Algorithm;

constexpr AttentionShape mma(int64_t queryWarps, int64_t keyWarps,
                             int64_t splits = 1) {
  return {Algorithm::kMma, queryWarps, keyWarps, 0, 0, 0, splits};
}
constexpr AttentionShape wgmma(int64_t groups, int64_t resident, int64_t keys) {
  return {Algorithm::kWgmma, 0, 0, groups, resident, keys};
}

constexpr AttentionShape simt(int64_t splits) {
  return {Algorithm::kSimt, 4, 0, 0, 0, 0, splits};
}

constexpr AttentionShape kMma[] = {mma(4, 1), mma(8, 1), mma(2, 2), mma(1, 4)};
constexpr AttentionShape kWgmma[] = {
    wgmma(3, 1, 128), wgmma(3, 1, 96),  wgmma(3, 1, 64),  wgmma(2, 1, 224),
    wgmma(2, 1, 176), wgmma(2, 1, 144), wgmma(2, 1, 128), wgmma(2, 1, 96),
    wgmma(2, 1, 80),  wgmma(2, 1, 64),  wgmma(1, 2, 176), wgmma(1, 2, 128),
    wgmma(1, 2, 96),  wgmma(1, 2, 80),  wgmma(1, 2, 64),  wgmma(1, 3, 80),
    wgmma(1, 3, 64),  wgmma(1, 4, 64)};

/// Bytes of shared memory of a multiprocessor beyond those that one block may
/// have, and bytes of each block that the system takes (CUDA C++ Programming
/// Guide, Compute Capability 9.0).
constexpr int64_t kSharedBeyond = 1024, kSharedOfSystem = 1024;

/// Bytes of a row in a tile of 64 columns a part.
int64_t partBytes(int64_t columns) {
  return static_cast<int64_t>(llvm::divideCeil(columns, 64)) * 128;
}

/// The registers of a computing thread, as prelude/AttentionGroups.cuh hands
/// them out.
int64_t registersOf(const AttentionShape &shape) {
  const int64_t threads = shape.threads(),
                first = 65536 / shape.resident / threads / 8 * 8,
                toCopy = shape.groups == 3 || shape.resident > 2 ? 32 : 40,
                spread = (first * threads - toCopy * 128) /
                         shape.computingThreads() / 8 * 8;
  return std::min<int64_t>(spread, 240);
}

/// The registers that a computing thread needs: for scores, weights and sums,
/// and for what else ptxas (CUDA 13.0) found room for.
int64_t registersFor(const AttentionShape &shape,
                     const AttentionProblem &problem) {
  constexpr int64_t kOthers = 30;
  return shape.keys / 2 + shape.keys / 4 + problem.valueDepth / 2 + kOthers;
}

bool fits(const AttentionShape &shape, const AttentionProblem &problem,
          const GpuTarget &target) {
  const int64_t bytes = shape.sharedBytes(problem);
  if (bytes > target.sharedMemoryPerBlock ||
      shape.resident * (bytes + kSharedOfSystem) >
          target.sharedMemoryPerBlock + kSharedBeyond)
    return false;
  // The registers before they are handed over must hold an instruction's.
  const int64_t first = 65536 / shape.resident / shape.threads() / 8 * 8,
                largest = std::max(shape.keys, problem.valueDepth) / 2;
  return registersFor(shape, problem) <= registersOf(shape) &&
         largest + 26 <= first;
}

/// The estimated clocks, which are good only for ranking: an H200's tensor
/// cores multiply 4096 numbers a clock and multiprocessor, of which long
/// sequences get some 60 %; 5000 clocks are a block's start and end.
double estimate(const AttentionShape &shape, const AttentionProblem &problem,
                const GpuTarget &target) {
  const double blocks =
      double(llvm::divideCeil(problem.queries, shape.queries())) *
      double(problem.batch);
  const double steps = double(llvm::divideCeil(problem.keys, shape.keys)) *
                       (problem.isCausal ? 0.5 : 1.0);
  const double step = 2.0 * double(shape.queries() * shape.keys) *
                      double(problem.depth + problem.valueDepth) / 4096 / 0.6;
  // One warpgroup alone computes no weights while it multiplies.
  const double alone = shape.groups * shape.resident == 1 ? 1.5 : 1.0;
  const double slots = double(target.multiprocessors * shape.resident);
  const double waves =
      std::max(blocks / slots, 1.0) * 0.5 + std::ceil(blocks / slots) * 0.5;
  const double sharing =
      std::min(double(shape.resident),
               std::ceil(blocks / double(target.multiprocessors)));
  return waves * (5000 + (steps + 0.5) * (step * alone * sharing + 300));
}

std::vector<AttentionShape> rankWgmma(const AttentionProblem &problem,
                                      const GpuTarget &target) {
  std::vector<AttentionShape> shapes;
  if (!target.hasWgmma() || problem.depth > 256 || problem.valueDepth > 256 ||
      problem.queries <= 16)
    return shapes;
  std::vector<std::pair<double, size_t>> ranked;
  for (auto [number, shape] : llvm::enumerate(kWgmma))
    if (fits(shape, problem, target))
      ranked.emplace_back(estimate(shape, problem, target), number);
  llvm::sort(ranked);
  for (const auto &[clocks, number] : ranked)
    shapes.push_back(kWgmma[number]);
  return shapes;
}

/// The numbers of blocks that may share the keys of `queries` queries, the most
/// promising first: few where others fill the GPU, and none with fewer keys
/// than two steps.
std::vector<int64_t> rankSplits(const AttentionProblem &problem,
                                int64_t queries, const GpuTarget &target) {
  constexpr int64_t kStep = 64;
  const int64_t blocks =
      problem.batch *
      static_cast<int64_t>(llvm::divideCeil(problem.queries, queries));
  std::vector<int64_t> splits;
  // A cluster has up to 8 blocks everywhere (CUDA C++ Programming Guide, Thread
  // Block Clusters).
  if (target.major >= 9 && target.major < 12)
    for (int64_t number : {8, 4, 2})
      if (blocks * number <= 2 * target.multiprocessors &&
          problem.keys >= 2 * kStep * number)
        splits.push_back(number);
  return splits;
}

std::vector<AttentionShape> rankSimt(const AttentionProblem &problem,
                                     const GpuTarget &target) {
  std::vector<AttentionShape> shapes;
  for (int64_t splits : rankSplits(problem, simt(1).queries(), target))
    shapes.push_back(simt(splits));
  shapes.resize(std::min<size_t>(shapes.size(), 2));
  shapes.push_back(simt(1));
  return shapes;
}

std::vector<AttentionShape> rankMma(const AttentionProblem &problem,
                                    const GpuTarget &target) {
  if (problem.depth > 128 || problem.valueDepth > 128)
    return {};
  // Few heads and queries: smaller blocks, whose warps share the keys.
  auto blocks = [&](int64_t warps) {
    return problem.batch *
           static_cast<int64_t>(llvm::divideCeil(problem.queries, warps * 16));
  };
  if (blocks(4) >= target.multiprocessors)
    return blocks(8) >= 2 * target.multiprocessors
               ? std::vector<AttentionShape>{mma(4, 1), mma(8, 1), mma(2, 2)}
               : std::vector<AttentionShape>{mma(4, 1), mma(2, 2)};
  if (blocks(2) >= target.multiprocessors)
    return {mma(2, 2), mma(4, 1), mma(1, 4)};
  std::vector<AttentionShape> shapes;
  for (int64_t splits : rankSplits(problem, mma(1, 4).queries(), target))
    shapes.push_back(mma(1, 4, splits));
  shapes.resize(std::min<size_t>(shapes.size(), 2));
  shapes.push_back(mma(1, 4));
  shapes.push_back(mma(2, 2));
  if (shapes.size() < 4)
    shapes.push_back(mma(4, 1));
  return shapes;
}

} // namespace

int64_t AttentionShape::queries() const {
  switch (algorithm) {
  case Algorithm::kMma:
    return queryWarps * 16;
  case Algorithm::kWgmma:
    return groups * 64;
  case Algorithm::kSimt:
    return queryWarps * 4;
  }
  llvm_unreachable("an algorithm");
}

int64_t AttentionShape::computingThreads() const {
  return algorithm == Algorithm::kWgmma
             ? groups * 128
             : queryWarps * std::max<int64_t>(keyWarps, 1) * 32;
}

int64_t AttentionShape::threads() const {
  return computingThreads() + (algorithm == Algorithm::kWgmma ? 128 : 0);
}

int64_t AttentionShape::sharedBytes(const AttentionProblem &problem) const {
  const int64_t depth = problem.depth, valueDepth = problem.valueDepth,
                resultBytes = queries() * (valueDepth + 4) * 4;
  switch (algorithm) {
  case Algorithm::kSimt:
    return std::max((queries() * depth + 32 * (depth + 1) + 32 * valueDepth) *
                        4,
                    resultBytes);
  case Algorithm::kMma: {
    auto rowBytes = [](int64_t columns) {
      return columns <= 32 ? 64 : columns <= 64 ? 128 : 256;
    };
    return std::max(queries() * rowBytes(depth) +
                        2 * 64 * (rowBytes(depth) + rowBytes(valueDepth)),
                    keyWarps * resultBytes);
  }
  case Algorithm::kWgmma:
    // Four barriers of 8 bytes a slot.
    return std::max(
        queries() * partBytes(depth) +
            stages() *
                (keys * (partBytes(depth) + partBytes(valueDepth)) + 4 * 8),
        resultBytes);
  }
  llvm_unreachable("an algorithm");
}

bool AttentionShape::keepsQueries(const AttentionProblem &problem) const {
  const int64_t queries =
      static_cast<int64_t>(llvm::alignTo(problem.depth, 16)) / 4;
  return algorithm == Algorithm::kWgmma &&
         registersFor(*this, problem) + queries <= registersOf(*this);
}

std::string AttentionShape::description() const {
  const std::string shared =
      splits > 1 ? llvm::formatv(", keys in {0} blocks", splits).str() : "";
  switch (algorithm) {
  case Algorithm::kMma:
    return llvm::formatv("attention mma, {0} queries, {1} {2} of keys{3}",
                         queries(), keyWarps,
                         keyWarps == 1 ? "group" : "groups", shared);
  case Algorithm::kWgmma:
    return llvm::formatv("attention wgmma, {0} queries, {1} keys, {2} resident",
                         queries(), keys, resident);
  case Algorithm::kSimt:
    return llvm::formatv("attention simt, {0} queries{1}", queries(), shared);
  }
  llvm_unreachable("an algorithm");
}

DictionaryAttr AttentionShape::config(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList config;
  auto set = [&](const char *name, int64_t value) {
    config.set(name, builder.getI64IntegerAttr(value));
  };
  if (algorithm == Algorithm::kWgmma) {
    set("warpgroups", groups);
    set("resident", resident);
    set("keys", keys);
  } else {
    set("query_warps", queryWarps);
    set("key_warps", keyWarps);
    if (splits > 1)
      set("splits", splits);
  }
  return config.getDictionary(context);
}

bool AttentionShape::operator==(const AttentionShape &other) const {
  auto tie = [](const AttentionShape &s) {
    return std::tie(s.algorithm, s.queryWarps, s.keyWarps, s.groups, s.resident,
                    s.keys, s.splits);
  };
  return tie(*this) == tie(other);
}

std::vector<AttentionShape> rankAttentionShapes(const AttentionProblem &problem,
                                                const GpuTarget &target) {
  if (!problem.hasAlignedRows)
    return rankSimt(problem, target);
  std::vector<AttentionShape> shapes = rankWgmma(problem, target);
  for (const AttentionShape &shape : rankMma(problem, target))
    shapes.push_back(shape);
  if (shapes.empty())
    return rankSimt(problem, target);
  if (problem.depth <= 128 && problem.valueDepth <= 128)
    for (const AttentionShape &shape : kMma)
      if (!llvm::is_contained(shapes, shape))
        shapes.push_back(shape);
  return shapes;
}

std::vector<AttentionShape>
chooseAttentionShapes(const AttentionProblem &problem,
                      const GpuTarget &target) {
  if (!problem.hasAlignedRows)
    return rankSimt(problem, target);
  std::vector<AttentionShape> shapes = rankWgmma(problem, target),
                              others = rankMma(problem, target);
  if (shapes.empty())
    return others.empty() ? rankSimt(problem, target) : others;
  shapes.resize(std::min<size_t>(shapes.size(), 3));
  if (!others.empty())
    shapes.push_back(others.front());
  return shapes;
}

absl::StatusOr<AttentionShape>
readAttentionShape(DictionaryAttr config, const AttentionProblem &problem,
                   const GpuTarget &target) {
  for (const AttentionShape &shape : rankAttentionShapes(problem, target))
    if (shape.algorithm != Algorithm::kSimt &&
        shape.config(config.getContext()) == config)
      return shape;
  return absl::InvalidArgumentError(
      "no attention of this kernel is as its ait.config says: " +
      mlir::ait::printScheduleConfig(config));
}

std::vector<Schedule> describeAttentionShapes(const AttentionProblem &problem,
                                              const GpuTarget &target,
                                              MLIRContext *context) {
  std::vector<Schedule> list;
  auto log2Of = [](int64_t size) {
    return std::log2(double(std::max<int64_t>(size, 1)));
  };
  for (const AttentionShape &shape : rankAttentionShapes(problem, target)) {
    if (shape.algorithm == Algorithm::kSimt)
      continue;
    list.push_back(
        {mlir::ait::printScheduleConfig(shape.config(context)),
         shape.description(),
         {log2Of(problem.queries), log2Of(problem.keys), log2Of(problem.batch),
          double(shape.queries()) / 16, double(shape.keyWarps),
          double(shape.groups), double(shape.keys) / 64, double(shape.resident),
          double(problem.depth + problem.valueDepth) / 128,
          log2Of(shape.splits)}});
  }
  return list;
}

} // namespace aitune
