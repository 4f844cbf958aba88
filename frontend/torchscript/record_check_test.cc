// Records of TorchScript files that LibTorch reads without looking.
#include "frontend/torchscript/record_check.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <filesystem>

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
  caffe2::serialize::PyTorchStreamReader reader(path);
  const std::string changed = path + ".changed";
  {
    caffe2::serialize::PyTorchStreamWriter writer(changed);
    for (const std::string& name : reader.getAllRecords()) {
      if (name == ".data/serialization_id" || name == "version") continue;
      auto [data, size] = reader.getRecord(name);
      std::string record(static_cast<const char*>(data.get()), size);
      if (name == "code/__torch__.py" && !code.empty()) record = code;
      if (name == "code/__torch__.py.debug_pkl") {
        const std::vector<char> bytes = torch::jit::pickle(debug);
        record.assign(bytes.begin(), bytes.end());
      }
      writer.writeRecord(name, record.data(), record.size());
    }
    writer.writeEndOfFile();
  }
  std::filesystem::rename(changed, path);
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
  EXPECT_THAT(std::string(check.code.message()), HasSubstr("code/b.py"));
}

}  // namespace
}  // namespace aitune::frontend
