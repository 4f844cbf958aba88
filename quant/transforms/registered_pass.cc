#include "quant/transforms/registered_pass.h"

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "quant/transforms/quantize_layers.h"

namespace aitune::quant {
namespace {

// The number of the first new constant.
constexpr int64_t kFirstNew = 1000;

// A weight between -1 and 1, of which no two rows are alike.
ConstantTensor MakeUp(mlir::RankedTensorType type) {
  auto values = std::make_shared<std::vector<float>>(type.getNumElements());
  for (size_t i = 0; i < values->size(); ++i)
    (*values)[i] = static_cast<float>(std::sin(0.7 * (i + 1)));
  ConstantTensor constant;
  constant.view = {values->data(), DataType::kFloat32, type.getShape()};
  constant.owner = values;
  return constant;
}

void Tell(const QuantizedLayer& layer) {
  llvm::errs() << layer.layer << " " << layer.k << "x" << layer.n << ": "
               << (layer.refusal.empty() ? layer.scheme : layer.refusal)
               << "\n";
}

// Runs the pass with the weights of one function.
class RegisteredPass
    : public mlir::PassWrapper<RegisteredPass,
                               mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RegisteredPass)

  RegisteredPass() = default;
  // MLIR runs copies of a pass that was initialised.
  RegisteredPass(const RegisteredPass& other)
      : PassWrapper(other), options_(other.options_) {}

  llvm::StringRef getArgument() const override { return "ait-quantize-layers"; }
  llvm::StringRef getDescription() const override {
    return "quantises linear layers, with made-up weights";
  }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<mlir::ait::AitDialect>();
  }

  mlir::LogicalResult initialize(mlir::MLIRContext* context) override {
    auto asked = ParseQuantizationOptions(quantization_.getValue());
    const absl::Status status =
        asked.ok() ? CheckSupported(*asked, Gpu()) : asked.status();
    if (!status.ok())
      return mlir::emitError(mlir::UnknownLoc::get(context),
                             std::string(status.message()));
    options_ = *std::move(asked);
    return mlir::success();
  }

  void runOnOperation() override {
    std::map<int64_t, ConstantTensor> weights;
    getOperation().walk([&](mlir::ait::ConstantOp op) {
      if (op.getType().hasStaticShape())
        weights.try_emplace(op.getIndex(), MakeUp(op.getType()));
    });
    int64_t next = kFirstNew;
    QuantizationContext context;
    context.gpu = Gpu();
    context.told = Tell;
    ConstantPool& pool = context.pool;
    pool.find = [&weights](int64_t number) -> const ConstantTensor* {
      const auto found = weights.find(number);
      return found == weights.end() ? nullptr : &found->second;
    };
    pool.add = [&next](const ConstantTensor&) { return next++; };
    mlir::OpPassManager passes(mlir::func::FuncOp::getOperationName());
    passes.addPass(CreateQuantizeLayers(options_, std::move(context)));
    if (mlir::failed(runPipeline(passes, getOperation()))) signalPassFailure();
  }

 private:
  std::optional<ComputeCapability> Gpu() const {
    if (!cuda_) return std::nullopt;
    return ComputeCapability{9, 0};
  }

  Option<std::string> quantization_{
      *this, "quantization",
      llvm::cl::desc("what to do, as quant/options.h reads it"),
      llvm::cl::init("int8wo")};
  Option<bool> cuda_{
      *this, "cuda",
      llvm::cl::desc("for a GPU of compute capability 9.0, not a CPU"),
      llvm::cl::init(false)};
  QuantizationOptions options_;
};

}  // namespace

void RegisterQuantizeLayers() { mlir::PassRegistration<RegisteredPass>(); }

}  // namespace aitune::quant
