// Records of TorchScript files that LibTorch reads without looking.
#include "frontend/torchscript/record_check.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <filesystem>

#include "frontend/testing/records.h"
#include "frontend/torchscript/model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string TempFile(const std::string& name) {
  return (std::filesystem::path(::testing::TempDir()) / name).string();
}

// The file at `path` with `code` as its program, and as where that came from.
void WriteWithCode(const std::string& path, const std::string& code,
                   const c10::IValue& debug) {
  torch::jit::Module module("__torch__.Scale");
  module.define("def forward(self, x: Tensor) -> Tensor:\n  return x * 2\n");
  module.save(path);
  ChangeRecords(path, [&](const std::string& name, std::string record) {
    if (name == "code/__torch__.py" && !code.empty()) record = code;
    if (name == "code/__torch__.py.debug_pkl") {
      const std::vector<char> bytes = torch::jit::pickle(debug);
      record.assign(bytes.begin(), bytes.end());
    }
    return record;
  });
}

// LibTorch reads them while it makes the text of an error, without looking.
TEST(RecordCheck, PlacesInPythonThatAreDamagedAreLeftOut) {
  const auto tuple = [](std::vector<c10::IValue> values) {
    return c10::IValue(c10::ivalue::Tuple::create(std::move(values)));
  };
  const auto range = [&](const c10::IValue& source, int64_t begin,
                         int64_t end) {
    return tuple({tuple({int64_t{0}, tuple({source, begin, end}), {}})});
  };
  const auto with_texts = [&](int64_t text, int64_t file, int64_t end) {
    return tuple(
        {"FORMAT_WITH_STRING_TABLE", tuple({"x = y", "net.py"}),
         range(tuple({c10::List<int64_t>({text}), file, int64_t{1}}), 0, end)});
  };
  const std::string path = TempFile("places.pt");
  const std::string wrong = "class Scale(Module):\n  def forward(self, ) )\n";
  for (const c10::IValue& debug :
       {with_texts(7, 1, 5), with_texts(0, 9, 5), with_texts(0, 1, 50),
        range(tuple({"x = y", "net.py", int64_t{1}}), 9, 5),
        range(tuple({"x = y"}), 0, 5), tuple({}), c10::IValue("text")}) {
    WriteWithCode(path, wrong, debug);
    EXPECT_THAT(std::string(Model::Load(path).status().message()),
                HasSubstr("expected"));
    WriteWithCode(path, "", debug);
    EXPECT_TRUE(Model::Load(path).ok()) << debug;
  }
  // Those in order are told.
  WriteWithCode(path, wrong, with_texts(0, 1, 5));
  EXPECT_THAT(std::string(Model::Load(path).status().message()),
              HasSubstr("expected"));
}

TEST(RecordCheck, AnImportWithoutAnEndIsNotReadForever) {
  const std::string path = TempFile("import.pt");
  const c10::IValue places(c10::ivalue::Tuple::create({}));
  for (const char* code : {"import: x", "op_version_set = 1\nimport (\n",
                           "import a.b", "import", "import x\n  y\n"}) {
    WriteWithCode(path, code, places);
    EXPECT_THAT(std::string(Model::Load(path).status().message()),
                AllOf(HasSubstr("code/__torch__.py"), HasSubstr("import")))
        << code;
  }
  // Names may begin with it.
  torch::jit::Module module("__torch__.Names");
  module.register_parameter("import_weight", at::ones({3}), false);
  module.define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "    important = torch.relu(x) * self.import_weight\n"
      "    return important * important\n");
  // And what the caller saves with it is no code.
  module.save(path, {{"model.py", "import torch\n\nimport (\n"}});
  const auto model = Model::Load(path);
  EXPECT_TRUE(model.ok()) << model.status();
}

TEST(RecordCheck, APlaceThatCannotBeReadLeavesNoCodeUnread) {
  const std::string path = TempFile("both.pt");
  {
    caffe2::serialize::PyTorchStreamWriter writer(path);
    for (const char* name :
         {"code/a.py.debug_pkl", "code/b.py", "code/__torch__.py"}) {
      const std::string record =
          name == std::string("code/b.py") ? "import: x\n" : "no record";
      writer.writeRecord(name, record.data(), record.size());
    }
    writer.writeEndOfFile();
  }
  const RecordCheck check = CheckRecords(path);
  EXPECT_FALSE(check.debug_files_are_sound);
  EXPECT_THAT(std::string(check.content.message()), HasSubstr("code/b.py"));
}

// A model with a weight, and one in a list and a constant beside it.
void SaveModelWithTensors(const std::string& path) {
  torch::jit::Module module("__torch__.Weights");
  module.register_parameter("weight", at::ones({3, 5}), false);
  module.register_attribute("more",
                            c10::ListType::create(c10::TensorType::get()),
                            c10::List<at::Tensor>({at::ones({2, 9})}));
  module.define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "    return x * self.weight + self.more[0].sum()\n");
  module.save(path);
}

// LibTorch takes a record for as long as the file says that it is, and a
// tensor for as large.
TEST(RecordCheck, WeightsBeyondTheirRecordsAreRefused) {
  const std::string path = TempFile("short.pt");
  const auto load = [&] { return Model::Load(path).status(); };
  SaveModelWithTensors(path);
  EXPECT_TRUE(load().ok()) << load();

  for (const char* short_one : {"data/0", "data/1"}) {
    SaveModelWithTensors(path);
    ChangeRecords(path, [&](const std::string& name, std::string record) {
      return name == short_one ? record.substr(0, 8) : record;
    });
    EXPECT_EQ(load().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(load().message()),
                AllOf(HasSubstr(path), HasSubstr("has 8 bytes in the file")));
  }
  // In pickle's words K is an integer.
  for (const auto& change :
       {std::pair("K\3K\5", "K\3K\6"), std::pair("K\2K\x09", "K\7K\x09")}) {
    SaveModelWithTensors(path);
    EXPECT_TRUE(ReplaceInPickle(path, change.first, change.second));
    EXPECT_THAT(std::string(load().message()),
                AllOf(HasSubstr(path), HasSubstr("elements outside of its")));
  }
}

}  // namespace
}  // namespace aitune::frontend
