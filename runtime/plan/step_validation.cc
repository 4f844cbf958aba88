#include "runtime/plan/step_validation.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

class StepValidator {
 public:
  StepValidator(const ExecutablePlan& plan, const ValidValues& values)
      : plan_(plan), values_(values) {}

  absl::StatusOr<std::vector<bool>> Run() {
    AITUNE_RETURN_IF_ERROR(CheckAlternatives());
    AITUNE_RETURN_IF_ERROR(CheckSteps(plan_.initialization(), true));
    AITUNE_RETURN_IF_ERROR(CheckSteps(plan_.steps(), false));
    return std::move(written_);
  }

 private:
  template <typename Steps>
  absl::Status CheckSteps(const Steps& steps, bool initialization) {
    if (initialization) {
      written_.assign(plan_.values_size(), false);
    } else {
      // Only persistent values outlive the initialization.
      for (int i = 0; i < plan_.values_size(); ++i) {
        if (plan_.values(i).persistent() && !written_[i]) {
          return PlanError(
              "value ", i,
              " is persistent, but no initialization step writes it");
        }
        if (!plan_.values(i).persistent()) written_[i] = false;
      }
    }
    for (int i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const std::string where =
          absl::StrCat(initialization ? "initialization step " : "step ", i,
                       " '", step.name(), "'");
      BeginAlternative(step);
      for (int32_t input : step.inputs()) {
        AITUNE_RETURN_IF_ERROR(CheckRead(step, input, initialization, where));
      }
      for (int32_t output : step.outputs()) {
        AITUNE_RETURN_IF_ERROR(CheckWrite(step, output, initialization, where));
      }
      AITUNE_RETURN_IF_ERROR(CheckCall(step, initialization, where));
    }
    EndAlternatives();
    return absl::OkStatus();
  }

  absl::Status CheckIndex(int32_t value, const char* does,
                          const std::string& where) {
    if (value >= 0 && value < plan_.values_size()) return absl::OkStatus();
    return PlanError(where, " ", does, " value ", value, ", but there are ",
                     plan_.values_size(), " values");
  }

  absl::Status CheckRead(const Step& step, int32_t value, bool initialization,
                         const std::string& where) {
    AITUNE_RETURN_IF_ERROR(CheckIndex(value, "reads", where));
    const ValueProto::Storage storage =
        plan_.values(values_.roots[value]).storage();
    if (initialization &&
        (storage != ValueProto::ARENA && storage != ValueProto::CONSTANT)) {
      return PlanError(
          where, " reads value ", value, ", whose storage is ",
          ValueProto::Storage_Name(storage),
          "; at load there are only constants and earlier results");
    }
    if (storage == ValueProto::OPAQUE && !step.has_fallback()) {
      return PlanError(where, " reads value ", value,
                       ", which is opaque: only fallback regions can");
    }
    // On a GPU a convolution's filter may be channels-last.
    const bool reads_packed =
        step.has_kernel() || step.has_cuda_kernel() ||
        (plan_.device() == "cuda" && step.has_convolution() &&
         step.inputs(1) == value);
    if (IsPacked(plan_, values_, value) && !reads_packed) {
      return PlanError(where, " reads value ", value,
                       ", which is packed: only generated kernels can");
    }
    if (!IsReady(plan_, values_, written_, value)) {
      return PlanError(where, " reads value ", value,
                       ", which no earlier step writes");
    }
    return absl::OkStatus();
  }

  // Marks the value as written, which also finds a second write of the step.
  absl::Status CheckWrite(const Step& step, int32_t value, bool initialization,
                          const std::string& where) {
    AITUNE_RETURN_IF_ERROR(CheckIndex(value, "writes", where));
    const int32_t root = values_.roots[value];
    const ValueProto& base = plan_.values(root);
    if (values_.is_part[value]) {
      return PlanError(where, " writes value ", value,
                       ", which is a part of another value");
    }
    if (base.storage() == ValueProto::INPUT ||
        base.storage() == ValueProto::CONSTANT) {
      return PlanError(
          where, " writes value ", value, ", which is ",
          base.storage() == ValueProto::INPUT ? "an input" : "a constant");
    }
    if (initialization && base.storage() != ValueProto::ARENA) {
      return PlanError(where, " writes value ", value, ", whose storage is ",
                       ValueProto::Storage_Name(base.storage()),
                       " instead of ARENA");
    }
    if (!initialization && base.persistent()) {
      return PlanError(where, " writes value ", value,
                       ", which is persistent: only initialization steps may");
    }
    if (base.storage() == ValueProto::OPAQUE && !step.has_fallback()) {
      return PlanError(where, " writes value ", value,
                       ", which is opaque: only fallback regions can");
    }
    if (written_[root]) {
      return PlanError(where, " writes value ", value,
                       ", which is already written");
    }
    written_[root] = true;
    if (!written_by_.empty()) written_by_.back().insert(root);
    return absl::OkStatus();
  }

  // What each alternative writes is written for itself alone, and after the
  // group what all of them write.
  void BeginAlternative(const Step& step) {
    if (step.alternative().group() != group_) EndAlternatives();
    if (!step.has_alternative()) return;
    group_ = step.alternative().group();
    const size_t number = step.alternative().number();
    if (number < written_by_.size()) return;
    for (const std::set<int32_t>& others : written_by_)
      for (int32_t root : others) written_[root] = false;
    written_by_.resize(number + 1);
  }
  void EndAlternatives() {
    if (written_by_.empty()) return;
    for (const std::set<int32_t>& others : written_by_)
      for (int32_t root : others) written_[root] = false;
    for (int32_t root : written_by_[0])
      written_[root] = std::all_of(
          written_by_.begin(), written_by_.end(),
          [&](const std::set<int32_t>& own) { return own.count(root) > 0; });
    written_by_.clear();
    group_ = 0;
  }

  // Each group's steps are neighbours, its numbers count from 0, and the last
  // takes all sizes.
  absl::Status CheckAlternatives() {
    for (const Step& step : plan_.initialization()) {
      if (!step.has_alternative()) continue;
      return PlanError("initialization step '", step.name(),
                       "' is an alternative, but there are no sizes at load");
    }
    int32_t group = 0, number = 0;  // the step before's; group 0: none
    bool takes_all = true;          // the step before
    std::set<int32_t> seen;
    const auto check_end = [&]() -> absl::Status {
      if (takes_all) return absl::OkStatus();
      return PlanError("the last alternative of group ", group,
                       " does not take all sizes");
    };
    for (int i = 0; i < plan_.steps_size(); ++i) {
      const Step& step = plan_.steps(i);
      const AlternativeProto& one = step.alternative();
      const std::string where =
          absl::StrCat("step ", i, " '", step.name(), "'");
      if (!step.has_alternative()) {
        AITUNE_RETURN_IF_ERROR(check_end());
        group = 0;
        takes_all = true;
        continue;
      }
      if (plan_.device() != "cuda" || step.has_fallback()) {
        return PlanError(where,
                         " is an alternative, which only steps of a GPU that "
                         "LibTorch does not run can be");
      }
      const bool is_first = one.group() != group;
      if (is_first) AITUNE_RETURN_IF_ERROR(check_end());
      if (one.group() < 1 || (is_first && !seen.insert(one.group()).second) ||
          one.number() < (is_first ? 0 : number) ||
          one.number() > (is_first ? 0 : number + 1)) {
        return PlanError(where, " is alternative ", one.number(), " of group ",
                         one.group(), ", which is out of order");
      }
      if (!one.most().empty() && one.most_size() != plan_.symbols_size()) {
        return PlanError(where, " is an alternative for ", one.most_size(),
                         " sizes, but the plan has ", plan_.symbols_size());
      }
      group = one.group();
      number = one.number();
      takes_all = one.most().empty();
    }
    return check_end();
  }

  absl::Status CheckChecks(const Step& step, int symbols,
                           const std::string& where) {
    if (!step.checks().empty() && !step.has_kernel() &&
        !step.has_cuda_kernel()) {
      return PlanError(where, " has checks, but launches no kernel");
    }
    for (const CheckProto& check : step.checks()) {
      if (!check.has_size()) continue;
      AITUNE_RETURN_IF_ERROR(InPlan(where + " (check)",
                                    FromProto(check.size(), symbols).status()));
    }
    return absl::OkStatus();
  }

  absl::Status CheckCall(const Step& step, bool initialization,
                         const std::string& where) {
    const int symbols = initialization ? 0 : plan_.symbols_size();
    AITUNE_RETURN_IF_ERROR(
        InPlan(where + " (flops)", FromProto(step.flops(), symbols).status()));
    AITUNE_RETURN_IF_ERROR(CheckChecks(step, symbols, where));
    switch (step.what_case()) {
      case Step::kKernel: {
        const KernelLaunch& kernel = step.kernel();
        if (kernel.symbol().empty()) {
          return PlanError(where, " launches a kernel without a name");
        }
        if (kernel.grain() < 0) {
          return PlanError(where, " has the grain ", kernel.grain());
        }
        const int buffers = step.inputs_size() + step.outputs_size();
        if (kernel.buffers() != buffers ||
            kernel.checks() != step.checks_size()) {
          return PlanError(where, " gives the kernel '", kernel.symbol(), "' ",
                           buffers, " buffers and ", step.checks_size(),
                           " checks, but it was generated for ",
                           kernel.buffers(), " and ", kernel.checks());
        }
        return InPlan(where + " (grid)",
                      FromProto(kernel.grid(), symbols).status());
      }
      case Step::kMatmul:
        return CheckLibraryCall(step, 2, where);
      case Step::kConvolution:
        AITUNE_RETURN_IF_ERROR(CheckLibraryCall(step, 3, where));
        return CheckConvolution(step, where);
      case Step::kFallback:
        if (step.fallback().region() < 0) {
          return PlanError(where, " calls fallback region ",
                           step.fallback().region());
        }
        return absl::OkStatus();
      case Step::kCudaKernel:
        return CheckCudaKernel(step.cuda_kernel(), symbols, where);
      case Step::WHAT_NOT_SET:
        return PlanError(where,
                         " does nothing: it is neither a kernel, a library "
                         "call nor a fallback");
    }
    return absl::OkStatus();
  }

  absl::Status CheckCudaKernel(const CudaKernelLaunch& kernel, int symbols,
                               const std::string& where) {
    if (plan_.device() != "cuda") {
      return PlanError(where,
                       " is a kernel in CUDA, but the plan's device is '",
                       plan_.device(), "'");
    }
    if (kernel.symbol().empty()) {
      return PlanError(where, " launches a kernel without a name");
    }
    if (kernel.block_x() < 1 || kernel.block_x() > 1024 ||
        kernel.shared_memory() < 0) {
      return PlanError(where, " has blocks of ", kernel.block_x(),
                       " threads (1 to 1024 are possible) and ",
                       kernel.shared_memory(), " bytes of shared memory");
    }
    if (!kernel.has_grid_x()) return PlanError(where, " has no grid");
    for (const SizeExpressionProto* grid :
         {&kernel.grid_x(), &kernel.grid_y(), &kernel.grid_z()}) {
      AITUNE_RETURN_IF_ERROR(
          InPlan(where + " (grid)", FromProto(*grid, symbols).status()));
    }
    return absl::OkStatus();
  }

  absl::Status CheckLibraryCall(const Step& step, size_t least_rank,
                                const std::string& where) {
    if (step.inputs_size() < 2 || step.outputs_size() != 1) {
      return PlanError(where, " has ", step.inputs_size(), " inputs and ",
                       step.outputs_size(),
                       " outputs; a library call has at least 2 and exactly 1");
    }
    for (int32_t value : {step.inputs(0), step.inputs(1), step.outputs(0)}) {
      if (values_.types[value]->sizes.size() < least_rank) {
        return PlanError(where, ": value ", value, " has rank ",
                         values_.types[value]->sizes.size(), "; at least ",
                         least_rank, " is needed");
      }
    }
    for (const PostOp* post_op : PostOps(step)) {
      if (!PostOp::Kind_IsValid(post_op->kind())) {
        return PlanError(where, " has the unknown post-op ", post_op->kind());
      }
      const bool has_operand = post_op->kind() == PostOp::BIAS ||
                               post_op->kind() == PostOp::ADD ||
                               post_op->kind() == PostOp::MULTIPLY;
      if (has_operand && (post_op->operand() < 2 ||
                          post_op->operand() >= step.inputs_size())) {
        return PlanError(
            where, ": post-op ", PostOp::Kind_Name(post_op->kind()),
            " reads operand ", post_op->operand(), " of the step, which has ",
            step.inputs_size(), " inputs (2 is the first a post-op can read)");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckConvolution(const Step& step, const std::string& where) {
    const ConvolutionCall& call = step.convolution();
    const int axes =
        static_cast<int>(values_.types[step.inputs(0)]->sizes.size()) - 2;
    if (call.stride_size() != axes || call.padding_low_size() != axes ||
        call.padding_high_size() != axes || call.dilation_size() != axes) {
      return PlanError(
          where, ": stride, padding_low, padding_high and dilation ",
          "need one number for each of the ", axes, " spatial axes");
    }
    for (int axis = 0; axis < axes; ++axis) {
      if (call.stride(axis) < 1 || call.dilation(axis) < 1) {
        return PlanError(where, ": stride ", call.stride(axis),
                         " and dilation ", call.dilation(axis),
                         " of spatial axis ", axis, " must be at least 1");
      }
    }
    if (call.groups() < 1) {
      return PlanError(where, " has ", call.groups(), " groups");
    }
    return absl::OkStatus();
  }

  const ExecutablePlan& plan_;
  const ValidValues& values_;
  std::vector<bool> written_;  // whether a step wrote the root
  int32_t group_ = 0;          // the group of alternatives; 0: none
  // The roots that each of the group's alternatives so far writes, by their
  // numbers.
  std::vector<std::set<int32_t>> written_by_;
};

}  // namespace

bool IsPacked(const ExecutablePlan& plan, const ValidValues& values,
              int32_t value) {
  return plan.values(values.roots[value]).packing().kind() !=
         PackingProto::NONE;
}

bool IsReady(const ExecutablePlan& plan, const ValidValues& values,
             const std::vector<bool>& written, int32_t value) {
  const ValueProto& root = plan.values(values.roots[value]);
  return root.storage() == ValueProto::INPUT ||
         root.storage() == ValueProto::CONSTANT || written[values.roots[value]];
}

absl::StatusOr<std::vector<bool>> ValidateSteps(const ExecutablePlan& plan,
                                                const ValidValues& values) {
  return StepValidator(plan, values).Run();
}

}  // namespace aitune
