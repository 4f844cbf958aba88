// Calls in C whose arguments are numbers, texts, None and lists, by place and
// by name; what a module tells of its parameters; and calls that warm it up.
#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"

namespace ait {
namespace {

using ::testing::AllOf;

constexpr int64_t kSizes[] = {2, 3};

ait_tensor Argument(int32_t kind, int32_t dtype, const void* data) {
  ait_tensor argument = {};
  argument.struct_size = sizeof argument;
  argument.kind = kind;
  argument.dtype = dtype;
  argument.data = const_cast<void*>(data);
  return argument;
}
ait_tensor Int(const int64_t& value) {
  return Argument(AIT_NUMBER, AIT_INT64, &value);
}
ait_tensor Text(const char* value) { return Argument(AIT_TEXT, 0, value); }
ait_tensor None() { return Argument(AIT_NONE, 0, nullptr); }
ait_tensor List(const std::vector<ait_tensor>& elements, const int64_t& count,
                int32_t kind = AIT_LIST) {
  ait_tensor list = Argument(kind, 0, elements.data());
  list.rank = 1;
  list.sizes = &count;
  return list;
}
ait_tensor Named(const char* name, ait_tensor argument) {
  argument.name = name;
  return argument;
}

class CArguments : public CApi {
 protected:
  void SetUp() override {
    CApi::SetUp();
    Load(R"(
def forward(self, x: Tensor, k: int, scale: float = 1.0, flag: bool = False,
            mode: str = "add", mask: Optional[Tensor] = None,
            more: Optional[List[int]] = None):
    y = x * k * scale
    if flag:
        y = -y
    if mode == "add":
        y = y + 1
    if mask is not None:
        y = y * mask
    if more is not None:
        for one in more:
            y = y + one
    return y
)");
  }
  void TearDown() override { ait_module_free(module_); }

  void Load(const std::string& source) {
    ait_module_free(module_);
    torch::jit::Module module("Mixed");
    module.define(source);
    module.save(model_);
    ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module_)), "");
  }

  // The first element of the result; the error's text if there is one.
  std::string Run(const std::vector<ait_tensor>& inputs, double expected) {
    ait_result* result = nullptr;
    const std::string error =
        Take(ait_module_run(module_, inputs.data(), inputs.size(), &result));
    if (!error.empty()) return error;
    EXPECT_EQ(ait_result_count(result), 1u);
    const ait_tensor output = OfResult(result, 0);
    EXPECT_FLOAT_EQ(static_cast<float*>(output.data)[0], expected);
    ait_result_free(result);
    return "";
  }

  void ExpectTakesAll() {
    const double half = 0.5;
    const uint8_t yes = 1;
    const int64_t two = 2, one = 1, three = 3, ten = 10;
    const std::vector<ait_tensor> list = {Int(three), Int(ten)};
    EXPECT_EQ(Run({x(), Int(three)}, 7), "");
    EXPECT_EQ(
        Run({x(), Int(three), Argument(AIT_NUMBER, AIT_FLOAT64, &half)}, 4),
        "");
    // As Python does, an int is a float for a parameter that is one.
    EXPECT_EQ(Run({x(), Int(three), Int(two)}, 13), "");
    EXPECT_EQ(Run({x(), Int(three), Int(one),
                   Argument(AIT_NUMBER, AIT_BOOL, &yes), Text("none"), None()},
                  -6),
              "");
    EXPECT_EQ(Run({x(), Named("k", Int(three))}, 7), "");
    EXPECT_EQ(Run({Named("mode", Text("none")), Named("k", Int(three)),
                   Named("x", x())},
                  6),
              "");
    EXPECT_EQ(Run({x(), Int(three), Named("mask", x())}, 14), "");
    EXPECT_EQ(Run({x(), Int(three), Named("more", List(list, two))}, 20), "");
  }

  ait_tensor x() const { return Tensor(kSizes, 2, elements_.data()); }

  ait_usage Usage() const {
    ait_usage usage = {};
    usage.struct_size = sizeof usage;
    EXPECT_EQ(Take(ait_module_usage(module_, &usage)), "");
    return usage;
  }

  const std::vector<float> elements_ = std::vector<float>(6, 2.f);
  ait_module* module_ = nullptr;
};

TEST_F(CArguments, OfEveryKindByPlaceAndByName) {
  ExpectTakesAll();
  const int64_t three = 3;
  const ait_tensor sample[] = {x(), Named("k", Int(three))};
  ASSERT_EQ(Take(ait_module_record(module_, sample, 2, 1)), "");
  ASSERT_EQ(Take(ait_module_tune(module_, "OneBackend", 0)), "");
  ExpectTakesAll();
  // The tuned version runs a call by name.
  const int64_t before = Usage().eager_calls;
  EXPECT_EQ(Run({Named("k", Int(three)), Named("x", x())}, 7), "");
  EXPECT_EQ(Usage().eager_calls, before);
  // Another number is another version.
  const int64_t four = 4, versions = Usage().versions;
  EXPECT_EQ(Run({x(), Int(four)}, 9), "");
  EXPECT_EQ(Usage().eager_calls, before);
  EXPECT_EQ(Usage().versions, versions + 1);
}

TEST_F(CArguments, OfEveryWayToCall) {
  const int64_t three = 3;
  const ait_tensor inputs[] = {x(), Named("k", Int(three))};
  std::vector<float> into(6);
  const ait_tensor output = Tensor(kSizes, 2, into.data());
  for (const bool tuned : {false, true}) {
    if (tuned) {
      ASSERT_EQ(Take(ait_module_record(module_, inputs, 2, 1)), "");
      ASSERT_EQ(Take(ait_module_tune(module_, "OneBackend", 0)), "");
    }
    ASSERT_EQ(Take(ait_module_run_into(module_, inputs, 2, &output, 1)), "");
    EXPECT_EQ(into, std::vector<float>(6, 7.f));
    into.assign(6, 0);
    ait_binding* binding = nullptr;
    ASSERT_EQ(Take(ait_module_bind(module_, inputs, 2, &output, 1, &binding)),
              "");
    ASSERT_EQ(Take(ait_binding_run(binding, nullptr)), "");
    ait_binding_free(binding);
    EXPECT_EQ(into, std::vector<float>(6, 7.f));
    into.assign(6, 0);
    ait_call* call = nullptr;
    ASSERT_EQ(Take(ait_module_run_async(module_, inputs, 2, &output, 1, -1,
                                        nullptr, nullptr, &call)),
              "");
    ASSERT_EQ(Take(ait_call_wait(call, nullptr)), "");
    ait_call_free(call);
    EXPECT_EQ(into, std::vector<float>(6, 7.f));
    ait_profile* profile = nullptr;
    ASSERT_EQ(Take(ait_module_profile(module_, inputs, 2, 1, &profile)), "");
    EXPECT_GE(ait_profile_steps(profile), 1u);
    ait_profile_free(profile);
  }
}

TEST_F(CArguments, ListsAndTuplesOfTensors) {
  Load(R"(
def forward(self, parts: List[Tensor], pair: Tuple[Tensor, int]):
    return (parts[0] + parts[1]) * pair[1] + pair[0]
)");
  const int64_t two = 2, three = 3;
  const std::vector<ait_tensor> parts = {x(), x()}, pair = {x(), Int(three)};
  EXPECT_EQ(
      Run({List(parts, two), Named("pair", List(pair, two, AIT_TUPLE))}, 14),
      "");
  // The result may be an argument.
  Load("def forward(self, parts: List[Tensor]):\n    return parts[0]\n");
  EXPECT_EQ(Run({List(parts, two)}, 2), "");
}

TEST_F(CArguments, DictsAndResultsOfEveryKind) {
  Load(R"(
def forward(self, given: Dict[str, Tensor], k: int):
    half = {"half": k / 2}
    return {"sum": given["a"] + given["b"]}, k + 1, "text", None, half, k == 3
)");
  const int64_t two = 2, three = 3;
  const std::vector<ait_tensor> entries = {Named("a", x()), Named("b", x())};
  for (const bool tuned : {false, true}) {
    const ait_tensor inputs[] = {List(entries, two, AIT_DICT), Int(three)};
    if (tuned) {
      ASSERT_EQ(Take(ait_module_record(module_, inputs, 2, 2)), "");
      ASSERT_EQ(Take(ait_module_tune(module_, "OneBackend", 0)), "");
    }
    ait_result* result = nullptr;
    ASSERT_EQ(Take(ait_module_run(module_, inputs, 2, &result)), "");
    EXPECT_EQ(ait_result_count(result), 1u);
    ASSERT_EQ(ait_result_values(result), 6u);
    const auto value = [&](size_t index) {
      ait_tensor found = {};
      found.struct_size = sizeof found;
      EXPECT_EQ(Take(ait_result_value(result, index, &found)), "");
      return found;
    };
    EXPECT_STREQ(value(0).name, "[0]['sum']");
    EXPECT_EQ(value(0).kind, AIT_TENSOR);
    EXPECT_FLOAT_EQ(static_cast<float*>(value(0).data)[0], 4);
    EXPECT_STREQ(value(1).name, "[1]");
    EXPECT_EQ(value(1).kind, AIT_NUMBER);
    EXPECT_EQ(value(1).dtype, AIT_INT64);
    EXPECT_EQ(*static_cast<int64_t*>(value(1).data), 4);
    EXPECT_EQ(value(2).kind, AIT_TEXT);
    EXPECT_STREQ(static_cast<char*>(value(2).data), "text");
    EXPECT_EQ(value(3).kind, AIT_NONE);
    EXPECT_STREQ(value(4).name, "[4]['half']");
    EXPECT_EQ(value(4).dtype, AIT_FLOAT64);
    EXPECT_EQ(*static_cast<double*>(value(4).data), 1.5);
    EXPECT_EQ(value(5).dtype, AIT_BOOL);
    EXPECT_EQ(*static_cast<uint8_t*>(value(5).data), 1);
    ait_tensor none = {};
    none.struct_size = sizeof none;
    EXPECT_EQ(Take(ait_result_value(result, 6, &none)),
              "there is no value 6 in a result of 6");
    none.struct_size = offsetof(ait_tensor, name);
    EXPECT_THAT(Take(ait_result_value(result, 0, &none)),
                HasSubstr("has the struct_size"));
    ait_result_free(result);
  }
  const std::vector<ait_tensor> without = {x()};
  const int64_t one = 1;
  EXPECT_THAT(Run({List(without, one, AIT_DICT), Int(three)}, 0),
              HasSubstr("input 0[0] has no name"));
}

TEST_F(CArguments, SaysWhatIsWrong) {
  const int64_t three = 3, less = -1;
  EXPECT_THAT(Run({x(), Named("q", Int(three))}, 0),
              AllOf(HasSubstr("names the argument 'q', which there is not"),
                    HasSubstr("forward(")));
  EXPECT_THAT(Run({x(), Int(three), Named("k", Int(three))}, 0),
              HasSubstr("gives the argument 'k' twice"));
  EXPECT_THAT(Run({x(), Named("flag", Int(three))}, 0),
              HasSubstr("lacks the argument 'k'"));
  EXPECT_THAT(Run({Named("x", x()), Int(three)}, 0),
              HasSubstr("input 1 has no name and comes after 'x'"));
  EXPECT_THAT(Run({x(), Argument(AIT_NUMBER, AIT_INT32, &three)}, 0),
              HasSubstr("input 1 is a number of the dtype 6"));
  EXPECT_THAT(Run({x(), Argument(AIT_NUMBER, AIT_INT64, nullptr)}, 0),
              HasSubstr("without data"));
  EXPECT_THAT(Run({x(), Argument(AIT_TEXT, 0, nullptr)}, 0),
              HasSubstr("input 1 is a text without data"));
  EXPECT_THAT(Run({x(), Argument(77, 0, nullptr)}, 0),
              HasSubstr("input 1 has the kind 77"));
  EXPECT_THAT(Run({x(), Int(three), Named("more", List({}, less))}, 0),
              HasSubstr("is a list without a number of elements"));
  std::vector<ait_tensor> endless(1);
  const int64_t one = 1;
  endless[0] = List(endless, one);
  EXPECT_THAT(Run({x(), endless[0]}, 0), HasSubstr("more than 16 lists"));
  const ait_tensor inputs[] = {x(), Int(three)};
  EXPECT_THAT(Take(ait_module_run_into(module_, inputs, 2, &inputs[1], 1)),
              HasSubstr("output 0 must be a tensor"));
}

// The first one says where the others are.
TEST_F(CArguments, SizesThatWereNotSetAreRefused) {
  const int64_t three = 3, two = 2;
  for (const size_t size : {size_t{1} << 40, size_t{4104}, size_t{60}}) {
    ait_tensor first = x(), element = Int(three);
    first.struct_size = element.struct_size = size;
    EXPECT_THAT(Run({first, Int(three)}, 0),
                HasSubstr(absl::StrCat("input 0 has the struct_size ", size)));
    const std::vector<ait_tensor> list = {element, Int(three)};
    EXPECT_THAT(
        Run({x(), Int(three), Named("more", List(list, two))}, 0),
        HasSubstr(absl::StrCat("input 2[0] has the struct_size ", size)));
    const ait_tensor outputs[] = {first, x()};
    const ait_tensor inputs[] = {x(), Int(three)};
    EXPECT_THAT(Take(ait_module_run_into(module_, inputs, 2, outputs, 2)),
                HasSubstr("output 0 has the struct_size"));
  }
  ait_tensor second = Int(three);
  second.struct_size = 0;
  EXPECT_THAT(Run({x(), second}, 0),
              HasSubstr("input 1 has the struct_size 0, but the first one "));
}

TEST_F(CArguments, ADictHasEachKeyOnce) {
  Load("def forward(self, x: Dict[str, Tensor]):\n    return x['a']\n");
  const int64_t two = 2;
  const std::vector<ait_tensor> twice = {Named("a", x()), Named("a", x())};
  EXPECT_THAT(Run({List(twice, two, AIT_DICT)}, 0),
              HasSubstr("input 0 has the key 'a' twice"));
}

TEST_F(CArguments, StructuresOfProgramsWithoutKindsAreTensorsInOrder) {
  Load("def forward(self, x: Tensor):\n    return x + 1\n");
  struct {
    size_t struct_size;
    int32_t dtype, rank;
    const int64_t* sizes;
    void* data;
    int32_t device_type, device_index;
    uint64_t behind = ~uint64_t{0};
  } old;
  old.struct_size = offsetof(ait_tensor, name);
  old.dtype = AIT_FLOAT32;
  old.rank = 2;
  old.sizes = kSizes;
  old.data = const_cast<float*>(elements_.data());
  old.device_type = AIT_CPU;
  old.device_index = 0;
  const auto* input = reinterpret_cast<const ait_tensor*>(&old);
  ait_result* result = nullptr;
  ASSERT_EQ(Take(ait_module_run(module_, input, 1, &result)), "");
  auto* output = reinterpret_cast<ait_tensor*>(&old);
  ASSERT_EQ(Take(ait_result_tensor(result, 0, output)), "");
  EXPECT_FLOAT_EQ(*static_cast<float*>(old.data), 3);
  EXPECT_EQ(old.behind, ~uint64_t{0});
  ait_result_free(result);
}

TEST_F(CArguments, ParametersAreKnownBeforeTheModuleIsTuned) {
  const auto parameter = [&](size_t index, const auto& look) {
    ait_signature* signature = nullptr;
    ASSERT_EQ(Take(ait_module_signature(module_, &signature)), "");
    EXPECT_EQ(ait_signature_parameters(signature), 7u);
    ait_parameter found = {};
    found.struct_size = sizeof found;
    const std::string error =
        Take(ait_signature_parameter(signature, index, &found));
    look(error, found);
    ait_signature_free(signature);
  };
  parameter(0, [](const std::string&, const ait_parameter& found) {
    EXPECT_STREQ(found.name, "x");
    EXPECT_STREQ(found.type, "Tensor");
    EXPECT_EQ(found.has_default, 0);
    EXPECT_EQ(found.dtype, 0);
    EXPECT_EQ(found.rank, -1);
  });
  parameter(2, [](const std::string&, const ait_parameter& found) {
    EXPECT_STREQ(found.name, "scale");
    EXPECT_STREQ(found.type, "float");
    EXPECT_EQ(found.has_default, 1);
  });
  parameter(7, [](const std::string& error, const ait_parameter&) {
    EXPECT_EQ(error, "there is no parameter 7; the model has 7");
  });
  const int64_t three = 3, larger[] = {5, 3};
  const std::vector<float> more(15);
  for (const ait_tensor& input : {x(), Tensor(larger, 2, more.data())}) {
    const ait_tensor sample[] = {input, Int(three)};
    ASSERT_EQ(Take(ait_module_record(module_, sample, 2, *input.sizes)), "");
  }
  for (const bool tuned : {false, true}) {
    if (tuned) {
      ASSERT_EQ(Take(ait_module_tune(module_, "OneBackend", 0)), "");
    }
    parameter(0, [](const std::string&, const ait_parameter& found) {
      EXPECT_EQ(found.dtype, AIT_FLOAT32);
      ASSERT_EQ(found.rank, 2);
      EXPECT_LE(found.min_sizes[0], 2);
      EXPECT_GE(found.max_sizes[0], 5);
      EXPECT_EQ(found.min_sizes[1], 3);
      EXPECT_EQ(found.max_sizes[1], 3);
    });
    parameter(1, [](const std::string&, const ait_parameter& found) {
      EXPECT_STREQ(found.type, "int");
      EXPECT_EQ(found.dtype, 0);
      EXPECT_EQ(found.rank, -1);
    });
  }
}

TEST_F(CArguments, AWarmUpCompilesBeforeTheFirstCall) {
  Load("def forward(self, x: Tensor):\n    return torch.relu(x) + 1\n");
  ait_code code = AIT_OK;
  EXPECT_THAT(Take(ait_module_warm_up(module_, nullptr, 0), &code),
              HasSubstr("can't be warmed up without inputs"));
  EXPECT_EQ(code, AIT_FAILED_PRECONDITION);
  const ait_tensor two = x();
  ASSERT_EQ(Take(ait_module_record(module_, &two, 1, 2)), "");
  ASSERT_EQ(Take(ait_module_warm_up(module_, nullptr, 0)), "");  // in eager
  EXPECT_GT(Usage().eager_calls, 0);
  ASSERT_EQ(Take(ait_module_tune(module_, "OneBackend", 0)), "");
  const int64_t sizes[] = {1000, 3};
  const std::vector<float> many(3000, 2.f);
  const ait_tensor larger = Tensor(sizes, 2, many.data());
  ASSERT_EQ(Take(ait_module_warm_up(module_, &larger, 1)), "");
  const ait_usage warm = Usage();
  EXPECT_EQ(warm.recompilations, 1);
  EXPECT_EQ(warm.eager_calls, 0);
  EXPECT_EQ(Run({larger}, 3), "");
  EXPECT_EQ(Usage().recompilations, 1);
  const char* const texts[] = {"float32[3000,3]"};
  ASSERT_EQ(Take(ait_module_warm_up_for(module_, texts, 1)), "");
  EXPECT_GT(Usage().calls, warm.calls + 1);
  EXPECT_NE(Take(ait_module_warm_up_for(module_, nullptr, 1)), "");
  // A checkpoint has no samples, but versions.
  const std::string path = folder_ + "/warm.aitune";
  ASSERT_EQ(Take(ait_module_save(module_, path.c_str(), nullptr)), "");
  ait_module_free(module_);
  ASSERT_EQ(Take(ait_module_load_checkpoint(path.c_str(), nullptr, &module_)),
            "");
  ASSERT_EQ(Take(ait_module_warm_up(module_, nullptr, 0)), "");
  EXPECT_GT(Usage().calls, 0);
  EXPECT_EQ(Usage().recompilations, 0);
  EXPECT_EQ(Usage().eager_calls, 0);
}

TEST_F(CArguments, AWarmUpWaitsForWhatIsCompiledInTheBackground) {
  torch::jit::Module made("Plain");
  made.define("def forward(self, x: Tensor):\n    return torch.relu(x) + 1\n");
  made.save(model_);
  ait_module_free(module_);
  module_ = nullptr;
  ait_options* options = ait_options_new();
  ASSERT_EQ(Take(ait_options_set(options, "compile-in-background", "true")),
            "");
  ASSERT_EQ(
      Take(ait_module_load_with(options, model_.c_str(), nullptr, 0, &module_)),
      "");
  ait_options_free(options);
  const ait_tensor two = x();
  ASSERT_EQ(Take(ait_module_record(module_, &two, 1, 2)), "");
  ASSERT_EQ(Take(ait_module_tune(module_, "OneBackend", 0)), "");
  const int64_t sizes[] = {1000, 3};
  const std::vector<float> many(3000, 2.f);
  const ait_tensor larger = Tensor(sizes, 2, many.data());
  ASSERT_EQ(Take(ait_module_warm_up(module_, &larger, 1)), "");
  EXPECT_EQ(Usage().eager_calls, 0);
  EXPECT_EQ(Usage().background_builds, 0);
  EXPECT_EQ(Run({larger}, 3), "");
  EXPECT_EQ(Usage().eager_calls, 0);
}

TEST_F(CArguments, AWarmUpLeavesTheStateAlone) {
  torch::jit::Module made("Counter");
  made.register_buffer("count", at::zeros({1}));
  made.define(
      "def forward(self, x: Tensor):\n"
      "    self.count.add_(1)\n"
      "    return x * 0 + self.count\n");
  made.save(model_);
  ait_module_free(module_);
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module_)), "");
  const ait_tensor input = x();
  ASSERT_EQ(Take(ait_module_warm_up(module_, &input, 1)), "");
  EXPECT_EQ(Run({input}, 1), "");
  ASSERT_EQ(Take(ait_module_record(module_, &input, 1, 2)), "");
  ASSERT_EQ(Take(ait_module_tune(module_, "OneBackend", 0)), "");
  ASSERT_EQ(Take(ait_module_warm_up(module_, &input, 1)), "");
  EXPECT_EQ(Run({input}, 2), "");
}

}  // namespace
}  // namespace ait
