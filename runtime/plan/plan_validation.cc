#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

class PlanValidator {
 public:
  explicit PlanValidator(const ExecutablePlan& plan) : plan_(plan) {}

  absl::Status Run() {
    AITUNE_RETURN_IF_ERROR(CheckInterface());
    AITUNE_RETURN_IF_ERROR(CheckValues());
    AITUNE_RETURN_IF_ERROR(CheckAliases());
    AITUNE_RETURN_IF_ERROR(CheckSteps(plan_.initialization(), true));
    AITUNE_RETURN_IF_ERROR(CheckSteps(plan_.steps(), false));
    return CheckOutputs();
  }

 private:
  template <typename... Parts>
  static absl::Status Error(const Parts&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("plan: ", parts...));
  }

  static absl::Status In(const std::string& where, const absl::Status& status) {
    return status.ok() ? status : Error(where, ": ", status.message());
  }

  int symbol_count() const { return plan_.symbols_size(); }

  absl::Status CheckInterface() {
    for (int i = 0; i < plan_.inputs_size(); ++i) {
      absl::StatusOr<PlanTensorType> type =
          FromProto(plan_.inputs(i), symbol_count());
      if (!type.ok()) return In(absl::StrCat("input ", i), type.status());
      inputs_.push_back(*std::move(type));
    }
    for (int i = 0; i < plan_.outputs_size(); ++i) {
      const TensorTypeProto& output = plan_.outputs(i);
      outputs_.emplace_back();
      if (output.dtype() == 0) {
        if (output.sizes_size() == 0) continue;
        return Error("output ", i, " is opaque (dtype 0) but has sizes");
      }
      absl::StatusOr<PlanTensorType> type = FromProto(output, symbol_count());
      if (!type.ok()) return In(absl::StrCat("output ", i), type.status());
      outputs_.back() = *std::move(type);
    }
    for (int i = 0; i < plan_.constraints_size(); ++i) {
      AITUNE_RETURN_IF_ERROR(
          In(absl::StrCat("constraint ", i),
             FromProto(plan_.constraints(i), symbol_count()).status()));
    }
    for (int i = 0; i < symbol_count(); ++i) {
      const SymbolProto& symbol = plan_.symbols(i);
      const std::string where = absl::StrCat("symbol ", i, " (s", i, ")");
      if (symbol.min() < 0 || symbol.max() < symbol.min()) {
        return Error(where, " has the range ", symbol.min(), "..",
                     symbol.max());
      }
      if (symbol.input() < 0 || symbol.input() >= plan_.inputs_size()) {
        return Error(where, " is read from input ", symbol.input(),
                     ", but there are ", plan_.inputs_size(), " inputs");
      }
      const PlanTensorType& input = inputs_[symbol.input()];
      if (symbol.axis() < 0 ||
          symbol.axis() >= static_cast<int64_t>(input.sizes.size())) {
        return Error(where, " is read from axis ", symbol.axis(), " of input ",
                     symbol.input(), ", whose rank is ", input.sizes.size());
      }
      if (input.sizes[symbol.axis()] != SizeExpression::Symbol(i)) {
        return Error(where, " is read from axis ", symbol.axis(), " of input ",
                     symbol.input(), ", whose size is ",
                     input.sizes[symbol.axis()].ToString());
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckValues() {
    output_writers_.assign(plan_.outputs_size(), -1);
    for (int i = 0; i < plan_.values_size(); ++i) {
      const ValueProto& value = plan_.values(i);
      const std::string where = absl::StrCat("value ", i);
      types_.emplace_back();
      if (!ValueProto::Storage_IsValid(value.storage())) {
        return Error(where, " has the unknown storage ", value.storage());
      }
      if (value.persistent() && value.storage() != ValueProto::ARENA) {
        return Error(where, " is persistent, but its storage is ",
                     ValueProto::Storage_Name(value.storage()),
                     " instead of ARENA");
      }
      if (value.packing().kind() != PackingProto::NONE &&
          value.storage() != ValueProto::CONSTANT) {
        return Error(where, " has a packing, but is no constant");
      }
      if (value.storage() == ValueProto::OPAQUE) continue;
      absl::StatusOr<PlanTensorType> type =
          FromProto(value.type(), symbol_count());
      if (!type.ok()) return In(where, type.status());
      types_[i] = *std::move(type);
      AITUNE_RETURN_IF_ERROR(CheckStorage(i, where));
    }
    return absl::OkStatus();
  }

  absl::Status CheckStorage(int i, const std::string& where) {
    const ValueProto& value = plan_.values(i);
    switch (value.storage()) {
      case ValueProto::INPUT:
        if (value.index() < 0 || value.index() >= plan_.inputs_size()) {
          return Error(where, " is input ", value.index(), ", but there are ",
                       plan_.inputs_size(), " inputs");
        }
        return CheckSameType(where, "input", value.index(), *types_[i],
                             inputs_[value.index()]);
      case ValueProto::OUTPUT:
        if (value.index() < 0 || value.index() >= plan_.outputs_size()) {
          return Error(where, " is output ", value.index(), ", but there are ",
                       plan_.outputs_size(), " outputs");
        }
        if (!outputs_[value.index()]) {
          return Error(where, " is the tensor of output ", value.index(),
                       ", which is opaque");
        }
        if (output_writers_[value.index()] >= 0) {
          return Error(where, " and value ", output_writers_[value.index()],
                       " are both output ", value.index());
        }
        output_writers_[value.index()] = i;
        return CheckSameType(where, "output", value.index(), *types_[i],
                             *outputs_[value.index()]);
      case ValueProto::CONSTANT:
        if (value.index() < 0) {
          return Error(where, " is constant ", value.index());
        }
        if (!IsStatic(*types_[i])) {
          return Error(where, " is a constant with a dynamic size");
        }
        if (!PackingProto::Kind_IsValid(value.packing().kind())) {
          return Error(where, " has the unknown packing ",
                       value.packing().kind());
        }
        return absl::OkStatus();
      case ValueProto::ARENA:
        if (value.persistent() && !IsStatic(*types_[i])) {
          return Error(where, " is persistent, but has a dynamic size");
        }
        return absl::OkStatus();
      case ValueProto::ALIAS:
        if (value.index() < 0 || value.index() >= plan_.values_size()) {
          return Error(where, " is an alias of value ", value.index(),
                       ", but there are ", plan_.values_size(), " values");
        }
        return absl::OkStatus();
      default:
        return absl::OkStatus();
    }
  }

  absl::Status CheckAliases() {
    // Follows each chain once: a value is done when its root is known.
    constexpr int32_t kUnknown = -1, kOnThisChain = -2;
    roots_.assign(plan_.values_size(), kUnknown);
    std::vector<int32_t> chain;
    for (int i = 0; i < plan_.values_size(); ++i) {
      chain.clear();
      int32_t at = i;
      while (roots_[at] == kUnknown &&
             plan_.values(at).storage() == ValueProto::ALIAS) {
        roots_[at] = kOnThisChain;
        chain.push_back(at);
        at = plan_.values(at).index();
      }
      if (roots_[at] == kOnThisChain) {
        return Error("value ", at, " is an alias of itself");
      }
      if (roots_[at] == kUnknown) roots_[at] = at;
      const int32_t root = roots_[at];
      const ValueProto& base = plan_.values(root);
      for (int32_t value : chain) {
        roots_[value] = root;
        if (base.storage() == ValueProto::OPAQUE) {
          return Error("value ", value, " is an alias of value ", root,
                       ", which is opaque");
        }
        if (base.packing().kind() != PackingProto::NONE) {
          return Error("value ", value, " is an alias of value ", root,
                       ", which is a packed constant");
        }
      }
    }
    return absl::OkStatus();
  }

  template <typename Steps>
  absl::Status CheckSteps(const Steps& steps, bool initialization) {
    if (initialization) {
      written_.assign(plan_.values_size(), false);
    } else {
      // Only persistent values outlive the initialization.
      for (int i = 0; i < plan_.values_size(); ++i) {
        if (plan_.values(i).persistent() && !written_[i]) {
          return Error("value ", i,
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
      for (int32_t input : step.inputs()) {
        AITUNE_RETURN_IF_ERROR(CheckRead(step, input, initialization, where));
      }
      for (int32_t output : step.outputs()) {
        AITUNE_RETURN_IF_ERROR(CheckWrite(step, output, initialization, where));
      }
      AITUNE_RETURN_IF_ERROR(CheckCall(step, initialization, where));
    }
    return absl::OkStatus();
  }

  absl::Status CheckIndex(int32_t value, const char* does,
                          const std::string& where) {
    if (value >= 0 && value < plan_.values_size()) return absl::OkStatus();
    return Error(where, " ", does, " value ", value, ", but there are ",
                 plan_.values_size(), " values");
  }

  bool IsPacked(int32_t value) const {
    return plan_.values(roots_[value]).packing().kind() != PackingProto::NONE;
  }

  bool IsReady(int32_t value) const {
    const ValueProto& root = plan_.values(roots_[value]);
    return root.storage() == ValueProto::INPUT ||
           root.storage() == ValueProto::CONSTANT || written_[roots_[value]];
  }

  absl::Status CheckRead(const Step& step, int32_t value, bool initialization,
                         const std::string& where) {
    AITUNE_RETURN_IF_ERROR(CheckIndex(value, "reads", where));
    const ValueProto::Storage storage = plan_.values(roots_[value]).storage();
    if (initialization &&
        (storage != ValueProto::ARENA && storage != ValueProto::CONSTANT)) {
      return Error(where, " reads value ", value, ", whose storage is ",
                   ValueProto::Storage_Name(storage),
                   "; at load there are only constants and earlier results");
    }
    if (storage == ValueProto::OPAQUE && !step.has_fallback()) {
      return Error(where, " reads value ", value,
                   ", which is opaque: only fallback regions can");
    }
    // On a GPU a convolution's filter may be channels-last.
    const bool reads_packed =
        step.has_kernel() || step.has_cuda_kernel() ||
        (plan_.device() == "cuda" && step.has_convolution() &&
         step.inputs(1) == value);
    if (IsPacked(value) && !reads_packed) {
      return Error(where, " reads value ", value,
                   ", which is packed: only generated kernels can");
    }
    if (!IsReady(value)) {
      return Error(where, " reads value ", value,
                   ", which no earlier step writes");
    }
    return absl::OkStatus();
  }

  // Marks the value as written, which also finds a second write of the step.
  absl::Status CheckWrite(const Step& step, int32_t value, bool initialization,
                          const std::string& where) {
    AITUNE_RETURN_IF_ERROR(CheckIndex(value, "writes", where));
    const int32_t root = roots_[value];
    const ValueProto& base = plan_.values(root);
    if (base.storage() == ValueProto::INPUT ||
        base.storage() == ValueProto::CONSTANT) {
      return Error(
          where, " writes value ", value, ", which is ",
          base.storage() == ValueProto::INPUT ? "an input" : "a constant");
    }
    if (initialization && base.storage() != ValueProto::ARENA) {
      return Error(where, " writes value ", value, ", whose storage is ",
                   ValueProto::Storage_Name(base.storage()),
                   " instead of ARENA");
    }
    if (!initialization && base.persistent()) {
      return Error(where, " writes value ", value,
                   ", which is persistent: only initialization steps may");
    }
    if (base.storage() == ValueProto::OPAQUE && !step.has_fallback()) {
      return Error(where, " writes value ", value,
                   ", which is opaque: only fallback regions can");
    }
    if (written_[root]) {
      return Error(where, " writes value ", value,
                   ", which is already written");
    }
    written_[root] = true;
    return absl::OkStatus();
  }

  absl::Status CheckChecks(const Step& step, int symbols,
                           const std::string& where) {
    if (!step.checks().empty() && !step.has_kernel() &&
        !step.has_cuda_kernel()) {
      return Error(where, " has checks, but launches no kernel");
    }
    for (const CheckProto& check : step.checks()) {
      if (!check.has_size()) continue;
      AITUNE_RETURN_IF_ERROR(
          In(where + " (check)", FromProto(check.size(), symbols).status()));
    }
    return absl::OkStatus();
  }

  absl::Status CheckCall(const Step& step, bool initialization,
                         const std::string& where) {
    const int symbols = initialization ? 0 : symbol_count();
    AITUNE_RETURN_IF_ERROR(
        In(where + " (flops)", FromProto(step.flops(), symbols).status()));
    AITUNE_RETURN_IF_ERROR(CheckChecks(step, symbols, where));
    switch (step.what_case()) {
      case Step::kKernel: {
        const KernelLaunch& kernel = step.kernel();
        if (kernel.symbol().empty()) {
          return Error(where, " launches a kernel without a name");
        }
        if (kernel.grain() < 0) {
          return Error(where, " has the grain ", kernel.grain());
        }
        return In(where + " (grid)",
                  FromProto(kernel.grid(), symbols).status());
      }
      case Step::kMatmul:
        return CheckLibraryCall(step, 2, where);
      case Step::kConvolution:
        AITUNE_RETURN_IF_ERROR(CheckLibraryCall(step, 3, where));
        return CheckConvolution(step, where);
      case Step::kFallback:
        if (step.fallback().region() < 0) {
          return Error(where, " calls fallback region ",
                       step.fallback().region());
        }
        return absl::OkStatus();
      case Step::kCudaKernel:
        return CheckCudaKernel(step.cuda_kernel(), symbols, where);
      case Step::WHAT_NOT_SET:
        return Error(where,
                     " does nothing: it is neither a kernel, a library "
                     "call nor a fallback");
    }
    return absl::OkStatus();
  }

  absl::Status CheckCudaKernel(const CudaKernelLaunch& kernel, int symbols,
                               const std::string& where) {
    if (plan_.device() != "cuda") {
      return Error(where, " is a kernel in CUDA, but the plan's device is '",
                   plan_.device(), "'");
    }
    if (kernel.symbol().empty()) {
      return Error(where, " launches a kernel without a name");
    }
    if (kernel.block_x() < 1 || kernel.block_x() > 1024 ||
        kernel.shared_memory() < 0) {
      return Error(where, " has blocks of ", kernel.block_x(),
                   " threads (1 to 1024 are possible) and ",
                   kernel.shared_memory(), " bytes of shared memory");
    }
    if (!kernel.has_grid_x()) return Error(where, " has no grid");
    for (const SizeExpressionProto* grid :
         {&kernel.grid_x(), &kernel.grid_y(), &kernel.grid_z()}) {
      AITUNE_RETURN_IF_ERROR(
          In(where + " (grid)", FromProto(*grid, symbols).status()));
    }
    return absl::OkStatus();
  }

  absl::Status CheckLibraryCall(const Step& step, size_t least_rank,
                                const std::string& where) {
    if (step.inputs_size() < 2 || step.outputs_size() != 1) {
      return Error(where, " has ", step.inputs_size(), " inputs and ",
                   step.outputs_size(),
                   " outputs; a library call has at least 2 and exactly 1");
    }
    for (int32_t value : {step.inputs(0), step.inputs(1), step.outputs(0)}) {
      if (types_[value]->sizes.size() < least_rank) {
        return Error(where, ": value ", value, " has rank ",
                     types_[value]->sizes.size(), "; at least ", least_rank,
                     " is needed");
      }
    }
    for (const PostOp* post_op : PostOps(step)) {
      if (!PostOp::Kind_IsValid(post_op->kind())) {
        return Error(where, " has the unknown post-op ", post_op->kind());
      }
      const bool has_operand = post_op->kind() == PostOp::BIAS ||
                               post_op->kind() == PostOp::ADD ||
                               post_op->kind() == PostOp::MULTIPLY;
      if (has_operand && (post_op->operand() < 2 ||
                          post_op->operand() >= step.inputs_size())) {
        return Error(where, ": post-op ", PostOp::Kind_Name(post_op->kind()),
                     " reads operand ", post_op->operand(),
                     " of the step, which has ", step.inputs_size(),
                     " inputs (2 is the first a post-op can read)");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckConvolution(const Step& step, const std::string& where) {
    const ConvolutionCall& call = step.convolution();
    const int axes = static_cast<int>(types_[step.inputs(0)]->sizes.size()) - 2;
    const bool output_padding_fits =
        call.output_padding_size() == axes || call.output_padding_size() == 0;
    if (call.stride_size() != axes || call.padding_low_size() != axes ||
        call.padding_high_size() != axes || call.dilation_size() != axes ||
        !output_padding_fits) {
      return Error(where, ": stride, padding_low, padding_high and dilation ",
                   "need one number for each of the ", axes, " spatial axes");
    }
    for (int axis = 0; axis < axes; ++axis) {
      if (call.stride(axis) < 1 || call.dilation(axis) < 1) {
        return Error(where, ": stride ", call.stride(axis), " and dilation ",
                     call.dilation(axis), " of spatial axis ", axis,
                     " must be at least 1");
      }
    }
    if (call.groups() < 1) {
      return Error(where, " has ", call.groups(), " groups");
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputs() {
    const bool listed = plan_.output_values_size() > 0;
    if (listed && plan_.output_values_size() != plan_.outputs_size()) {
      return Error(plan_.output_values_size(), " output values are given for ",
                   plan_.outputs_size(), " outputs");
    }
    for (int i = 0; i < plan_.outputs_size(); ++i) {
      const int32_t value =
          listed ? plan_.output_values(i) : output_writers_[i];
      if (value < 0 || value >= plan_.values_size()) {
        return Error("output ", i, " is no value of the plan");
      }
      if (listed && output_writers_[i] >= 0 && output_writers_[i] != value) {
        return Error("output ", i, " is value ", value, ", but value ",
                     output_writers_[i], " is stored there");
      }
      const bool opaque =
          plan_.values(roots_[value]).storage() == ValueProto::OPAQUE;
      if (opaque != !outputs_[i].has_value()) {
        return Error("output ", i, outputs_[i] ? " is a tensor" : " is opaque",
                     ", but its value ", value,
                     opaque ? " is opaque" : " is not");
      }
      if (IsPacked(value)) {
        return Error("output ", i, " is value ", value,
                     ", which is packed for a kernel");
      }
      if (!IsReady(value)) {
        return Error("output ", i, " is value ", value,
                     ", which no step writes");
      }
      if (!opaque) {
        AITUNE_RETURN_IF_ERROR(CheckSameType(absl::StrCat("value ", value),
                                             "output", i, *types_[value],
                                             *outputs_[i]));
      }
    }
    return absl::OkStatus();
  }

  static bool IsStatic(const PlanTensorType& type) {
    for (const SizeExpression& size : type.sizes) {
      if (!size.constant()) return false;
    }
    return true;
  }

  // Dtype and rank; dynamic sizes are compared when they are known.
  static absl::Status CheckSameType(const std::string& where, const char* what,
                                    int index, const PlanTensorType& value,
                                    const PlanTensorType& expected) {
    if (value.dtype != expected.dtype ||
        value.sizes.size() != expected.sizes.size()) {
      return Error(where, " is ", std::string(Name(value.dtype)), " of rank ",
                   value.sizes.size(), ", but ", what, " ", index, " is ",
                   std::string(Name(expected.dtype)), " of rank ",
                   expected.sizes.size());
    }
    return absl::OkStatus();
  }

  const ExecutablePlan& plan_;
  std::vector<PlanTensorType> inputs_;
  std::vector<std::optional<PlanTensorType>> outputs_;  // none: opaque
  std::vector<std::optional<PlanTensorType>> types_;    // none: opaque
  std::vector<int32_t> output_writers_;  // the OUTPUT value of each output
  std::vector<int32_t> roots_;
  std::vector<bool> written_;  // by root
};

}  // namespace

absl::Status ValidatePlan(const ExecutablePlan& plan) {
  return PlanValidator(plan).Run();
}

}  // namespace aitune
