#include "tests/random_models/table_calls.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/operators/left_out_calls.h"
#include "tests/operators/operator_table.h"
#include "tests/random_models/program.h"

namespace aitune::random_models {
namespace {

using Names = std::unordered_set<std::string>;

Names NamesOf(const char* list) {
  const std::vector<std::string> names =
      absl::StrSplit(list, ' ', absl::SkipEmpty());
  return Names(names.begin(), names.end());
}

// Operators that move, choose or make numbers and round none.
bool KeepsExact(const std::string& op) {
  static const auto& names = *new Names(NamesOf(
      "abs absolute neg negative sign sgn floor ceil round trunc fix frac "
      "clone "
      "detach alias lift lift_fresh lift_fresh_copy positive resolve_conj "
      "resolve_neg real conj _conj_physical conj_physical nan_to_num to "
      "_to_copy contiguous type_as dropout feature_dropout alpha_dropout "
      "feature_alpha_dropout copy where masked_fill maximum minimum fmax fmin "
      "clamp clip clamp_min clamp_max hardtanh relu relu6 threshold hardshrink "
      "amax amin max min aminmax sort topk view reshape _unsafe_view "
      "_reshape_alias flatten unflatten unsqueeze squeeze ravel view_as "
      "reshape_as atleast_1d atleast_2d atleast_3d expand expand_as "
      "broadcast_to expand_copy broadcast_tensors permute transpose swapaxes "
      "swapdims t mT adjoint mH numpy_T matrix_H movedim moveaxis select slice "
      "narrow split split_with_sizes chunk tensor_split unsafe_split "
      "unsafe_chunk unsafe_split_with_sizes unbind meshgrid diagonal unfold "
      "pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle "
      "cat concat concatenate stack hstack vstack row_stack dstack "
      "column_stack pad constant_pad_nd reflection_pad1d reflection_pad2d "
      "reflection_pad3d replication_pad1d replication_pad2d replication_pad3d "
      "_pad_circular repeat tile repeat_interleave roll flip fliplr flipud "
      "slice_scatter select_scatter embedding index_select gather "
      "take_along_dim index _unsafe_index index_put take triu tril full "
      "full_like new_full fill zeros zeros_like new_zeros ones ones_like "
      "new_ones zero empty empty_like new_empty empty_strided eye max_pool1d "
      "max_pool2d max_pool3d adaptive_max_pool1d im2col"));
  return names.count(op) > 0;
}

// Operators whose results jump where an operand changes a little. Those that
// give integers or bools of floats do so all.
bool Jumps(const OperatorCall& call) {
  const LeftOutCall* const found = FindLeftOutCall(call);
  return found != nullptr && found->of == LeftOutOf::kRounded;
}

bool IsLeftOut(const OperatorCall& call) {
  const LeftOutCall* const found = FindLeftOutCall(call);
  return found != nullptr && found->of == LeftOutOf::kAll;
}

// The call with its tensor on `device` if it makes one of sizes alone.
std::string OnDevice(const std::string& call, const std::string& device) {
  for (const char* maker :
       {"arange", "empty", "empty_strided", "eye", "full", "ones", "zeros"}) {
    const std::string begin = absl::StrCat("torch.", maker, "(");
    if (!absl::StartsWith(call, begin) || absl::StrContains(call, "device="))
      continue;
    int open = 1;
    size_t end = begin.size();
    while (end < call.size() && open > 0) {
      open += call[end] == '(' ? 1 : call[end] == ')' ? -1 : 0;
      ++end;
    }
    return absl::StrCat(call.substr(0, end - 1), ", device=", device,
                        call.substr(end - 1));
  }
  return call;
}

struct TableOperators {
  std::vector<OperatorCall> pointwise, others;
};

const TableOperators& Table() {
  static const auto& table = *[] {
    auto* made = new TableOperators;
    for (const OperatorCall& call : PointwiseCalls()) {
      if (!IsLeftOut(call)) made->pointwise.push_back(call);
    }
    for (const std::vector<OperatorCall>& calls :
         {TensorCalls(), NetworkCalls()}) {
      for (const OperatorCall& call : calls) {
        if (!IsLeftOut(call)) made->others.push_back(call);
      }
    }
    return made;
  }();
  return table;
}

// Binds the names of one call.
class Binding {
 public:
  Binding(Pool& pool, bool pointwise) : pool_(pool), pointwise_(pointwise) {}

  // Whether each name of `call` got a value.
  bool Bind(const std::string& call) {
    const std::vector<std::string> names = NamesIn(call);
    // Those of more axes first: they say what the size n is.
    for (const char* name : {"v", "s", "m", "x", "y", "z"}) {
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;
      const int value = Choose(*name);
      if (value < 0) return false;
      if (anchor_ < 0) anchor_ = value;
      reads_.push_back(value);
      texts_[name] = Name(value);
    }
    if (anchor_ < 0) {
      anchor_ = pool_.Find([](const LiveValue& v) { return v.rank() > 0; });
      if (anchor_ < 0) return false;
      measures_.push_back(anchor_);
    }
    const std::string anchor = Name(anchor_);
    const bool has_axes = pool_[anchor_].rank() > 0;
    size_ = has_axes ? anchor + ".size(-1)" : "1";
    const std::string numbers =
        absl::StrCat("torch.arange(", size_, ", device=", anchor, ".device)");
    texts_["c"] = absl::StrCat("(", numbers, " % 3 != 1)");
    // Without a number twice where an operator writes: a GPU writes equal
    // places in any order.
    const bool writes = absl::StrContains(call, "_put(") ||
                        absl::StrContains(call, "_copy(") ||
                        absl::StrContains(call, "scatter(");
    texts_["i"] = absl::StrCat("((", numbers, writes ? "" : " * 5",
                               " + 3) % max(", size_, ", 1))");
    const int mask = pool_.Find([&](const LiveValue& value) {
      return value.dtype() == at::kBool && Broadcast(value, pool_[anchor_]);
    });
    if (mask >= 0 && pool_.random().Chance(50) &&
        std::find(names.begin(), names.end(), "c") != names.end()) {
      texts_["c"] = Name(mask);
      reads_.push_back(mask);
    }
    return true;
  }

  std::string Replace(const std::string& call) const {
    std::string text;
    Scan(call, [&](const std::string& token, bool is_name) {
      absl::StrAppend(&text, is_name ? texts_.at(token) : token);
    });
    text = OnDevice(text, absl::StrCat(Name(anchor_), ".device"));
    const at::ScalarType dtype = pool_[anchor_].dtype();
    return absl::StrReplaceAll(
        text, {{"$n", size_},
               {"$d", absl::StrCat("$(", static_cast<int>(dtype), ")")},
               {".to(5)", ".to($(5))"},
               {".to(6)", ".to($(6))"},
               {".to(7)", ".to($(7))"},
               {".to(15)", ".to($(15))"},
               {"dtype=6", "dtype=$(6)"},
               {"dtype=7", "dtype=$(7)"}});
  }

  const std::vector<int>& reads() const { return reads_; }
  const std::vector<int>& measures() const { return measures_; }

 private:
  // Tells the parts of a call, which of them are names of its tensors.
  template <typename Tell>
  static void Scan(const std::string& call, const Tell& tell) {
    const auto in_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    for (size_t i = 0; i < call.size();) {
      size_t end = i + 1;
      if (call[i] == '\'') {
        end = call.find('\'', i + 1) + 1;
      } else if (in_word(call[i])) {
        while (end < call.size() && in_word(call[end])) ++end;
      }
      const std::string token = call.substr(i, end - i);
      const bool is_name =
          token.size() == 1 && absl::StrContains("xyzmsvci", token) &&
          (i == 0 || (call[i - 1] != '.' && call[i - 1] != '$'));
      tell(token, is_name);
      i = end;
    }
  }

  static std::vector<std::string> NamesIn(const std::string& call) {
    std::vector<std::string> names;
    Scan(call, [&](const std::string& token, bool is_name) {
      if (is_name) names.push_back(token);
    });
    return names;
  }

  int Choose(char name) {
    const bool same_dtype = pool_.random().Chance(85);
    const bool any = pool_.random().Chance(10);
    return pool_.Find([&](const LiveValue& value) {
      if (anchor_ >= 0 && same_dtype && value.dtype() != pool_[anchor_].dtype())
        return false;
      if (any) return true;
      switch (name) {
        case 'v':
          return value.rank() == 4;
        case 's':
          return value.rank() == 2 && IsSquare(value) && FitsAnchor(value);
        case 'm':
          return value.rank() == 2 && FitsAnchor(value) &&
                 (value.sample().size(0) == 3 || pool_.random().Chance(20));
        default:
          break;
      }
      if (pointwise_) return anchor_ < 0 || Broadcast(value, pool_[anchor_]);
      return value.rank() == 1 && FitsAnchor(value);
    });
  }

  static bool IsSquare(const LiveValue& value) {
    return std::all_of(value.samples.begin(), value.samples.end(),
                       [](const at::Tensor& tensor) {
                         return tensor.size(0) == tensor.size(1);
                       });
  }

  // The same last axis.
  bool FitsAnchor(const LiveValue& value) const {
    if (anchor_ < 0) return true;
    const LiveValue& anchor = pool_[anchor_];
    if (anchor.rank() == 0) return false;
    for (size_t i = 0; i < value.samples.size(); ++i) {
      if (value.samples[i].size(-1) != anchor.samples[i].size(-1)) return false;
    }
    return true;
  }

  Pool& pool_;
  const bool pointwise_;
  int anchor_ = -1;
  std::string size_;
  std::map<std::string, std::string> texts_;
  std::vector<int> reads_, measures_;
};

}  // namespace

std::optional<Expression> TableCall(Pool& pool) {
  const bool pointwise = pool.random().Chance(50);
  const OperatorCall call =
      pool.random().Pick(pointwise ? Table().pointwise : Table().others);
  Binding binding(pool, pointwise);
  if (!binding.Bind(call.call)) return std::nullopt;
  const LeftOutCall* const left_out = FindLeftOutCall(call);
  if (left_out != nullptr && left_out->of == LeftOutOf::kRepeated &&
      std::any_of(binding.reads().begin(), binding.reads().end(),
                  [&](int value) { return pool[value].RepeatsElements(); }))
    return std::nullopt;
  Expression expression;
  expression.text = binding.Replace(call.call);
  expression.reads = binding.reads();
  expression.measures = binding.measures();
  expression.keeps_exact = KeepsExact(call.op);
  expression.jumps = Jumps(call);
  return expression;
}

}  // namespace aitune::random_models
