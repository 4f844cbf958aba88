#include "compiler/tune/CostModel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "eigen3/Eigen/Cholesky"

namespace aitune {
namespace {

/// The weight of the regularisation relative to one record, for features of
/// unit variance.
constexpr double kRidge = 3.0;
/// The number of a schedule's first features that are taken as the kernel's
/// sizes. It is the number that matmuls and convolutions have (Schedule.cpp);
/// loops have four and attention has one.
constexpr size_t kShapeFeatures = 3;
/// The fewest records for a fit; with fewer, the order of the template's list
/// is the better prediction.
constexpr size_t kFewestRecords = 12;

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
      times.push_back(bound * std::exp(intercept + input.dot(weights)));
    }
    return times;
  }

private:
  /// The features, their squares, and the products of each feature of the
  /// schedule with each size of the kernel.
  static Eigen::RowVectorXd expand(const std::vector<double> &features) {
    const size_t own =
        features.size() > kShapeFeatures ? features.size() - kShapeFeatures : 0;
    Eigen::RowVectorXd row(features.size() * 2 + own * kShapeFeatures);
    Eigen::Index next = 0;
    for (double feature : features) {
      row(next++) = feature;
      row(next++) = feature * feature;
    }
    for (size_t i = kShapeFeatures; i < features.size(); ++i)
      for (size_t shape = 0; shape < kShapeFeatures; ++shape)
        row(next++) = features[i] * features[shape];
    return row;
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
  Eigen::VectorXd weights; ///< empty until there are records enough
  Eigen::RowVectorXd means, scales;
  double intercept = 0;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, CostModelFactory> factories = {
      {"roofline", createRooflineCostModel}};
};

Registry &registry() {
  static Registry instance;
  return instance;
}

} // namespace

bool registerCostModel(const std::string &name, CostModelFactory factory) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return registry().factories.emplace(name, std::move(factory)).second;
}

absl::StatusOr<std::unique_ptr<CostModel>>
createCostModel(const std::string &name, const Roofline &roofline) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto &factories = registry().factories;
  if (auto found = factories.find(name); found != factories.end())
    return found->second(roofline);
  return absl::InvalidArgumentError(absl::StrCat(
      "no cost model '", name, "'; there are: ",
      absl::StrJoin(factories, ", ", [](std::string *out, const auto &entry) {
        absl::StrAppend(out, entry.first);
      })));
}

double Roofline::microseconds(const KernelWork &work) const {
  return std::max({work.flops / flopsPerMicrosecond,
                   work.bytes / bytesPerMicrosecond, 0.1});
}

std::unique_ptr<CostModel> createRooflineCostModel(const Roofline &roofline) {
  return std::make_unique<RooflineCostModel>(roofline);
}

} // namespace aitune
