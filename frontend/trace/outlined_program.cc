#include "frontend/trace/outlined_program.h"

#include <ATen/Functions.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/interpreter_code.h"
#include "frontend/torchscript/run_limits.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// Calls beyond so many different ones are not recorded.
constexpr size_t kMostSeen = 64;

c10::Symbol OutlinedKind() {
  return c10::Symbol::fromQualString("aitune::outlined");
}

// A tensor of n + 1 elements, which are never read.
at::Tensor IntegerAsSize(int64_t n, const c10::Device& device) {
  static std::mutex mutex;
  static auto* const memory = new std::unordered_map<c10::Device, at::Tensor>();
  const std::lock_guard<std::mutex> lock(mutex);
  at::Tensor& whole = (*memory)[device];
  if (!whole.defined())
    whole = at::empty({kGreatestInteger + 1},
                      at::TensorOptions().dtype(at::kByte).device(device));
  return whole.narrow(0, 0, n + 1);
}

// What a node keeps of a program.
struct ProgramHolder : torch::CustomClassHolder {
  explicit ProgramHolder(std::shared_ptr<OutlinedProgram> p)
      : program(std::move(p)) {}
  const std::shared_ptr<OutlinedProgram> program;
};

const std::shared_ptr<OutlinedProgram>& ProgramOf(
    const torch::jit::Node& node) {
  return static_cast<ProgramHolder*>(
             node.ival(c10::attr::value).toCapsule().get())
      ->program;
}

torch::jit::Operation OperationOf(const torch::jit::Node* node) {
  const std::shared_ptr<OutlinedProgram> program = ProgramOf(*node);
  const std::shared_ptr<torch::jit::Code> body =
      MakeCode(*node->g(c10::attr::Subgraph),
               absl::StrCat("outlined ", program->place()));
  return [program, body](torch::jit::Stack& stack) {
    if (program->RunCompiled(stack)) return;
    torch::jit::InterpreterState(*body).run(stack);
    program->RecordOutputs(at::ArrayRef<c10::IValue>(stack).slice(
        stack.size() - body->num_outputs()));
  };
}

const torch::jit::RegisterOperators kRegistered({torch::jit::Operator(
    OutlinedKind(), OperationOf, c10::AliasAnalysisKind::CONSERVATIVE)});

}  // namespace

OutlinedProgram::OutlinedProgram(std::string place, std::string text,
                                 Model model, std::vector<OutlinedInput> inputs,
                                 std::vector<at::Tensor> constants,
                                 bool strides_matter, int operators)
    : place_(std::move(place)),
      text_(std::move(text)),
      model_(std::move(model)),
      inputs_(std::move(inputs)),
      strides_matter_(strides_matter),
      operators_(operators) {
  for (at::Tensor& constant : constants) {
    if (constant.is_inference()) continue;  // made by the program's tracer
    const int64_t version = constant._version();
    constants_.emplace_back(std::move(constant), version);
  }
}

bool OutlinedProgram::HasNewConstants() const {
  return std::any_of(constants_.begin(), constants_.end(),
                     [](const auto& constant) {
                       return static_cast<int64_t>(constant.first._version()) !=
                              constant.second;
                     });
}

bool OutlinedProgram::ToModelInputs(at::ArrayRef<c10::IValue> inputs,
                                    std::vector<c10::IValue>& values) const {
  values.clear();
  const at::Tensor* first = nullptr;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i] == OutlinedInput::kInteger) continue;
    if (!inputs[i].isTensor() || !inputs[i].toTensor().defined() ||
        inputs[i].toTensor().unsafeGetTensorImpl()->is_wrapped_number())
      return false;
    if (first == nullptr) first = &inputs[i].toTensor();
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i] == OutlinedInput::kTensor) {
      values.push_back(inputs[i]);
    } else if (inputs_[i] == OutlinedInput::kInteger) {
      const int64_t n = inputs[i].toInt();
      if (n < 0 || n > kGreatestInteger) return false;
      values.emplace_back(IntegerAsSize(
          n, first == nullptr ? c10::Device(c10::kCPU) : first->device()));
    }
  }
  return true;
}

void OutlinedProgram::Refuse(const char* why) {
  why_not_ = why;
  seen_.clear();
}

void OutlinedProgram::Record(at::ArrayRef<c10::IValue> inputs) {
  if (!why_not_.empty() || seen_.size() >= kMostSeen) return;
  std::vector<c10::IValue> values;
  if (!ToModelInputs(inputs, values)) {
    if (RunLimits::AreOfOtherWay()) return;  // where integers may be any
    return Refuse("it reads a negative integer or a number that is a tensor");
  }
  SeenSizes sizes;
  std::vector<DataType> dtypes;
  for (const c10::IValue& value : values) {
    const at::Tensor& tensor = value.toTensor();
    const std::optional<DataType> dtype = FromScalarType(tensor.scalar_type());
    if (!IsPlainTensor(tensor) || !dtype)
      return Refuse("it reads a dtype or layout that compiled code has not");
    dtypes.push_back(*dtype);
    sizes.push_back(tensor.sizes().vec());
  }
  if (seen_.empty()) {
    dtypes_ = dtypes;
    sample_ = ValueList(values).Clone();
  }
  const auto fits = [&] {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i].size() != seen_[0][i].size()) return false;
    }
    return dtypes == dtypes_;
  };
  // The first one's dtypes and ranks are compiled for.
  if (!seen_.empty() && !fits()) return;
  if (std::find(seen_.begin(), seen_.end(), sizes) == seen_.end())
    seen_.push_back(std::move(sizes));
}

void OutlinedProgram::RecordOutputs(at::ArrayRef<c10::IValue> outputs) {
  if (!is_recording_ || !strides_matter_) return;
  for (const c10::IValue& output : outputs) {
    if (!output.isTensor() || !output.toTensor().defined() ||
        output.toTensor().layout() != at::kStrided ||
        output.toTensor().is_contiguous())
      continue;
    return Refuse("what it gives is not contiguous, which views depend on");
  }
}

std::vector<InputSpec> OutlinedProgram::SpecsAround(
    const SeenSizes& around) const {
  SizesToCompile wanted(seen_);
  size_t input = 0;
  for (const OutlinedInput kind : inputs_) {
    if (kind == OutlinedInput::kInteger) wanted.set_is_integer(input);
    if (kind != OutlinedInput::kConstant) ++input;
  }
  return wanted.SpecsAround(around, dtypes_);
}

bool OutlinedProgram::RunCompiled(std::vector<c10::IValue>& stack) {
  if (!is_recording_ && runner_ == nullptr) return false;
  const at::ArrayRef<c10::IValue> inputs =
      at::ArrayRef<c10::IValue>(stack).slice(stack.size() - inputs_.size());
  if (is_recording_) {
    Record(inputs);
    return false;
  }
  std::vector<c10::IValue> values;
  bool runs = !HasNewConstants() && ToModelInputs(inputs, values);
  if (runs) {
    const absl::StatusOr<bool> ran = runner_(values);
    if (!ran.ok()) ThrowStatus(ran.status());
    runs = *ran;
  }
  if (!runs) {
    ++misfits_;
    return false;
  }
  stack.resize(stack.size() - inputs_.size());
  stack.insert(stack.end(), std::make_move_iterator(values.begin()),
               std::make_move_iterator(values.end()));
  return true;
}

torch::jit::Node* InsertOutlined(torch::jit::Graph& graph,
                                 std::shared_ptr<OutlinedProgram> program,
                                 std::shared_ptr<torch::jit::Graph> body,
                                 at::ArrayRef<torch::jit::Value*> inputs) {
  torch::jit::Node* const node =
      graph.create(OutlinedKind(), inputs, body->outputs().size());
  node->g_(c10::attr::Subgraph, std::move(body));
  node->ival_(c10::attr::value,
              c10::IValue::make_capsule(
                  c10::make_intrusive<ProgramHolder>(std::move(program))));
  return graph.insertNode(node);
}

const OutlinedProgram* OutlinedOf(const torch::jit::Node& node) {
  return node.kind() == OutlinedKind() ? ProgramOf(node).get() : nullptr;
}

void ChangeOutlined(
    torch::jit::Block* block,
    const std::function<void(torch::jit::Graph& body)>& change) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      ChangeOutlined(inner, change);
    if (node->kind() != OutlinedKind()) continue;
    const std::shared_ptr<torch::jit::Graph> body =
        node->g(c10::attr::Subgraph)->copy();
    change(*body);
    node->g_(c10::attr::Subgraph, body);
  }
}

}  // namespace aitune::frontend
