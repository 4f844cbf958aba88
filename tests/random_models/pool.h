// The values that a program under construction has so far, as eager computes
// them at a few sizes of the dynamic axes: what a statement may use is known,
// not guessed.
#ifndef AITUNE_TESTS_RANDOM_MODELS_POOL_H_
#define AITUNE_TESTS_RANDOM_MODELS_POOL_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace aitune::random_models {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Inclusive bounds.
  int Number(int low, int high) {
    return low +
           static_cast<int>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Number(1, 100) <= percent; }
  template <typename Choices>
  auto Pick(const Choices& choices) {
    return *(std::begin(choices) +
             Number(0, static_cast<int>(std::size(choices)) - 1));
  }

 private:
  std::mt19937_64 engine_;
};

struct LiveValue {
  std::vector<at::Tensor> samples;  // one for each combination of sizes
  bool is_input = false;
  // Equal in any correct arithmetic: no rounding led to it, so that comparing
  // or truncating it gives the same everywhere.
  bool exact = false;

  const at::Tensor& sample() const { return samples[0]; }
  at::ScalarType dtype() const { return samples[0].scalar_type(); }
  int rank() const { return static_cast<int>(samples[0].dim()); }
  bool IsFloat() const { return at::isFloatingType(dtype()); }
  // The size of an axis is the same in all combinations.
  bool IsStatic(int axis) const;
  int64_t Largest() const;  // number of elements
  // Whether elements of some sample share an address, as those of `expand` and
  // `unfold` do.
  bool RepeatsElements() const;
};

// Whether two values have the same sizes, whether they broadcast, and whether
// they may share memory, in all combinations or in any.
bool SameSizes(const LiveValue& a, const LiveValue& b);
bool Broadcast(const LiveValue& a, const LiveValue& b);
bool MayShareMemory(const LiveValue& a, const LiveValue& b);

// What a statement may be made of.
struct Expression {
  // Lines before `text`, which may assign to "$r"; often empty.
  std::string before;
  // An expression; empty when "$r" has its value, or when it only writes.
  std::string text;
  std::vector<int> reads;
  std::vector<int> measures;  // values of which it takes sizes alone
  // Whether floats that it gives are exact if its operands are.
  bool keeps_exact = false;
  // Whether floats that it gives jump where an operand changes a little.
  bool jumps = false;
  int writes = -1;  // the value that it writes to; -1: none
};

class Pool {
 public:
  // One list of inputs for each combination of sizes.
  Pool(uint64_t seed, const std::vector<std::vector<c10::IValue>>& inputs);

  Random& random() { return random_; }
  int size() const { return static_cast<int>(values_.size()); }
  const LiveValue& operator[](int value) const {
    return values_[static_cast<size_t>(value)];
  }
  void Add(LiveValue value) { values_.push_back(std::move(value)); }
  // What shares memory with a value is no longer exact.
  void MakeInexact(int value);

  // A value for which `fits`, mostly a late one; -1: there is none.
  int Find(const std::function<bool(const LiveValue&)>& fits);
  int Any();

  // The results of an expression for each combination of sizes; it works on
  // copies of what it reads if `on_copies`. The error is eager's.
  absl::StatusOr<std::vector<c10::IValue>> Evaluate(
      const Expression& expression, bool on_copies) const;

 private:
  Random random_;
  std::vector<LiveValue> values_;
};

}  // namespace aitune::random_models

#endif  // AITUNE_TESTS_RANDOM_MODELS_POOL_H_
