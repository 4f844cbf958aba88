// The layer over the C API: values of every kind, results and errors.
#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/aitune.hpp"
#include "frontend/api/c_api_fixture.h"

namespace ait {
namespace {

using c::Error;
using c::Value;
using ::testing::StartsWith;

class CApiLayer : public CApi {
 protected:
  void SetUp() override {
    CApi::SetUp();
    torch::jit::Module module("Mixed");
    module.define(R"(
def forward(self, x: Tensor, k: int, scale: float = 1.0, flag: bool = False,
            mode: str = "add", more: Optional[List[int]] = None):
    y = x * k * scale
    if flag:
        y = -y
    if mode == "add":
        y = y + 1
    if more is not None:
        for one in more:
            y = y + one
    return y
)");
    module.save(model_);
    const Error error = c::Module::Load(model_, c::Options()).To(module_);
    ASSERT_FALSE(error) << error.message();
  }

  Value x() const { return Value::Tensor({2, 3}, elements_.data()); }
  float First(const std::vector<Value>& inputs) const {
    const auto result = module_.Run(inputs);
    EXPECT_TRUE(result.ok()) << result.error().message();
    if (!result.ok()) return 0;
    EXPECT_EQ(result->size(), 1u);
    const c::TensorView output = result->tensor(0);
    EXPECT_EQ(output.sizes(), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(output.elements(), 6);
    EXPECT_EQ(output.data<double>(), nullptr);
    EXPECT_EQ(output.data<void>(), output.data<float>());
    return output.data<float>()[0];
  }

  const std::vector<float> elements_ = std::vector<float>(6, 2.f);
  c::Module module_;
};

TEST_F(CApiLayer, ArgumentsOfEveryKind) {
  for (const bool tuned : {false, true}) {
    if (tuned) {
      EXPECT_FALSE(module_.Record({x(), 3}, 2));
      c::TuneOptions options;
      options.strategy = "OneBackend";
      options.backends = {"TorchInductorBackend(dynamic=False)"};
      const Error error = module_.Tune(options);
      ASSERT_FALSE(error) << error.message();
      EXPECT_THAT(*module_.Describe(), StartsWith("TorchInductorBackend("));
    }
    EXPECT_EQ(module_.is_tuned(), tuned);
    EXPECT_FLOAT_EQ(First({x(), 3}), 7);
    EXPECT_FLOAT_EQ(First({x(), 3, 0.5}), 4);
    EXPECT_FLOAT_EQ(First({x(), int64_t{3}, 1, true, "none", Value::None()}),
                    -6);
    EXPECT_FLOAT_EQ(
        First({x(), Value(3).Named("k"), Value("none").Named("mode")}), 6);
    EXPECT_FLOAT_EQ(First({x(), 3, Value::List({3, 10}).Named("more")}), 20);
  }
}

TEST_F(CApiLayer, ValuesOfEveryKind) {
  torch::jit::Module module("Values");
  module.define(R"(
def forward(self, given: Dict[str, Tensor]):
    return given["a"] + given["b"], 3, "text"
)");
  module.save(model_);
  ASSERT_FALSE(c::Module::Load(model_, c::Options()).To(module_));
  const auto result =
      module_.Run({Value::Dict({x().Named("a"), x().Named("b")})});
  ASSERT_TRUE(result.ok()) << result.error().message();
  ASSERT_EQ(result->values(), 3u);
  EXPECT_FLOAT_EQ(result->value(0).data<float>()[0], 4);
  EXPECT_EQ(result->value(1).kind(), AIT_NUMBER);
  EXPECT_EQ(result->value(1).name(), "[1]");
  EXPECT_EQ(*result->value(1).data<int64_t>(), 3);
  EXPECT_STREQ(result->value(2).text(), "text");
}

TEST_F(CApiLayer, MemoryOfTheCallers) {
  std::vector<float> into(6);
  const Value output = Value::Tensor({2, 3}, into.data());
  Error error = module_.RunInto({x(), 3}, {output});
  ASSERT_FALSE(error) << error.message();
  EXPECT_EQ(into, std::vector<float>(6, 7.f));
  into.assign(6, 0);
  auto binding = module_.Bind({x(), 3}, {output});
  ASSERT_TRUE(binding.ok()) << binding.error().message();
  error = binding->Run();
  ASSERT_FALSE(error) << error.message();
  EXPECT_EQ(into, std::vector<float>(6, 7.f));
  EXPECT_FALSE(module_.WarmUp({x(), 3}));
  EXPECT_GT(module_.Usage()->calls, 2);
}

TEST_F(CApiLayer, ErrorsAndCheckpoints) {
  const auto none = c::Module::Load("/nowhere.pt", c::Options());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), AIT_NOT_FOUND);
  EXPECT_THAT(none.error().message(), HasSubstr("no such file"));
  EXPECT_EQ(c::Module().Run({x()}).error().code(), AIT_INVALID_ARGUMENT);
  c::Options options;
  EXPECT_THAT(options.Set("no-option", "1").message(), HasSubstr("no-option"));
  ASSERT_FALSE(module_.Record({x(), 3}));
  c::TuneOptions wrong;
  wrong.backends = {"NoBackend"};
  EXPECT_EQ(module_.Tune(wrong).code(), AIT_NOT_FOUND);
  c::TuneOptions one;
  one.strategy = "OneBackend";
  ASSERT_FALSE(module_.Tune(one));
  const auto digest = module_.Save(folder_ + "/layer.aitune");
  ASSERT_TRUE(digest.ok()) << digest.error().message();
  ASSERT_FALSE(c::Module::LoadCheckpoint(folder_ + "/layer.aitune", *digest)
                   .To(module_));
  EXPECT_FLOAT_EQ(First({x(), 3}), 7);
  const auto kinds = c::ListBackends();
  ASSERT_TRUE(kinds.ok());
  EXPECT_GE(kinds->size(), 4u);
  const c::ScopedStance stance("force_eager");
  EXPECT_FALSE(stance.error());
  const int64_t before = module_.Usage()->eager_calls;
  EXPECT_FLOAT_EQ(First({x(), 3}), 7);
  EXPECT_EQ(module_.Usage()->eager_calls, before + 1);
}

}  // namespace
}  // namespace ait
