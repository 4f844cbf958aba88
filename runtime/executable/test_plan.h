// Builds plans by hand, with kernels that are C++ functions, for tests and
// benchmarks.
#ifndef AITUNE_RUNTIME_EXECUTABLE_TEST_PLAN_H_
#define AITUNE_RUNTIME_EXECUTABLE_TEST_PLAN_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cpu/kernel_library.h"
#include "runtime/executable/executable.h"
#include "runtime/plan/plan.h"

namespace aitune {

// Builds a plan value by value and step by step; each function returns the
// index of what it adds. Float32 unless told otherwise.
class TestPlan {
 public:
  using Sizes = std::vector<SizeExpression>;

  static TensorTypeProto Type(const Sizes& sizes,
                              DataType dtype = DataType::kFloat32) {
    return ToProto(PlanTensorType{dtype, sizes});
  }

  // A symbol read from an axis of an input.
  SizeExpression Symbol(int64_t min, int64_t max, int input, int axis) {
    SymbolProto* symbol = plan.add_symbols();
    symbol->set_name("s" + std::to_string(plan.symbols_size() - 1));
    symbol->set_min(min);
    symbol->set_max(max);
    symbol->set_input(input);
    symbol->set_axis(axis);
    return SizeExpression::Symbol(plan.symbols_size() - 1);
  }

  int Value(ValueProto::Storage storage, int index, const Sizes& sizes,
            DataType dtype = DataType::kFloat32) {
    ValueProto* value = plan.add_values();
    value->set_storage(storage);
    value->set_index(index);
    if (storage != ValueProto::OPAQUE) {
      *value->mutable_type() = Type(sizes, dtype);
    }
    return plan.values_size() - 1;
  }
  int Input(const Sizes& sizes, DataType dtype = DataType::kFloat32) {
    *plan.add_inputs() = Type(sizes, dtype);
    return Value(ValueProto::INPUT, plan.inputs_size() - 1, sizes, dtype);
  }
  int Output(const Sizes& sizes, DataType dtype = DataType::kFloat32) {
    *plan.add_outputs() = Type(sizes, dtype);
    return Value(ValueProto::OUTPUT, plan.outputs_size() - 1, sizes, dtype);
  }
  int Arena(const Sizes& sizes, DataType dtype = DataType::kFloat32) {
    return Value(ValueProto::ARENA, 0, sizes, dtype);
  }
  int Persistent(const Sizes& sizes, DataType dtype = DataType::kFloat32) {
    const int value = Arena(sizes, dtype);
    plan.mutable_values(value)->set_persistent(true);
    return value;
  }
  int Constant(int index, const Sizes& sizes,
               DataType dtype = DataType::kFloat32) {
    return Value(ValueProto::CONSTANT, index, sizes, dtype);
  }
  int Alias(int of, const Sizes& sizes, DataType dtype = DataType::kFloat32) {
    return Value(ValueProto::ALIAS, of, sizes, dtype);
  }
  // An alias of the elements from `offset` on.
  int Part(int of, const SizeExpression& offset, const Sizes& sizes) {
    const int part = Alias(of, sizes);
    *plan.mutable_values(part)->mutable_offset() = ToProto(offset);
    return part;
  }
  int Opaque() { return Value(ValueProto::OPAQUE, 0, {}); }

  Step* AddStep(const std::vector<int>& inputs, const std::vector<int>& outputs,
                bool initialization = false) {
    Step* step = initialization ? plan.add_initialization() : plan.add_steps();
    step->set_name("step_" + std::to_string(plan.steps_size()));
    for (int value : inputs) step->add_inputs(value);
    for (int value : outputs) step->add_outputs(value);
    return step;
  }
  Step* Kernel(const std::string& symbol, const std::vector<int>& inputs,
               const std::vector<int>& outputs, const SizeExpression& grid,
               int64_t grain = 1, bool initialization = false) {
    Step* step = AddStep(inputs, outputs, initialization);
    step->mutable_kernel()->set_symbol(symbol);
    *step->mutable_kernel()->mutable_grid() = ToProto(grid);
    step->mutable_kernel()->set_grain(grain);
    step->mutable_kernel()->set_buffers(
        static_cast<int>(inputs.size() + outputs.size()));
    return step;
  }
  Step* Fallback(int region, const std::vector<int>& inputs,
                 const std::vector<int>& outputs) {
    Step* step = AddStep(inputs, outputs);
    step->mutable_fallback()->set_region(region);
    return step;
  }

  ExecutablePlan plan;
};

// C++ functions as a model's object code.
class FakeKernels : public KernelLibrary {
 public:
  explicit FakeKernels(std::map<std::string, KernelFunction> kernels)
      : kernels_(std::move(kernels)) {}
  KernelFunction Find(absl::string_view symbol) const override {
    const auto found = kernels_.find(std::string(symbol));
    return found == kernels_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::string, KernelFunction> kernels_;
};

// A float32 tensor over a vector, which must outlive it.
inline TensorView View(std::vector<float>& data, std::vector<int64_t> sizes) {
  return {data.data(), DataType::kFloat32, std::move(sizes)};
}

inline ConstantTensor FloatConstant(std::vector<float> data,
                                    std::vector<int64_t> sizes,
                                    std::string name) {
  auto owner = std::make_shared<std::vector<float>>(std::move(data));
  return {View(*owner, std::move(sizes)), owner, std::move(name)};
}

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_TEST_PLAN_H_
