#include "compiler/tune/CostModel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/support/PluginName.h"

#include "eigen3/Eigen/Cholesky"

namespace aitune {
namespace {

/// The weight of the regularisation relative to one record, for features of
/// unit variance.
constexpr double kRidge = 3.0;
/// The fewest records for a fit; with fewer, the order of the template's list
/// is the better prediction.
constexpr size_t kFewestRecords = 12;
/// The bound of the logarithm of a time's ratio to the roofline's: what is
/// further away is extrapolated, and orders schedules all the same.
constexpr double kMostFactor = 50;

class RooflineCostModel : public CostModel {
public:
  explicit RooflineCostModel(const Roofline &roofline) : roofline(roofline) {}

  void fit(const std::vector<TuningRecord> &records) override {
    std::vector<const TuningRecord *> usable;
    for (const TuningRecord &record : records)
      if (record.microseconds > 0 && !record.features.empty() &&
          record.features.size() == records.front().features.size())
        usable.push_back(&record);
    weights.resize(0);
    if (usable.size() < kFewestRecords)
      return;
    findKernelFeatures(usable);
    const Eigen::Index rows = usable.size(),
                       columns = expand(usable.front()->features).size();
    Eigen::MatrixXd inputs(rows, columns);
    Eigen::VectorXd outputs(rows);
    for (Eigen::Index i = 0; i < rows; ++i) {
      inputs.row(i) = expand(usable[i]->features);
      outputs(i) =
          std::log(usable[i]->microseconds /
                   roofline.microseconds({usable[i]->flops, usable[i]->bytes}));
    }
    means = inputs.colwise().mean();
    intercept = outputs.mean();
    centreByKernel(usable, inputs, outputs);
    scales = (inputs.array().square().colwise().mean()).sqrt().max(1e-6);
    inputs.array().rowwise() /= scales.array();
    Eigen::MatrixXd normal = inputs.transpose() * inputs;
    normal.diagonal().array() += kRidge;
    weights = normal.ldlt().solve(inputs.transpose() * outputs);
    // Records of other programs may hold any numbers.
    if (!weights.allFinite() || !means.allFinite() || !scales.allFinite() ||
        !std::isfinite(intercept))
      weights.resize(0);
  }

  std::vector<double> predict(const KernelSpace &space,
                              const KernelWork &work) const override {
    std::vector<double> times;
    for (size_t i = 0; i < space.schedules.size(); ++i) {
      const std::vector<double> &features = space.schedules[i].features;
      const double bound = roofline.microseconds(
          {work.flops *
               (weights.size() > 0 ? 1 : space.schedules[i].operations),
           work.bytes});
      if (weights.size() == 0 || expand(features).size() != weights.size()) {
        times.push_back(bound * (1.0 + 0.01 * double(i)));
        continue;
      }
      const Eigen::RowVectorXd input =
          ((expand(features) - means).array() / scales.array()).matrix();
      const double factor = intercept + input.dot(weights);
      times.push_back(bound *
                      std::exp(std::clamp(factor, -kMostFactor, kMostFactor)));
    }
    return times;
  }

private:
  /// Sets `isOfKernel` of the features that no two schedules of one kernel
  /// differ in: its sizes.
  void findKernelFeatures(const std::vector<const TuningRecord *> &records) {
    isOfKernel.assign(records.front()->features.size(), true);
    std::map<std::string, const TuningRecord *> first;
    for (const TuningRecord *record : records) {
      const TuningRecord *other =
          first.try_emplace(record->kernel, record).first->second;
      for (size_t i = 0; i < isOfKernel.size(); ++i)
        if (record->features[i] != other->features[i])
          isOfKernel[i] = false;
    }
  }

  /// The features, their squares, and the products of each feature of the
  /// schedule with each size of the kernel. Empty for features of another
  /// number than those of fit.
  Eigen::RowVectorXd expand(const std::vector<double> &features) const {
    if (features.size() != isOfKernel.size())
      return {};
    std::vector<double> row;
    for (size_t i = 0; i < features.size(); ++i) {
      row.push_back(features[i]);
      row.push_back(features[i] * features[i]);
      for (size_t size = 0; size < features.size(); ++size)
        if (!isOfKernel[i] && isOfKernel[size])
          row.push_back(features[i] * features[size]);
    }
    return Eigen::Map<Eigen::RowVectorXd>(row.data(), row.size());
  }

  /// Subtracts the mean of its kernel from each record, so that only
  /// differences between schedules of one kernel remain, which the search asks
  /// for.
  static void centreByKernel(const std::vector<const TuningRecord *> &records,
                             Eigen::MatrixXd &inputs,
                             Eigen::VectorXd &outputs) {
    std::map<std::string, std::vector<Eigen::Index>> kernels;
    for (size_t i = 0; i < records.size(); ++i)
      kernels[records[i]->kernel].push_back(i);
    for (const auto &[kernel, rows] : kernels) {
      const Eigen::RowVectorXd input =
          inputs(rows, Eigen::all).colwise().mean();
      const double output = outputs(rows).mean();
      for (Eigen::Index row : rows) {
        inputs.row(row) -= input;
        outputs(row) -= output;
      }
    }
  }

  const Roofline roofline;
  std::vector<bool> isOfKernel; ///< whether a feature is the kernel's own
  Eigen::VectorXd weights;      ///< empty until there are records enough
  Eigen::RowVectorXd means, scales;
  double intercept = 0;
};

struct Registered {
  CostModelFactory factory;
  std::string plugin; ///< ofPlugin
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Registered> factories = {
      {"roofline", {createRooflineCostModel, ""}}};
};

Registry &registry() {
  static Registry instance;
  return instance;
}

} // namespace

bool registerCostModel(const std::string &name, CostModelFactory factory) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return registry()
      .factories.emplace(name, Registered{std::move(factory), ofPlugin()})
      .second;
}

absl::StatusOr<std::unique_ptr<CostModel>>
createCostModel(const std::string &name, const Roofline &roofline) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto &factories = registry().factories;
  if (auto found = factories.find(name); found != factories.end()) {
    const Registered &one = found->second;
    std::unique_ptr<CostModel> model;
    const std::string thrown = whatIsThrown(
        [&] { model = one.factory ? one.factory(roofline) : nullptr; });
    if (!model)
      return absl::InvalidArgumentError(absl::StrCat(
          "the cost model '", name, "'", one.plugin, ": its factory gave none",
          thrown.empty() ? "" : ": ", thrown));
    return model;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no cost model '", name, "'; there are: ",
      absl::StrJoin(factories, ", ", [](std::string *out, const auto &entry) {
        absl::StrAppend(out, entry.first);
      })));
}

/// The error of the model of this name.
static absl::Status refuseModel(const std::string &name,
                                const std::string &what) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().factories.find(name);
  return absl::InvalidArgumentError(absl::StrCat(
      "the cost model '", name, "'",
      found == registry().factories.end() ? "" : found->second.plugin, what));
}

absl::Status fitTo(const std::vector<TuningRecord> &records,
                   const std::string &name, CostModel &model) {
  const std::string thrown = whatIsThrown([&] { model.fit(records); });
  return thrown.empty() ? absl::OkStatus()
                        : refuseModel(name, " can't be fitted: " + thrown);
}

absl::StatusOr<std::vector<double>> predictTimes(const CostModel &model,
                                                 const std::string &name,
                                                 const KernelSpace &space,
                                                 const KernelWork &work) {
  std::vector<double> times;
  const std::string thrown =
      whatIsThrown([&] { times = model.predict(space, work); });
  if (!thrown.empty())
    return refuseModel(name, " predicts nothing: " + thrown);
  auto refuse = [&](const std::string &what) {
    return refuseModel(name,
                       absl::StrCat(" predicts ", what, " for a ", space.form));
  };
  if (times.size() != space.schedules.size())
    return refuse(absl::StrCat(times.size(), " times of ",
                               space.schedules.size(), " schedules"));
  for (double time : times)
    if (!std::isfinite(time) || time < 0)
      return refuse(absl::StrCat("a time of ", time, " us"));
  return times;
}

double Roofline::microseconds(const KernelWork &work) const {
  return std::max({work.flops / flopsPerMicrosecond,
                   work.bytes / bytesPerMicrosecond, 0.1});
}

std::unique_ptr<CostModel> createRooflineCostModel(const Roofline &roofline) {
  return std::make_unique<RooflineCostModel>(roofline);
}

} // namespace aitune
