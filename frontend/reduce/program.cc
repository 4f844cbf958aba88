#include "frontend/reduce/program.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/python_print.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/interpreter_code.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::reduce {
namespace {

using torch::jit::Block;
using torch::jit::Node;

// The most iterations of a loop in eager mode, which take a fraction of a
// second.
constexpr int64_t kMostIterations = 10000;

torch::jit::Module ModuleOf(const Program& program) {
  torch::jit::Module module("__torch__.Reduced");
  const std::shared_ptr<torch::jit::Graph> graph = program.graph->copy();
  for (size_t i = 0; i < graph->inputs().size(); ++i)
    graph->inputs()[i]->setDebugName(absl::StrCat("x", i));
  graph->insertInput(0, "self")->setType(module.type());
  torch::jit::Function* forward =
      module._ivalue()->compilation_unit()->create_function(
          c10::QualifiedName(*module.type()->name(), "forward"), graph);
  module.type()->addMethod(forward);
  return module;
}

bool MovesValues(const Node& node) {
  switch (node.kind()) {
    case c10::prim::Constant:
    case c10::prim::ListConstruct:
    case c10::prim::ListUnpack:
    case c10::prim::TupleConstruct:
    case c10::prim::TupleUnpack:
    case c10::prim::TupleIndex:
    case c10::prim::DictConstruct:
      return true;
    default:
      return false;
  }
}

int CountIn(const Block& block) {
  int count = 0;
  for (const Node* node : block.nodes()) {
    count += !MovesValues(*node);
    for (const Block* inner : node->blocks()) count += CountIn(*inner);
  }
  return count;
}

void AddTensor(const at::Tensor& tensor, std::string& text) {
  if (!frontend::IsPlainTensor(tensor)) return;
  const at::Tensor dense = tensor.contiguous();
  absl::StrAppend(
      &text, " ",
      std::hash<std::string_view>()(std::string_view(
          static_cast<const char*>(dense.const_data_ptr()), dense.nbytes())));
  for (const int64_t stride : tensor.strides())
    absl::StrAppend(&text, ",", stride);
}

void AddConstants(const Block& block, std::string& text) {
  for (const Node* node : block.nodes()) {
    if (node->kind() == c10::prim::Constant &&
        node->hasAttribute(c10::attr::value) &&
        node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t)
      AddTensor(node->t(c10::attr::value), text);
    for (const Block* inner : node->blocks()) AddConstants(*inner, text);
  }
}

// Makes loops of the block raise that do not end in time: a condition may have
// become one that is always true.
void BoundLoops(Block* block, torch::jit::Graph& graph) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) BoundLoops(inner, graph);
    if (node->kind() != c10::prim::Loop) continue;
    Block* body = node->blocks()[0];
    const torch::jit::WithInsertPoint at_start(*body->nodes().begin());
    torch::jit::Value* over =
        graph.insert(c10::aten::ge, {body->inputs()[0], kMostIterations});
    Node* check = graph.insertNode(graph.create(c10::prim::If, {over}, 0));
    Block* raises = check->addBlock();
    check->addBlock();
    const torch::jit::WithInsertPoint in_branch(raises);
    graph.insert(
        c10::prim::RaiseException,
        {std::string(
            "a loop runs more than 10000 times, too often to be reduced")});
  }
}

absl::Status WriteBytes(const std::string& path, std::string_view bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(path, ": cannot be written: ",
                   errno != 0 ? std::strerror(errno) : "the disk may be full"));
}

}  // namespace

absl::StatusOr<Recording> RunEager(const Program& program) {
  Recording recording;
  const absl::Status status =
      frontend::CatchExceptions(absl::StatusCode::kInternal, "forward", [&] {
        const c10::NoGradGuard no_grad;
        const std::shared_ptr<torch::jit::Graph> graph = program.graph->copy();
        std::vector<const torch::jit::Value*> recorded;
        auto twin = graph->nodes().begin();
        for (const Node* node : program.graph->nodes()) {
          for (size_t i = 0; i < node->outputs().size(); ++i) {
            graph->registerOutput(twin->outputs()[i]);
            recorded.push_back(node->outputs()[i]);
          }
          ++twin;
        }
        BoundLoops(graph->block(), *graph);
        torch::jit::Stack stack;
        for (size_t i = 0; i < program.inputs.size(); ++i) {
          stack.push_back(program.inputs[i].deepcopy());
          recording[program.graph->inputs()[i]] = program.inputs[i];
        }
        const auto code = frontend::MakeCode(*graph, "forward");
        torch::jit::InterpreterState(*code).run(stack);
        for (size_t i = 0; i < recorded.size(); ++i)
          recording[recorded[i]] = stack[stack.size() - recorded.size() + i];
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return recording;
}

int OperatorCount(const Program& program) {
  return CountIn(*program.graph->block());
}

std::string Fingerprint(const Program& program) {
  std::string text = program.graph->toString(/*print_source_locations=*/false);
  AddConstants(*program.graph->block(), text);
  absl::StrAppend(&text, "\n", frontend::ValueList(program.inputs).Describe());
  for (const c10::IValue& input : program.inputs) {
    if (input.isTensor()) AddTensor(input.toTensor(), text);
  }
  for (const frontend::InputSpec& spec : program.specs)
    absl::StrAppend(&text, "\n", ToString(spec));
  return text;
}

absl::StatusOr<std::string> ProgramBytes(const Program& program) {
  std::string bytes;
  const absl::Status status = frontend::CatchExceptions(
      absl::StatusCode::kUnimplemented, "saving the program", [&] {
        std::ostringstream stream;
        ModuleOf(program).save(stream);
        bytes = std::move(stream).str();
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return bytes;
}

absl::Status SaveProgram(const Program& program, const std::string& model_file,
                         const std::string& inputs_file) {
  AITUNE_ASSIGN_OR_RETURN(const std::string model, ProgramBytes(program));
  std::vector<char> inputs;
  AITUNE_RETURN_IF_ERROR(frontend::CatchExceptions(
      absl::StatusCode::kUnimplemented, "saving the inputs", [&] {
        inputs =
            torch::jit::pickle_save(c10::ivalue::Tuple::create(program.inputs));
        return absl::OkStatus();
      }));
  AITUNE_RETURN_IF_ERROR(WriteBytes(model_file, model));
  return WriteBytes(inputs_file,
                    std::string_view(inputs.data(), inputs.size()));
}

absl::StatusOr<std::string> ProgramText(const Program& program) {
  std::string text;
  const absl::Status status = frontend::CatchExceptions(
      absl::StatusCode::kUnimplemented, "printing the program", [&] {
        const torch::jit::Module module = ModuleOf(program);
        std::vector<c10::IValue> constants;
        torch::jit::PrintDepsTable types;
        torch::jit::PythonPrint printer(constants, types);
        printer.printMethod(module.get_method("forward").function());
        text = printer.str();
        for (size_t i = 0; i < program.inputs.size(); ++i) {
          absl::StrAppend(&text, "\nx", i, ": ",
                          i < program.specs.size()
                              ? ToString(program.specs[i])
                              : frontend::Describe(program.inputs[i]));
        }
        for (size_t i = 0; i < constants.size(); ++i) {
          absl::StrAppend(&text, "\nCONSTANTS.c", i, ": ",
                          frontend::Describe(constants[i]));
        }
        absl::StrAppend(&text, "\n\n", program.graph->toString(false));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return text;
}

}  // namespace aitune::reduce
