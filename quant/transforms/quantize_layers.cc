#include "quant/transforms/quantize_layers.h"

#include <algorithm>
#include <cmath>
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
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "quant/transforms/layer_error.h"
#include "quant/transforms/layer_writer.h"
#include "quant/transforms/quantized_weight.h"

namespace aitune::quant {
#define GEN_PASS_DEF_QUANTIZELAYERS
#include "quant/transforms/Passes.h.inc"

namespace {

namespace ait = mlir::ait;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;

// A time that is at most this share of another is less than that, beyond what
// repeated measurements differ by.
constexpr double kMuchLess = 0.95;

// A matmul with a constant weight.
struct Layer {
  ait::MatmulOp matmul;
  ait::ConstantOp weight;
  std::string path;                  // of its module, or what it is known by
  std::vector<std::string> holders;  // the paths of all with its weight
  std::string no_linear;  // why it is no torch.nn.Linear; empty if it is
};

// The path of the submodule that an operation was traced in, from its location.
std::string ScopeOf(mlir::Operation* op) {
  std::string scope;
  op->getLoc()->walk([&](mlir::Location location) {
    if (auto name = mlir::dyn_cast<mlir::NameLoc>(location);
        name && scope.empty() && name.getName().getValue().contains('/')) {
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

// The module that a layer is of, among those that hold its weight: the one that
// it was traced in, else the first torch.nn.Linear, else the first.
std::string ModuleOf(mlir::Operation* op,
                     const std::vector<std::string>& holders,
                     const QuantizationContext& context) {
  const std::string scope = ScopeOf(op);
  if (absl::c_linear_search(holders, scope)) return scope;
  for (const std::string& path : holders) {
    const auto found = context.classes.find(path);
    if (found != context.classes.end() && IsLinearClass(found->second))
      return path;
  }
  return holders.front();
}

std::vector<Layer> FindLayers(mlir::func::FuncOp function,
                              const QuantizationContext& context) {
  llvm::StringSet<> names;
  function.walk([&](ait::ConstantOp op) { names.insert(op.getName()); });
  std::vector<Layer> layers;
  function.walk([&](ait::MatmulOp matmul) {
    auto weight = matmul.getRhs().getDefiningOp<ait::ConstantOp>();
    if (!weight || matmul.getRhs().getType().getRank() != 2 ||
        matmul.getType().getElementType() !=
            matmul.getRhs().getType().getElementType()) {
      return;
    }
    const std::string name = weight.getName().str();
    Layer layer{matmul, weight, name, {}, ""};
    const bool is_weight = name == "weight" || absl::EndsWith(name, ".weight");
    if (is_weight)
      layer.path =
          name.substr(0, name.size() - std::min<size_t>(name.size(), 7));
    if (name.empty()) layer.path = ScopeOf(matmul);
    if (const auto found = context.holders.find(name);
        found != context.holders.end()) {
      layer.holders = found->second;
      layer.path = ModuleOf(matmul, layer.holders, context);
    }
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

// Gives a matmul of a transposed left side a transposition before it: scales of
// activations are those of rows.
void ReadRows(ait::MatmulOp matmul) {
  if (!matmul.getTransposeLhs()) return;
  mlir::OpBuilder builder(matmul);
  llvm::SmallVector<mlir::AffineExpr> sizes =
      ait::getSymbolicSizes(matmul.getLhs().getType());
  auto permutation =
      llvm::to_vector(llvm::seq<int64_t>(static_cast<int64_t>(sizes.size())));
  std::swap(sizes.end()[-1], sizes.end()[-2]);
  std::swap(permutation.end()[-1], permutation.end()[-2]);
  const RankedTensorType type =
      ait::getTensorType(sizes, matmul.getLhs().getType().getElementType());
  matmul.getLhsMutable().assign(ait::PermuteOp::create(
      builder, matmul.getLoc(), type, matmul.getLhs(), permutation));
  matmul.setTransposeLhs(false);
}

// All schemes, the one that changes least first.
constexpr Scheme kAllSchemes[] = {Scheme::kInt8WeightOnly,
                                  Scheme::kFloat8WeightOnly,
                                  Scheme::kInt8Dynamic, Scheme::kFloat8Dynamic};

class QuantizeLayersPass : public impl::QuantizeLayersBase<QuantizeLayersPass> {
 public:
  QuantizeLayersPass(QuantizationOptions options, QuantizationContext context)
      : options_(std::move(options)), context_(std::move(context)) {}

  void runOnOperation() override {
    weights_.clear();
    writer_ = LayerWriter();
    layers_ = FindLayers(getOperation(), context_);
    // Layers of one input share its transposition.
    for (const Layer& layer : layers_) ReadRows(layer.matmul);
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
    for (QuantizedLayer& layer : told_layers_) context_.told(std::move(layer));
    weights_.clear();  // also the codes that were not taken
  }

 private:
  // The ways to quantise the layers of `group`, the one that changes least
  // first. Where there is a choice fp8dq has a scale a row, with which no token
  // depends on others, for the weights that torchao has it for.
  std::vector<Way> WaysFor(const std::vector<size_t>& group) const {
    if (options_.scheme)
      return {{*options_.scheme, GranularityOf(options_, *options_.scheme)}};
    std::vector<Way> ways;
    for (const Scheme scheme : kAllSchemes) {
      QuantizationOptions asked = options_;
      asked.scheme = scheme;
      if (!CheckSupported(asked, context_.gpu).ok()) continue;
      Granularity granularity = GranularityOf(options_, scheme);
      if (scheme == Scheme::kFloat8Dynamic &&
          absl::c_all_of(group, [&](size_t number) {
            return ait::ConstantOp(layers_[number].weight)
                .getType()
                .getElementType()
                .isBF16();
          }))
        granularity = Granularity::kPerRow;
      ways.push_back({scheme, granularity});
    }
    return ways;
  }

  void Describe(size_t number) {
    const Layer& layer = layers_[number];
    QuantizedLayer& told = told_layers_[number];
    const RankedTensorType type =
        ait::MatmulOp(layer.matmul).getRhs().getType();
    const bool transposed = ait::MatmulOp(layer.matmul).getTransposeRhs();
    told.layer = layer.path.empty() ? "the model's forward" : layer.path;
    told.scheme =
        options_.scheme ? std::string(Name(*options_.scheme)) : "auto";
    told.n = type.getDimSize(transposed ? 0 : 1);
    told.k = type.getDimSize(transposed ? 1 : 0);
  }

  // Why `layer` is left alone whatever its weight; empty if it is not.
  std::string RefuseUnread(Layer layer) const {
    if (!layer.no_linear.empty() && !options_.extended_layers)
      return absl::StrCat("filtered: ", layer.no_linear);
    const auto elsewhere =
        context_.elsewhere.find(static_cast<int64_t>(layer.weight.getIndex()));
    if (elsewhere != context_.elsewhere.end())
      return absl::StrCat("used elsewhere: LibTorch runs another use of it: ",
                          elsewhere->second);
    if (options_.verdict == Verdict::kOn &&
        context_.dropped.count(layer.path) > 0)
      return absl::StrCat(
          "dropped: with it the model was further from eager than its bound, "
          "min_cosine=",
          options_.bound.min_cosine);
    const auto module_class = context_.classes.find(layer.path);
    std::optional<Refusal> refusal = RefuseModule(
        options_, layer.path,
        module_class == context_.classes.end() ? "" : module_class->second);
    for (const std::string& path : layer.holders) {
      if (!refusal) refusal = RefuseModule(options_, path, "");
    }
    if (refusal)
      return absl::StrCat(std::string(Name(refusal->reason)), ": ",
                          refusal->text);
    return "";
  }

  // A way to quantise the layers of a group.
  struct Choice {
    Way way;
    std::vector<size_t> taken;  // numbers of layers
    std::optional<LayerTimes> times;
  };

  void QuantizeGroup(const std::vector<size_t>& group) {
    std::optional<Choice> best;
    for (const Way& way : WaysFor(group)) {
      std::optional<Choice> choice = Judge(group, way);
      if (choice && (!best || IsBetter(*choice, *best)))
        best = std::move(choice);
    }
    if (!best) return;
    for (const size_t number : best->taken) {
      QuantizedLayer& told = told_layers_[number];
      QuantizedWeight& weight = WeightOf(layers_[number], best->way).weight;
      told.refusal.clear();
      told.scheme = std::string(Name(best->way.scheme));
      SetErrors(layers_[number], best->way, &told);
      SetTimes(best->times, &told);
      Keep(&weight);
      writer_.Rewrite(layers_[number].matmul, best->way, weight);
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

  void SetErrors(const Layer& layer, const Way& way, QuantizedLayer* told) {
    const Judged& judged = WeightOf(layer, way);
    told->weightSqnr = judged.weight.sqnr_db;
    told->sqnr = judged.error ? judged.error->sqnr_db : NAN;
    told->lowSqnr = judged.error ? judged.error->low_sqnr_db : NAN;
  }

  static void SetTimes(const std::optional<LayerTimes>& times,
                       QuantizedLayer* told) {
    if (!times) return;
    told->microseconds = times->microseconds;
    told->quantizedMicroseconds = times->quantized_microseconds;
  }

  // The layers of `group` that may be quantised in this way; the others are
  // told why not. Nothing if it may quantise none.
  std::optional<Choice> Judge(const std::vector<size_t>& group,
                              const Way& way) {
    Choice choice{way, {}, std::nullopt};
    std::vector<ait::MatmulOp> matmuls;
    for (const size_t number : group) {
      const Judged& judged = WeightOf(layers_[number], way);
      QuantizedLayer& told = told_layers_[number];
      told.refusal = judged.weight.refusal;
      if (told.refusal.empty() && judged.error &&
          options_.verdict == Verdict::kOn)
        told.refusal = RefuseError(way.scheme, *judged.error);
      SetErrors(layers_[number], way, &told);
      if (!told.refusal.empty()) continue;
      choice.taken.push_back(number);
      matmuls.push_back(layers_[number].matmul);
    }
    if (matmuls.empty()) return std::nullopt;
    if (context_.timer && options_.verdict == Verdict::kOn)
      choice.times = context_.timer(matmuls, way);
    if (!choice.times || choice.times->is_faster) return choice;
    for (const size_t number : choice.taken) {
      QuantizedLayer& told = told_layers_[number];
      SetTimes(choice.times, &told);
      told.refusal = absl::StrFormat(
          "%s: %.4g us with %s, %.4g us as it is%s",
          choice.times->quantized_microseconds < choice.times->microseconds
              ? "not surely faster"
              : "slower",
          choice.times->quantized_microseconds, std::string(Name(way.scheme)),
          choice.times->microseconds,
          choice.taken.size() == 1
              ? ""
              : absl::StrCat(", for the ", choice.taken.size(),
                             " layers of its input"));
    }
    return std::nullopt;
  }

  // A layer's weight, quantised in one way.
  struct Judged {
    QuantizedWeight weight;           // or why there are no codes
    std::optional<LayerError> error;  // of its results, if inputs are known
  };

  Judged& WeightOf(Layer layer, const Way& way) {
    const bool is_rows = layer.matmul.getTransposeRhs();
    const auto [found, is_new] =
        weights_.try_emplace({layer.weight.getIndex(), is_rows, way});
    Judged& judged = found->second;
    if (!is_new) return judged;
    const ConstantTensor* constant =
        context_.pool.find(layer.weight.getIndex());
    if (constant == nullptr) {
      judged.weight.refusal = "not constant: no data";
      return judged;
    }
    judged.weight =
        QuantizeWeight(way.scheme, way.granularity, *constant, is_rows,
                       options_.verdict == Verdict::kOn, context_.codes);
    const ConstantTensor* inputs =
        context_.inputs ? context_.inputs(layer.weight.getIndex()) : nullptr;
    const FloatMatrix weight = RowsOf(*constant, is_rows);
    // A batch of none says nothing.
    if (judged.weight.refusal.empty() && inputs != nullptr &&
        inputs->view.sizes.back() == weight.columns &&
        RowsOf(*inputs, /*is_rows=*/true).rows > 0)
      judged.error = MeasureError(way, RowsOf(*inputs, /*is_rows=*/true),
                                  weight, judged.weight);
    return judged;
  }

  void Keep(QuantizedWeight* weight) {
    if (weight->codes_number >= 0) return;
    const ConstantPool& pool = context_.pool;
    weight->codes_number = pool.add(weight->codes);
    weight->scales_number = pool.add(weight->scales);
    if (weight->sums) weight->sums_number = pool.add(*weight->sums);
  }

  const QuantizationOptions options_;
  const QuantizationContext context_;
  std::vector<Layer> layers_;
  std::vector<QuantizedLayer> told_layers_;  // one a layer
  // By the number of the weight's constant, whether it is [N, K], and the way.
  std::map<std::tuple<uint64_t, bool, Way>, Judged> weights_;
  LayerWriter writer_;
};

}  // namespace

absl::Status CheckSupported(const QuantizationOptions& options,
                            const std::optional<ComputeCapability>& gpu) {
  absl::Status status = Validate(options);
  if (status.ok()) status = CheckDevice(options, gpu);
  if (!status.ok()) return status;
  auto unsupported = [&](const std::string& what, const std::string& instead) {
    return absl::UnimplementedError(
        absl::StrCat("the compiler has no kernels for ", what, " on a ",
                     gpu ? "GPU" : "CPU", "; ", instead));
  };
  if (options.granularity == Granularity::kPerTensor &&
      options.scheme != Scheme::kFloat8Dynamic)
    return unsupported("one scale a tensor",
                       "leave the granularity out, or ask for one a row");
  if (options.scheme == Scheme::kFloat8Dynamic && !options.fast_accumulation)
    return unsupported("float32 sums of float8 products",
                       "leave fast_accumulation out");
  if (options.arithmetic == Arithmetic::kEager)
    return unsupported("eager arithmetic of quantised layers",
                       "leave it out, or ask for fused arithmetic");
  return absl::OkStatus();
}

std::unique_ptr<mlir::Pass> CreateQuantizeLayers(QuantizationOptions options,
                                                 QuantizationContext context) {
  return std::make_unique<QuantizeLayersPass>(std::move(options),
                                              std::move(context));
}

}  // namespace aitune::quant
