// Predicts the time of a schedule before it is measured.
//
// A roofline gives a lower bound of the time. How far above it a schedule is,
// is learned from the tuning database by ridge regression (Hoerl and Kennard,
// 1970) of the logarithm of that factor on the schedule's features, their
// squares and their products with the kernel's sizes. Features and times are
// centred for each kernel, because a search compares schedules of one kernel,
// not kernels. With few records the regularisation keeps the prediction near
// the average; below 12 records the order of the template's own list decides.
#ifndef AITUNE_COMPILER_TUNE_COSTMODEL_H
#define AITUNE_COMPILER_TUNE_COSTMODEL_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/schedule/Schedule.h"
#include "compiler/tune/TuningDatabase.h"

namespace aitune {

/// The work of one launch of a kernel, for the roofline.
struct KernelWork {
  double flops = 0; ///< floating-point operations
  double bytes = 0; ///< bytes read and written
};

/// The highest rates of the machine, measured on the fastest kernels that it
/// has run. The defaults, used until there are measurements, are guesses: 100
/// GFLOP/s and 20 GB/s, as a few cores of a CPU reach.
struct Roofline {
  double flopsPerMicrosecond = 1e5, bytesPerMicrosecond = 2e4;
  /// The least microseconds for this work.
  double microseconds(const KernelWork &work) const;
};

/// Not thread-safe.
class CostModel {
public:
  virtual ~CostModel() = default;
  /// Learns from all records of one template. Called before predict, and again
  /// when there are more records.
  virtual void fit(const std::vector<TuningRecord> &records) = 0;
  /// The predicted microseconds of each schedule of `space`; the search uses
  /// only their order.
  virtual std::vector<double> predict(const KernelSpace &space,
                                      const KernelWork &work) const = 0;
};

/// The model described above.
std::unique_ptr<CostModel> createRooflineCostModel(const Roofline &roofline);

using CostModelFactory =
    std::function<std::unique_ptr<CostModel>(const Roofline &)>;

/// Registers a cost model under `name`; false if the name is taken. A factory
/// that gives null is an error of createCostModel. Thread-safe.
bool registerCostModel(const std::string &name, CostModelFactory factory);

/// The cost model with this name: "roofline" or a registered one. The error,
/// kInvalidArgument, lists the names, or names the model's plug-in.
/// Thread-safe.
absl::StatusOr<std::unique_ptr<CostModel>>
createCostModel(const std::string &name, const Roofline &roofline);

/// Fits `model`, which has this name. kInvalidArgument, which names its
/// plug-in, if it throws an exception.
absl::Status fitTo(const std::vector<TuningRecord> &records,
                   const std::string &name, CostModel &model);

/// What `model`, which has this name, predicts. kInvalidArgument, which names
/// its plug-in, unless that is one finite time that is not negative for each
/// schedule. Thread-safe.
absl::StatusOr<std::vector<double>> predictTimes(const CostModel &model,
                                                 const std::string &name,
                                                 const KernelSpace &space,
                                                 const KernelWork &work);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_COSTMODEL_H
