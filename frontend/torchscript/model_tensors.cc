#include "frontend/torchscript/model_tensors.h"

#include <ATen/Parallel.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <functional>
#include <map>
#include <new>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/live_state.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/module_objects.h"
#include "frontend/torchscript/state_writes.h"
#include "frontend/values/torch_util.h"
#include "runtime/hash/sha256.h"

namespace aitune::frontend {
namespace {

// Tensors are hashed in parts, so that threads share a large one.
constexpr int64_t kPartBytes = int64_t{4} << 20;

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

struct Program {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<NamedTensor> tensors;
  std::string values;       // attributes and constants, as text
  std::string unseen;       // why the program is more than this
  bool binds_late = false;  // methods of interfaces are called
  // Of the modules and objects, each once.
  std::vector<c10::ClassTypePtr> classes;
  absl::StatusOr<LiveState> live;  // of the tensors, what calls write
  // Objects of TorchScript classes, numbered as they are found: two attributes
  // may have one, and one may have itself.
  std::map<const c10::ivalue::Object*, size_t> objects;
};

void Add(std::string_view text, Sha256* hash) {
  hash->Update(absl::StrCat(text.size(), ":"));
  hash->Update(text);
}

std::string TextOf(const c10::IValue& value, const std::string& name,
                   Program& program);

// Adds the classes that are in `type`.
void AddClasses(const c10::TypePtr& type, Program& program) {
  if (const c10::ClassTypePtr found = type->cast<c10::ClassType>()) {
    if (std::find(program.classes.begin(), program.classes.end(), found) !=
        program.classes.end())
      return;
    program.classes.push_back(found);
  }
  for (const c10::TypePtr& inner : type->containedTypes())
    AddClasses(inner, program);
}

std::string TextOfObject(const c10::ivalue::Object& object,
                         const std::string& name, Program& program) {
  const auto [place, is_new] =
      program.objects.emplace(&object, program.objects.size());
  if (!is_new) return absl::StrCat("object ", place->second);
  const c10::ClassTypePtr type = object.type();
  AddClasses(type, program);
  std::string text = absl::StrCat(type->annotation_str(), "{");
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const std::string& attribute = type->getAttributeName(i);
    absl::StrAppend(
        &text, attribute, "=",
        TextOf(object.getSlot(i), absl::StrCat(name, ".", attribute), program),
        ",");
  }
  return absl::StrCat(text, "}");
}

// The value as text; tensors inside go to the program's tensors.
std::string TextOf(const c10::IValue& value, const std::string& name,
                   Program& program) {
  if (value.isTensor()) {
    program.tensors.push_back({name, value.toTensor()});
    return "tensor";
  }
  if (value.isTuple() || value.isList()) {
    const std::vector<c10::IValue> elements =
        value.isTuple() ? value.toTupleRef().elements().vec()
                        : value.toList().vec();
    std::string text = absl::StrCat(value.type()->annotation_str(), "(");
    for (const c10::IValue& element : elements)
      absl::StrAppend(&text, TextOf(element, name, program), ",");
    return absl::StrCat(text, ")");
  }
  if (value.isGenericDict()) {
    std::string text = absl::StrCat(value.type()->annotation_str(), "{");
    for (const auto& entry : value.toGenericDict())
      absl::StrAppend(&text, TextOf(entry.key(), name, program), ":",
                      TextOf(entry.value(), name, program), ",");
    return absl::StrCat(text, "}");
  }
  if (value.isNone() || value.isInt() || value.isBool() || value.isDevice() ||
      value.isComplexDouble()) {
    std::ostringstream text;
    text << value;
    return text.str();
  }
  if (value.isDouble()) return absl::StrFormat("%a", value.toDouble());
  if (value.isString())
    return absl::StrCat("'", value.toStringRef().size(), ":",
                        value.toStringRef(), "'");
  if (value.isEnum()) {
    const c10::ivalue::EnumHolder& holder = *value.toEnumHolder();
    return absl::StrCat(holder.qualifiedClassName(), ".", holder.name(), "=",
                        TextOf(holder.value(), name, program));
  }
  if (value.isCustomClass()) {
    program.unseen =
        absl::StrCat("its attribute ", name, " is an object of the C++ class ",
                     value.type()->annotation_str());
    return "";
  }
  if (value.isObject()) return TextOfObject(value.toObjectRef(), name, program);
  program.unseen =
      absl::StrCat("its attribute ", name, " is of the kind ", value.tagKind());
  return "";
}

// Adds the values of constants: printed graphs round numbers and leave out
// elements.
void VisitBlock(torch::jit::Block* block, Program& program) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) VisitBlock(inner, program);
    const c10::Symbol kind = node->kind();
    const bool is_of_interface =
        kind == c10::prim::CallMethod &&
        node->input(0)->type()->kind() == c10::TypeKind::InterfaceType;
    program.binds_late |= is_of_interface;
    if (kind == c10::prim::CallFunction ||
        (kind == c10::prim::CallMethod && !is_of_interface))
      program.unseen = "it calls a function that is bound at run time";
    for (const torch::jit::Value* made : node->outputs())
      AddClasses(made->type(), program);
    if (kind != c10::prim::Constant) continue;
    const std::optional<c10::IValue> value =
        torch::jit::toIValue(node->output());
    if (!value) {
      // Inlining leaves the names of the functions that it inlined.
      if (!node->hasUses()) continue;
      program.unseen = "it has a function as a value";
      continue;
    }
    const std::string name = absl::StrCat("constant ", program.tensors.size());
    absl::StrAppend(&program.values, TextOf(*value, name, program), "\n");
  }
}

// Adds the programs of all methods of all classes that the model has objects
// of, or that its programs name: a method of an interface is one of these.
void AddMethods(Program& program) {
  for (size_t i = 0; i < program.classes.size(); ++i) {
    const c10::ClassTypePtr type = program.classes[i];
    for (torch::jit::Function* const method : type->methods()) {
      absl::StrAppend(&program.values, method->qualname().qualifiedName(), "=");
      if (!method->isGraphFunction()) {
        program.unseen = "it has a method that is no program";
        continue;
      }
      method->ensure_defined();
      const std::shared_ptr<torch::jit::Graph> graph =
          torch::jit::toGraphFunction(*method).graph()->copy();
      InlineCalls(*graph);
      absl::StrAppend(&program.values,
                      graph->toString(/*print_source_locations=*/false), "\n");
      VisitBlock(graph->block(), program);
    }
  }
}

Program Read(const Model& model) {
  Program program;
  const torch::jit::Module& module = model.impl().module();
  VisitAttributes(*module._ivalue(),
                  [&](const std::string& name, const c10::IValue& value) {
                    if (value.isModule()) return;
                    absl::StrAppend(&program.values, name, "=",
                                    TextOf(value, name, program), "\n");
                  });
  const SubmoduleChanges& changes = model.impl().changes;
  for (const std::string& name : changes.disabled)
    absl::StrAppend(&program.values, "disabled ", name, "\n");
  for (const auto& [name, source] : changes.substitutes)
    absl::StrAppend(&program.values, "substitute ", name, " ", source.size(),
                    ":", source, "\n");
  program.live = LiveState::Of(module, StateWrites(module));
  program.graph = module.get_method("forward").graph()->copy();
  InlineCalls(*program.graph);
  VisitBlock(program.graph->block(), program);
  if (program.binds_late) {
    VisitModules(*module._ivalue(), [&](c10::ivalue::Object& object) {
      // An attribute's type does not say it where that is an interface.
      absl::StrAppend(&program.values, object.type()->annotation_str(), "\n");
      AddClasses(object.type(), program);
    });
    AddMethods(program);
  }
  return program;
}

// The digests of the parts of all tensors, in order. A tensor counts once,
// whatever refers to it.
class TensorHasher {
 public:
  void Add(const at::Tensor& tensor) {
    const auto [place, added] =
        numbers_.emplace(tensor.unsafeGetTensorImpl(), tensors_.size());
    order_.push_back(place->second);
    if (!added) return;
    const at::Tensor dense = tensor.contiguous();
    const auto bytes = static_cast<int64_t>(dense.nbytes());
    std::vector<size_t>& parts = tensors_.emplace_back();
    for (int64_t begin = 0; begin < bytes; begin += kPartBytes) {
      parts.push_back(parts_.size());
      parts_.push_back({dense, begin, std::min(kPartBytes, bytes - begin)});
    }
  }

  void Finish(Sha256* hash) {
    digests_.resize(parts_.size());
    at::parallel_for(
        0, static_cast<int64_t>(parts_.size()), 1,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const Part& part = parts_[i];
            digests_[i] = Sha256Of(
                {static_cast<const char*>(part.tensor.const_data_ptr()) +
                     part.begin,
                 static_cast<size_t>(part.bytes)});
          }
        });
    for (const size_t tensor : order_) {
      for (const size_t part : tensors_[tensor])
        hash->Update({reinterpret_cast<const char*>(digests_[part].data()),
                      digests_[part].size()});
    }
  }

 private:
  struct Part {
    at::Tensor tensor;
    int64_t begin, bytes;
  };
  std::map<const c10::TensorImpl*, size_t> numbers_;
  std::vector<std::vector<size_t>> tensors_;  // the parts of each
  std::vector<size_t> order_;                 // tensors as they were added
  std::vector<Part> parts_;
  std::vector<Sha256Digest> digests_;
};

absl::StatusOr<std::string> Hash(const Program& program) {
  if (!program.unseen.empty())
    return absl::UnimplementedError(
        absl::StrCat("the model can't be told from others: ", program.unseen));
  Sha256 hash;
  Add("aitune model 1", &hash);
  Add(program.graph->toString(/*print_source_locations=*/false), &hash);
  Add(program.values, &hash);
  TensorHasher tensors;
  for (const auto& [name, tensor] : program.tensors) {
    Add(name, &hash);
    if (!tensor.defined()) continue;
    if (tensor.layout() == at::kSparse && tensor.device().is_cpu()) {
      Add(absl::StrCat("sparse ", c10::toString(tensor.scalar_type()), "[",
                       absl::StrJoin(tensor.sizes(), ","), "] of ",
                       tensor._nnz(), tensor.is_coalesced() ? "" : " unsorted",
                       ", ", tensor.sparse_dim(), " axes"),
          &hash);
      tensors.Add(tensor._indices());
      tensors.Add(tensor._values());
      continue;
    }
    if (tensor.layout() != at::kStrided || !tensor.device().is_cpu() ||
        tensor.is_quantized() || !tensor.has_storage())
      return absl::UnimplementedError(
          absl::StrCat("the model can't be told from others: ", name,
                       " is no dense tensor in the CPU's memory"));
    Add(absl::StrCat(c10::toString(tensor.scalar_type()), "[",
                     absl::StrJoin(tensor.sizes(), ","), "]",
                     tensor.is_conj() || tensor.is_neg() ? "view" : ""),
        &hash);
    if (program.live.ok() && program.live->Find(tensor) != nullptr) {
      Add("written by calls", &hash);
      continue;
    }
    tensors.Add(tensor.resolve_conj().resolve_neg());
  }
  tensors.Finish(&hash);
  return ToHex(hash.Finish());
}

}  // namespace

std::vector<ConstantTensor> ModelTensors(const Model& model) {
  std::vector<ConstantTensor> tensors;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInternal, "", [&] {
        const auto add = [&](const std::string& name,
                             const c10::IValue& value) {
          if (!value.isTensor()) return;
          const at::Tensor& tensor = value.toTensor();
          ConstantTensor& constant = tensors.emplace_back();
          constant.name = name;
          if (!IsPlainTensor(tensor) || !tensor.is_contiguous() ||
              CodedWeights::IsUnmade(tensor))
            return;
          constant.view = ViewOf(tensor);
          constant.owner = std::make_shared<at::Tensor>(tensor);
        };
        const Model::Impl& impl = model.impl();
        std::unique_lock<std::mutex> held;
        if (impl.coded != nullptr) held = impl.coded->Hold();
        VisitAttributes(*impl.bare_module._ivalue(), add);
        const std::vector<ConstantTensor>& beside = impl.beside;
        tensors.insert(tensors.end(), beside.begin(), beside.end());
        return absl::OkStatus();
      });
  // Without memory nothing is known of the model.
  if (absl::IsResourceExhausted(status)) throw std::bad_alloc();
  if (!status.ok()) tensors.clear();
  return tensors;
}

absl::StatusOr<std::string> ModelSha256(const Model& model) {
  absl::StatusOr<std::string> hash;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kUnimplemented, "", [&] {
        hash = Hash(Read(model));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return hash;
}

}  // namespace aitune::frontend
