#include "tests/random_models/pool.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"
#include "tests/random_models/program.h"

namespace aitune::random_models {
namespace {

bool ForAll(
    const LiveValue& a, const LiveValue& b,
    const std::function<bool(const at::Tensor&, const at::Tensor&)>& holds) {
  for (size_t i = 0; i < a.samples.size(); ++i) {
    if (!holds(a.samples[i], b.samples[i])) return false;
  }
  return true;
}

}  // namespace

bool LiveValue::IsStatic(int axis) const {
  return std::all_of(samples.begin(), samples.end(),
                     [&](const at::Tensor& tensor) {
                       return tensor.size(axis) == sample().size(axis);
                     });
}

bool LiveValue::RepeatsElements() const {
  return std::any_of(samples.begin(), samples.end(),
                     [](const at::Tensor& tensor) {
                       int64_t span = 1;
                       for (int64_t axis = 0; axis < tensor.dim(); ++axis)
                         span += (tensor.size(axis) - 1) * tensor.stride(axis);
                       return span < tensor.numel();
                     });
}

int64_t LiveValue::Largest() const {
  int64_t largest = 0;
  for (const at::Tensor& tensor : samples)
    largest = std::max(largest, tensor.numel());
  return largest;
}

bool SameSizes(const LiveValue& a, const LiveValue& b) {
  return ForAll(a, b, [](const at::Tensor& x, const at::Tensor& y) {
    return x.sizes() == y.sizes();
  });
}

bool Broadcast(const LiveValue& a, const LiveValue& b) {
  return ForAll(a, b, [](const at::Tensor& x, const at::Tensor& y) {
    for (int64_t i = 1; i <= std::min(x.dim(), y.dim()); ++i) {
      if (x.size(-i) != y.size(-i) && x.size(-i) != 1 && y.size(-i) != 1)
        return false;
    }
    return true;
  });
}

bool MayShareMemory(const LiveValue& a, const LiveValue& b) {
  return !ForAll(a, b, [](const at::Tensor& x, const at::Tensor& y) {
    return !x.is_alias_of(y);
  });
}

Pool::Pool(uint64_t seed, const std::vector<std::vector<c10::IValue>>& inputs)
    : random_(seed) {
  for (size_t i = 0; i < inputs[0].size(); ++i) {
    LiveValue value;
    for (const std::vector<c10::IValue>& combination : inputs)
      value.samples.push_back(combination[i].toTensor());
    value.is_input = value.exact = true;
    values_.push_back(std::move(value));
  }
}

int Pool::Find(const std::function<bool(const LiveValue&)>& fits) {
  std::vector<int> found;
  for (int i = 0; i < size(); ++i) {
    if (fits((*this)[i])) found.push_back(i);
  }
  if (found.empty()) return -1;
  const int count = static_cast<int>(found.size());
  const int first = random_.Chance(60) ? std::max(0, count - 3) : 0;
  return found[static_cast<size_t>(random_.Number(first, count - 1))];
}

void Pool::MakeInexact(int value) {
  for (LiveValue& other : values_) {
    if (MayShareMemory(other, (*this)[value])) other.exact = false;
  }
}

int Pool::Any() {
  return Find([](const LiveValue&) { return true; });
}

absl::StatusOr<std::vector<c10::IValue>> Pool::Evaluate(
    const Expression& expression, bool on_copies) const {
  std::set<int> reads(expression.reads.begin(), expression.reads.end());
  reads.insert(expression.measures.begin(), expression.measures.end());
  std::vector<std::string> parameters;
  for (const int value : reads) parameters.push_back(Name(value) + ": Tensor");
  std::string source =
      absl::StrCat("def forward(self", parameters.empty() ? "" : ", ",
                   absl::StrJoin(parameters, ", "), "):\n");
  for (const absl::string_view line :
       absl::StrSplit(expression.before, '\n', absl::SkipEmpty()))
    absl::StrAppend(&source, "    ", line, "\n");
  absl::StrAppend(&source, "    return ",
                  !expression.text.empty() ? expression.text
                  : expression.writes >= 0 ? Name(expression.writes)
                                           : "$r");
  source = WithDataTypes(absl::StrReplaceAll(source, {{"$r", "r"}}),
                         /*floats=*/std::nullopt);
  absl::StatusOr<frontend::Model> model = frontend::Model::FromSource(source);
  if (!model.ok()) return model.status();
  std::vector<c10::IValue> results;
  for (size_t i = 0; i < values_[0].samples.size(); ++i) {
    std::vector<c10::IValue> arguments;
    for (const int value : reads) {
      const at::Tensor& tensor = (*this)[value].samples[i];
      arguments.emplace_back(on_copies ? tensor.clone() : tensor);
    }
    absl::StatusOr<c10::IValue> result =
        model->RunEager(frontend::ValueList(std::move(arguments)));
    if (!result.ok()) return result.status();
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace aitune::random_models
