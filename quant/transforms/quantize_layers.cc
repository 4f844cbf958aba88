#include "quant/transforms/quantize_layers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "compiler/dialect/Ait.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "quant/transforms/find_layers.h"
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
    for (const Component& component : ComponentsOf(groups)) Quantize(component);
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
          llvm::all_of(group, [&](size_t number) {
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

  // Groups of layers, those that share an input in each, by their numbers; no
  // other group has a layer with a weight of theirs.
  using Component = std::vector<std::vector<size_t>>;

  // All uses of a weight are quantised alike or none.
  std::vector<Component> ComponentsOf(
      const llvm::MapVector<Value, std::vector<size_t>>& groups) const {
    llvm::EquivalenceClasses<size_t> same;  // first layers of groups
    // The first group of each weight, by its number.
    std::map<uint64_t, size_t> first_of;
    for (const auto& [input, group] : groups) {
      same.insert(group.front());
      for (const size_t number : group) {
        ait::ConstantOp weight = layers_[number].weight;
        const auto found =
            first_of.try_emplace(weight.getIndex(), group.front()).first;
        same.unionSets(found->second, group.front());
      }
    }
    llvm::MapVector<size_t, Component> components;
    for (const auto& [input, group] : groups)
      components[same.getLeaderValue(group.front())].push_back(group);
    std::vector<Component> found;
    for (auto& [leader, component] : components)
      found.push_back(std::move(component));
    return found;
  }

  // A way to quantise the layers of a component.
  struct Choice {
    Way way;
    std::vector<size_t> taken;  // numbers of layers
    // Times of a layer's group, if measured.
    std::map<size_t, LayerTimes> times;
    double microseconds = 0;  // the time of all groups that were
    double quantized_microseconds = 0;
  };

  void Quantize(const Component& component) {
    std::vector<size_t> all;
    for (const std::vector<size_t>& group : component)
      all.insert(all.end(), group.begin(), group.end());
    std::optional<Choice> best;
    for (const Way& way : WaysFor(all)) {
      std::optional<Choice> choice = Judge(component, way);
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
      SetTimes(*best, number, &told);
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
    const auto share = [](const Choice& of) {
      return of.quantized_microseconds / of.microseconds;
    };
    return choice.microseconds > 0 && best.microseconds > 0 &&
           share(choice) < kMuchLess * share(best);
  }

  void SetErrors(const Layer& layer, const Way& way, QuantizedLayer* told) {
    const Judged& judged = WeightOf(layer, way);
    told->weightSqnr = judged.weight.sqnr_db;
    told->sqnr = judged.error ? judged.error->sqnr_db : NAN;
    told->lowSqnr = judged.error ? judged.error->low_sqnr_db : NAN;
  }

  static void SetTimes(const Choice& choice, size_t number,
                       QuantizedLayer* told) {
    const auto times = choice.times.find(number);
    if (times == choice.times.end()) return;
    told->microseconds = times->second.microseconds;
    told->quantizedMicroseconds = times->second.quantized_microseconds;
  }

  // The layers of `component` that may be quantised in this way; the others are
  // told why not. Nothing if it may quantise none.
  std::optional<Choice> Judge(const Component& component, const Way& way) {
    Choice choice{way, {}, {}, 0, 0};
    for (const std::vector<size_t>& group : component) {
      for (const size_t number : group)
        told_layers_[number].refusal = WhyNot(number, way);
    }
    RefuseOtherUses(component);
    RefuseSlow(component, &choice);
    RefuseOtherUses(component);
    for (const std::vector<size_t>& group : component) {
      for (const size_t number : group) {
        if (told_layers_[number].refusal.empty())
          choice.taken.push_back(number);
      }
    }
    if (choice.taken.empty()) return std::nullopt;
    return choice;
  }

  // Why a layer is not to have this scheme, whatever time it takes; empty if it
  // may.
  std::string WhyNot(size_t number, const Way& way) {
    const Layer& layer = layers_[number];
    const Judged& judged = WeightOf(layer, way);
    SetErrors(layer, way, &told_layers_[number]);
    if (options_.verdict == Verdict::kOff) return judged.weight.refusal;
    const std::pair<std::string, std::string> choice = {
        told_layers_[number].layer, std::string(Name(way.scheme))};
    if (context_.dropped.count(choice) > 0)
      return absl::StrCat(
          "dropped: with it the model was further from eager than its bound, "
          "min_cosine=",
          options_.bound.min_cosine);
    if (!judged.weight.refusal.empty()) return judged.weight.refusal;
    const auto slow = context_.slow.find(choice);
    if (slow != context_.slow.end())
      return absl::StrCat("slower: ", slow->second);
    if (!judged.error) return "";
    return RefuseError(way.scheme, *judged.error);
  }

  // A layer whose weight another one has that is left alone is so, too.
  void RefuseOtherUses(const Component& component) {
    // Reasons, by the number of the weight.
    std::map<uint64_t, std::string> refused;
    const auto for_each = [&](auto&& visit) {
      for (const std::vector<size_t>& group : component) {
        for (const size_t number : group) {
          ait::ConstantOp weight = layers_[number].weight;
          visit(weight.getIndex(), told_layers_[number].refusal);
        }
      }
    };
    for_each([&](uint64_t weight, const std::string& refusal) {
      if (!refusal.empty()) refused.try_emplace(weight, refusal);
    });
    for_each([&](uint64_t weight, std::string& refusal) {
      const auto other = refused.find(weight);
      if (refusal.empty() && other != refused.end())
        refusal = absl::StrCat("used elsewhere: another use of its weight is ",
                               other->second);
    });
  }

  // Times the layers of a group that are not refused; those that were timed and
  // are not surely faster.
  std::vector<size_t> FindSlow(const std::vector<size_t>& group,
                               Choice* choice) {
    std::vector<size_t> asked;
    std::vector<ait::MatmulOp> matmuls;
    for (const size_t number : group) {
      if (!told_layers_[number].refusal.empty()) continue;
      asked.push_back(number);
      matmuls.push_back(layers_[number].matmul);
    }
    if (asked.empty() || !context_.timer || options_.verdict == Verdict::kOff)
      return {};
    const std::optional<LayerTimes> times =
        context_.timer(matmuls, choice->way);
    if (!times) return {};
    choice->microseconds += times->microseconds;
    choice->quantized_microseconds += times->quantized_microseconds;
    for (const size_t number : asked) {
      choice->times.emplace(number, *times);
      SetTimes(*choice, number, &told_layers_[number]);
    }
    return times->is_faster ? std::vector<size_t>() : asked;
  }

  // Refuses the layers that take no less time. Where one use of a weight gains
  // what another loses, all count.
  void RefuseSlow(const Component& component, Choice* choice) {
    std::vector<std::vector<size_t>> slow;
    for (const std::vector<size_t>& group : component)
      slow.push_back(FindSlow(group, choice));
    if (component.size() > 1 &&
        choice->quantized_microseconds < kMuchLess * choice->microseconds)
      return;
    for (const std::vector<size_t>& group : slow) {
      for (const size_t number : group) {
        QuantizedLayer& told = told_layers_[number];
        told.refusal = absl::StrFormat(
            "%s: %.4g us with %s, %.4g us as it is%s",
            told.quantizedMicroseconds < told.microseconds ? "not surely faster"
                                                           : "slower",
            told.quantizedMicroseconds, std::string(Name(choice->way.scheme)),
            told.microseconds,
            group.size() == 1 ? ""
                              : absl::StrCat(", for the ", group.size(),
                                             " layers of its input"));
      }
    }
  }

  // A layer's weight, quantised in one way.
  struct Judged {
    QuantizedWeight weight;  // or why there are no codes
    // The error of its results, if inputs are known.
    std::optional<LayerError> error;
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
  // Judgements by the number of the weight's constant, whether it is [N, K],
  // and the way.
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
