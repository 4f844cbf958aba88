#include "quant/transforms/quantize_layers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/ElementTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "quant/transforms/quantized_weight.h"

namespace aitune::quant {
#define GEN_PASS_DEF_QUANTIZELAYERS
#include "quant/transforms/Passes.h.inc"

namespace {

namespace ait = mlir::ait;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;

// Unsigned codes of activations are the signed ones plus this.
constexpr double kZeroPoint = 128;
// Of quant/schemes/int8.h.
constexpr double kDivisor = 127.5, kSmallestScale = 0x1p-23;

// A time that is at most this share of another is less than that, beyond what
// repeated measurements differ by.
constexpr double kMuchLess = 0.95;

// A matmul with a constant weight.
struct Layer {
  ait::MatmulOp matmul;
  ait::ConstantOp weight;
  std::string path;       // of its module, or what it is known by
  std::string no_linear;  // why it is no torch.nn.Linear; empty if it is
};

// The path of the submodule that an operation was traced in, from its location.
std::string ScopeOf(mlir::Operation* op) {
  std::string scope;
  op->getLoc()->walk([&](mlir::Location location) {
    if (auto name = mlir::dyn_cast<mlir::NameLoc>(location);
        name && scope.empty()) {
      scope = name.getName().getValue().rsplit('/').first.str();
    }
    return mlir::WalkResult::advance();
  });
  return scope;
}

// torch.nn.MultiheadAttention holds its projections of inputs as one parameter,
// or three, and its output's in a class that torchao leaves alone.
bool IsPartOfAttention(const std::string& path,
                       const llvm::StringSet<>& names) {
  if (!absl::EndsWith(path, "out_proj")) return false;
  const std::string owner = path.substr(0, path.size() - 8);
  return names.contains(owner + "in_proj_weight") ||
         names.contains(owner + "q_proj_weight");
}

std::vector<Layer> FindLayers(mlir::func::FuncOp function) {
  llvm::StringSet<> names;
  function.walk([&](ait::ConstantOp op) { names.insert(op.getName()); });
  std::vector<Layer> layers;
  function.walk([&](ait::MatmulOp matmul) {
    auto weight = matmul.getRhs().getDefiningOp<ait::ConstantOp>();
    if (!weight || matmul.getTransposeLhs() ||
        matmul.getRhs().getType().getRank() != 2 ||
        matmul.getType().getElementType() !=
            matmul.getRhs().getType().getElementType()) {
      return;
    }
    const std::string name = weight.getName().str();
    Layer layer{matmul, weight, name, ""};
    const bool is_weight = name == "weight" || absl::EndsWith(name, ".weight");
    if (is_weight)
      layer.path =
          name.substr(0, name.size() - std::min<size_t>(name.size(), 7));
    if (name.empty()) layer.path = ScopeOf(matmul);
    if (!matmul.getTransposeRhs()) {
      layer.no_linear = "its weight is [K, N], that of a Linear is [N, K]";
    } else if (!is_weight && !name.empty()) {
      layer.no_linear = "its weight is no module's parameter 'weight'";
    } else if (IsPartOfAttention(layer.path, names)) {
      layer.no_linear = "it is the output of a MultiheadAttention";
    }
    layers.push_back(std::move(layer));
  });
  return layers;
}

// Codes and scales of the activations that some layers share.
struct QuantizedInput {
  Value codes;  // ui8, the sizes of the input
  Value scale;  // f32, one a row: the input's sizes with the last one 1
};

// Writes operations at one place, with the types that they imply.
class Writer {
 public:
  Writer(mlir::OpBuilder& builder, mlir::Location location)
      : builder_(builder), location_(location) {}

  template <typename Op, typename... Arguments>
  Value Create(Type type, Arguments&&... arguments) {
    return Op::create(builder_, location_, type,
                      std::forward<Arguments>(arguments)...);
  }
  template <typename Op>
  Value Binary(Value lhs, Value rhs) {
    return Create<Op>(lhs.getType(), lhs, rhs);
  }
  template <typename Op>
  Value WithNumber(Value value, double number) {
    return Binary<Op>(value, Full(value, number));
  }
  Value Full(Value like, double number) {
    return Create<ait::FullOp>(like.getType(),
                               builder_.getF32FloatAttr(number));
  }
  Value Convert(Value value, Type element) {
    auto type = mlir::cast<RankedTensorType>(value.getType());
    if (type.getElementType() == element) return value;
    return Create<ait::ConvertOp>(ait::withElementType(type, element), value);
  }
  // `value`, f32 or i32, repeated to the sizes of `like`.
  Value Expand(Value value, Value like) {
    auto type = mlir::cast<RankedTensorType>(value.getType());
    auto target = ait::withElementType(
        mlir::cast<RankedTensorType>(like.getType()), type.getElementType());
    return type == target ? value : Create<ait::ExpandOp>(target, value);
  }

 private:
  mlir::OpBuilder& builder_;
  const mlir::Location location_;
};

// The schemes that there are kernels for, the one that changes least first.
const std::vector<Scheme>& AllSchemes() {
  static const auto* const schemes = new std::vector<Scheme>{
      Scheme::kInt8WeightOnly, Scheme::kFloat8WeightOnly, Scheme::kInt8Dynamic};
  return *schemes;
}

class QuantizeLayersPass : public impl::QuantizeLayersBase<QuantizeLayersPass> {
 public:
  QuantizeLayersPass(QuantizationOptions options, ConstantPool pool,
                     LayerTimer timer, std::function<void(QuantizedLayer)> told)
      : options_(std::move(options)),
        pool_(std::move(pool)),
        timer_(std::move(timer)),
        told_(std::move(told)) {}

  void runOnOperation() override {
    weights_.clear();
    inputs_.clear();
    layers_ = FindLayers(getOperation());
    told_layers_.assign(layers_.size(), {});
    // Positions of the layers that share an input, in the order of the first.
    llvm::MapVector<Value, std::vector<size_t>> groups;
    for (size_t i = 0; i < layers_.size(); ++i) {
      Describe(i);
      if (const std::string refusal = RefuseUnread(layers_[i]);
          !refusal.empty()) {
        told_layers_[i].refusal = refusal;
      } else {
        groups[layers_[i].matmul.getLhs()].push_back(i);
      }
    }
    for (const auto& [input, group] : groups) QuantizeGroup(group);
    for (QuantizedLayer& layer : told_layers_) told_(std::move(layer));
    weights_.clear();  // also the codes that were not taken
  }

 private:
  std::vector<Scheme> Schemes() const {
    return options_.scheme ? std::vector<Scheme>{*options_.scheme}
                           : AllSchemes();
  }

  void Describe(size_t number) {
    const Layer& layer = layers_[number];
    QuantizedLayer& told = told_layers_[number];
    const RankedTensorType type =
        ait::MatmulOp(layer.matmul).getRhs().getType();
    const bool transposed = ait::MatmulOp(layer.matmul).getTransposeRhs();
    told.layer = layer.path;
    told.scheme =
        options_.scheme ? std::string(Name(*options_.scheme)) : "auto";
    told.n = type.getDimSize(transposed ? 0 : 1);
    told.k = type.getDimSize(transposed ? 1 : 0);
  }

  // Why `layer` is left alone whatever its weight; empty if it is not.
  std::string RefuseUnread(const Layer& layer) const {
    if (!layer.no_linear.empty() && !options_.extended_layers)
      return absl::StrCat("filtered: ", layer.no_linear);
    if (const auto refusal = RefuseModule(options_, layer.path, ""))
      return absl::StrCat(std::string(Name(refusal->reason)), ": ",
                          refusal->text);
    return "";
  }

  // A way to quantise the layers of a group.
  struct Choice {
    Scheme scheme;
    std::vector<size_t> taken;  // numbers of layers
    std::optional<LayerTimes> times;
  };

  void QuantizeGroup(const std::vector<size_t>& group) {
    std::optional<Choice> best;
    for (const Scheme scheme : Schemes()) {
      std::optional<Choice> choice = Judge(group, scheme);
      if (choice && (!best || IsBetter(*choice, *best)))
        best = std::move(choice);
    }
    if (!best) return;
    for (const size_t number : best->taken) {
      QuantizedLayer& told = told_layers_[number];
      QuantizedWeight& weight = WeightOf(layers_[number], best->scheme);
      told.refusal.clear();
      told.scheme = std::string(Name(best->scheme));
      told.weightSqnr = weight.sqnr_db;
      SetTimes(best->times, &told);
      Keep(&weight);
      Rewrite(layers_[number], best->scheme, weight);
    }
  }

  // More layers, then less time, as a share of the time without quantisation,
  // which was measured anew for each scheme. The earlier scheme where that is
  // about the same or unknown: it changes less.
  static bool IsBetter(const Choice& choice, const Choice& best) {
    if (choice.taken.size() != best.taken.size())
      return choice.taken.size() > best.taken.size();
    const auto share = [](const LayerTimes& times) {
      return times.quantized_microseconds / times.microseconds;
    };
    return choice.times && best.times &&
           share(*choice.times) < kMuchLess * share(*best.times);
  }

  static void SetTimes(const std::optional<LayerTimes>& times,
                       QuantizedLayer* told) {
    if (!times) return;
    told->microseconds = times->microseconds;
    told->quantizedMicroseconds = times->quantized_microseconds;
  }

  // The layers of `group` that `scheme` may quantise; the others are told why
  // not. Nothing if it may quantise none.
  std::optional<Choice> Judge(const std::vector<size_t>& group, Scheme scheme) {
    Choice choice{scheme, {}, std::nullopt};
    std::vector<ait::MatmulOp> matmuls;
    for (const size_t number : group) {
      const QuantizedWeight& weight = WeightOf(layers_[number], scheme);
      QuantizedLayer& told = told_layers_[number];
      told.refusal = weight.refusal;
      told.weightSqnr = weight.sqnr_db;
      if (!weight.refusal.empty()) continue;
      choice.taken.push_back(number);
      matmuls.push_back(layers_[number].matmul);
    }
    if (matmuls.empty()) return std::nullopt;
    if (timer_ && options_.verdict == Verdict::kOn)
      choice.times = timer_(matmuls, scheme);
    if (!choice.times || choice.times->is_faster) return choice;
    for (const size_t number : choice.taken) {
      QuantizedLayer& told = told_layers_[number];
      SetTimes(choice.times, &told);
      told.refusal =
          absl::StrFormat("slower: %.4g us with %s, %.4g us as it is%s",
                          choice.times->quantized_microseconds,
                          std::string(Name(scheme)), choice.times->microseconds,
                          choice.taken.size() == 1
                              ? ""
                              : absl::StrCat(", for the ", choice.taken.size(),
                                             " layers of its input"));
    }
    return std::nullopt;
  }

  // The codes of the weight of `layer`, or why there are none.
  QuantizedWeight& WeightOf(Layer layer, Scheme scheme) {
    const auto [found, is_new] = weights_.try_emplace(
        {layer.weight.getIndex(), layer.matmul.getTransposeRhs(), scheme});
    if (is_new) {
      const ConstantTensor* constant = pool_.find(layer.weight.getIndex());
      found->second = constant == nullptr
                          ? QuantizedWeight()
                          : QuantizeWeight(scheme, *constant,
                                           layer.matmul.getTransposeRhs(),
                                           options_.verdict == Verdict::kOn);
      if (constant == nullptr) found->second.refusal = "not constant: no data";
    }
    return found->second;
  }

  void Keep(QuantizedWeight* weight) {
    if (weight->codes_number >= 0) return;
    weight->codes_number = pool_.add(weight->codes);
    weight->scales_number = pool_.add(weight->scales);
    if (weight->sums) weight->sums_number = pool_.add(*weight->sums);
  }

  const QuantizedInput& QuantizeInput(Value input, mlir::Location location) {
    const auto [found, is_new] = inputs_.try_emplace(input);
    if (!is_new) return found->second;
    mlir::OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(input);
    Writer w(builder, location);
    const Value x = w.Convert(input, builder.getF32Type());
    auto type = mlir::cast<RankedTensorType>(x.getType());
    auto sizes = ait::getSymbolicSizes(type);
    sizes.back() = builder.getAffineConstantExpr(1);
    const Value greatest =
        w.Create<ait::AmaxOp>(ait::getTensorType(sizes, builder.getF32Type()),
                              w.Create<ait::AbsOp>(type, x),
                              llvm::ArrayRef<int64_t>{type.getRank() - 1});
    const Value scale = w.WithNumber<ait::MaximumOp>(
        w.WithNumber<ait::DivOp>(greatest, kDivisor), kSmallestScale);
    const Value factor =
        w.Expand(w.Binary<ait::DivOp>(w.Full(scale, 1), scale), x);
    const Value rounded =
        w.Create<ait::RoundOp>(type, w.Binary<ait::MulOp>(x, factor));
    const Value limited = w.Create<ait::ClampOp>(
        type, rounded, builder.getF64FloatAttr(-kZeroPoint),
        builder.getF64FloatAttr(kZeroPoint - 1));
    const Value codes =
        w.Convert(w.WithNumber<ait::AddOp>(limited, kZeroPoint),
                  builder.getIntegerType(8, /*isSigned=*/false));
    found->second = {codes, scale};
    return found->second;
  }

  void Rewrite(Layer layer, Scheme scheme, const QuantizedWeight& weight) {
    ait::MatmulOp matmul = layer.matmul;
    mlir::OpBuilder builder(matmul);
    Writer w(builder, matmul.getLoc());
    auto constant = [&](int64_t number, const ConstantTensor& tensor,
                        Type element) {
      return w.Create<ait::ConstantOp>(
          RankedTensorType::get(tensor.view.sizes, element),
          static_cast<uint64_t>(number), tensor.name);
    };
    const Value codes = constant(
        weight.codes_number, weight.codes,
        ait::toElementType(weight.codes.view.dtype, matmul.getContext()));
    const Value scales =
        constant(weight.scales_number, weight.scales, builder.getF32Type());
    const bool dynamic = scheme == Scheme::kInt8Dynamic;
    const RankedTensorType type = matmul.getType();
    Value lhs = matmul.getLhs();
    QuantizedInput input;
    if (dynamic) {
      input = QuantizeInput(lhs, matmul.getLoc());
      lhs = input.codes;
    }
    Value result = w.Create<ait::MatmulOp>(
        ait::withElementType(type, dynamic ? Type(builder.getI32Type())
                                           : Type(builder.getF32Type())),
        lhs, codes, /*transpose_lhs=*/false, /*transpose_rhs=*/true);
    if (dynamic) {
      const Value sums =
          constant(weight.sums_number, *weight.sums, builder.getI32Type());
      result = w.Binary<ait::SubOp>(result, w.Expand(sums, result));
      result = w.Convert(result, builder.getF32Type());
      result = w.Binary<ait::MulOp>(result, w.Expand(input.scale, result));
    }
    result = w.Binary<ait::MulOp>(result, w.Expand(scales, result));
    matmul.replaceAllUsesWith(w.Convert(result, type.getElementType()));
    matmul.erase();
  }

  const QuantizationOptions options_;
  const ConstantPool pool_;
  const LayerTimer timer_;
  const std::function<void(QuantizedLayer)> told_;
  std::vector<Layer> layers_;
  std::vector<QuantizedLayer> told_layers_;  // one a layer
  // By the number of the weight's constant, whether it is [N, K], and scheme.
  std::map<std::tuple<uint64_t, bool, Scheme>, QuantizedWeight> weights_;
  llvm::DenseMap<Value, QuantizedInput> inputs_;
};

}  // namespace

absl::Status CheckSupported(const QuantizationOptions& options, Device device) {
  absl::Status status = Validate(options);
  if (status.ok() && device == Device::kCpu)
    status = CheckDevice(options, std::nullopt);
  if (!status.ok()) return status;
  auto unsupported = [&](const std::string& what, const std::string& instead) {
    return absl::UnimplementedError(
        absl::StrCat("the compiler has no kernels for ", what, " on a ",
                     device == Device::kCpu ? "CPU" : "GPU", "; ", instead));
  };
  if (options.scheme && !absl::c_linear_search(AllSchemes(), *options.scheme))
    return unsupported(std::string(Name(*options.scheme)),
                       "ask for int8wo, int8dq, fp8wo or auto");
  if (options.granularity == Granularity::kPerTensor)
    return unsupported("one scale a tensor",
                       "leave the granularity out, or ask for one a row");
  if (options.arithmetic == Arithmetic::kEager)
    return unsupported("eager arithmetic of quantised layers",
                       "leave it out, or ask for fused arithmetic");
  return absl::OkStatus();
}

std::unique_ptr<mlir::Pass> CreateQuantizeLayers(
    QuantizationOptions options, ConstantPool pool, LayerTimer timer,
    std::function<void(QuantizedLayer)> layer) {
  return std::make_unique<QuantizeLayersPass>(
      std::move(options), std::move(pool), std::move(timer), std::move(layer));
}

}  // namespace aitune::quant
