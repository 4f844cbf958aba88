// What a schedule will take, before it is measured.
//
// A roofline gives the time that no schedule can beat; how far above it one
// ends is learned from the tuning database, by ridge regression (Hoerl and
// Kennard, 1970) of the logarithm of that factor on the schedule's features,
// their squares and their products with the kernel's sizes, within kernels: the
// differences between kernels are not what a search asks for. With few records
// the regularisation leaves hardly more than the average, and the order of the
// template's own list decides.
#ifndef AITUNE_COMPILER_TUNE_COSTMODEL_H
#define AITUNE_COMPILER_TUNE_COSTMODEL_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/schedule/Schedule.h"
#include "compiler/tune/TuningDatabase.h"

namespace aitune {

/// What a kernel does, for the roofline.
struct KernelWork {
  double flops = 0, bytes = 0;
};

/// The rates of the machine, from the fastest kernels it has run.
struct Roofline {
  double flopsPerMicrosecond = 1e5, bytesPerMicrosecond = 2e4;
  double microseconds(const KernelWork &work) const;
};

class CostModel {
public:
  virtual ~CostModel() = default;
  /// Learns from records of one template; called before predict, again when
  /// there are more.
  virtual void fit(const std::vector<TuningRecord> &records) = 0;
  /// Microseconds for each schedule; only their order matters to the search.
  virtual std::vector<double> predict(const KernelSpace &space,
                                      const KernelWork &work) const = 0;
};

/// The model described above.
std::unique_ptr<CostModel> createRooflineCostModel(const Roofline &roofline);

using CostModelFactory =
    std::function<std::unique_ptr<CostModel>(const Roofline &)>;

/// Makes a model known by `name`; false if there is one already. Thread-safe.
bool registerCostModel(const std::string &name, CostModelFactory factory);

/// "roofline" or a registered one; kInvalidArgument lists the names that there
/// are. Thread-safe.
absl::StatusOr<std::unique_ptr<CostModel>>
createCostModel(const std::string &name, const Roofline &roofline);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_COSTMODEL_H
