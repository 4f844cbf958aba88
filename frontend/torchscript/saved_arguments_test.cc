// Arguments that calls write to are put back, and what repeats calls does so.
#include "frontend/torchscript/saved_arguments.h"

#include <ATen/Functions.h>
#include <ATen/core/List.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/submodule_times.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using testing::HasSubstr;

Model ModelOf(const std::string& signature, const std::string& body) {
  auto model = Model::FromSource(
      absl::StrCat("def forward(self, ", signature, "):\n", body));
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// A step of decoding, which is given where it writes.
Model DecodeStep() {
  return ModelOf("x: Tensor, cache: Tensor, n: Tensor",
                 "  cache.index_copy_(1, n.clone(), x)\n"
                 "  n.add_(1)\n"
                 "  return cache.sum(1)\n");
}

ValueList DecodeArguments() {
  return ValueList(
      {at::ones({2, 1, 8}), at::zeros({2, 4, 8}), at::full({1}, 3, at::kLong)});
}

TEST(SaveArguments, PutsBackWhatCallsWrite) {
  const Model model = DecodeStep();
  const ValueList arguments = DecodeArguments();
  const auto put_back = SaveArguments(model, arguments);
  ASSERT_TRUE(put_back.ok()) << put_back.status();
  ASSERT_NE(*put_back, nullptr);
  const at::Tensor cache = arguments.values()[1].toTensor(),
                   n = arguments.values()[2].toTensor();
  const void* const memory = cache.data_ptr();
  for (int call = 0; call < 3; ++call) {
    const auto result = model.RunEager(arguments);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(n.item<int64_t>(), 4);
    EXPECT_TRUE(cache.select(1, 3).equal(at::ones({2, 8})));
    EXPECT_TRUE((*put_back)().ok());
    EXPECT_EQ(n.item<int64_t>(), 3);
    EXPECT_TRUE(cache.equal(at::zeros({2, 4, 8})));
  }
  EXPECT_EQ(cache.data_ptr(), memory);
}

TEST(SaveArguments, KeepsWhatIsNotWritten) {
  const Model model = DecodeStep();
  const ValueList arguments = DecodeArguments();
  const auto put_back = SaveArguments(model, arguments);
  ASSERT_TRUE(put_back.ok()) << put_back.status();
  const at::Tensor x = arguments.values()[0].toTensor();
  x.fill_(5);
  EXPECT_TRUE((*put_back)().ok());
  EXPECT_TRUE(x.equal(at::full({2, 1, 8}, 5.0f)));
}

TEST(SaveArguments, CopiesNothingForAModelThatWritesNothing) {
  const auto put_back =
      SaveArguments(ModelOf("x: Tensor, y: Tensor",
                            "  z = x * y\n"
                            "  return z.add_(1)\n"),
                    ValueList({at::ones({2}), at::ones({2})}));
  ASSERT_TRUE(put_back.ok()) << put_back.status();
  EXPECT_EQ(*put_back, nullptr);
}

TEST(SaveArguments, FindsTensorsInListsAndThroughViews) {
  const Model model = ModelOf("x: Tensor, caches: List[Tensor]",
                              "  for c in caches:\n"
                              "    c[1:].add_(x)\n"
                              "  return x\n");
  const at::Tensor first = at::zeros({3, 4}).t(), second = at::zeros({4, 3});
  const ValueList arguments(
      {at::ones({3}), c10::List<at::Tensor>({first, second})});
  const auto put_back = SaveArguments(model, arguments);
  ASSERT_TRUE(put_back.ok()) << put_back.status();
  ASSERT_NE(*put_back, nullptr);
  const auto result = model.RunEager(arguments);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(first.sum().item<float>(), 9);
  EXPECT_TRUE((*put_back)().ok());
  EXPECT_TRUE(first.equal(at::zeros({4, 3})));
  EXPECT_TRUE(second.equal(at::zeros({4, 3})));
}

// Nothing can be written to an expanded tensor, not even what it has.
TEST(SaveArguments, LeavesExpandedTensorsAlone) {
  const Model model = ModelOf("x: Tensor, y: Tensor",
                              "  (x + y).add_(1)\n"
                              "  y.add_(1)\n"
                              "  return x * 2\n");
  const ValueList arguments({at::ones({1}).expand({4}), at::ones({4})});
  const auto put_back = SaveArguments(model, arguments);
  ASSERT_TRUE(put_back.ok()) << put_back.status();
  ASSERT_NE(*put_back, nullptr);
  ASSERT_TRUE(model.RunEager(arguments).ok());
  EXPECT_TRUE((*put_back)().ok());
  EXPECT_TRUE(arguments.values()[1].toTensor().equal(at::ones({4})));
}

TEST(InTurn, CallsBothAndGivesTheFirstError) {
  EXPECT_EQ(InTurn(nullptr, nullptr), nullptr);
  int calls = 0;
  const auto fails = [&calls](const char* why) {
    return [&calls, why] {
      ++calls;
      return absl::InternalError(why);
    };
  };
  EXPECT_THAT(std::string(InTurn(fails("one"), nullptr)().message()),
              HasSubstr("one"));
  EXPECT_THAT(std::string(InTurn(fails("one"), fails("two"))().message()),
              HasSubstr("one"));
  EXPECT_EQ(calls, 3);
}

// The position would be behind the end of the cache in the second run.
TEST(SubmoduleTimes, EachRunHasTheArgumentsOfTheFirst) {
  const ValueList arguments = DecodeArguments();
  const auto times = TimeSubmodules(DecodeStep(), arguments, 5);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(arguments.values()[2].toTensor().item<int64_t>(), 3);
  EXPECT_TRUE(arguments.values()[1].toTensor().equal(at::zeros({2, 4, 8})));
}

TEST(SubmoduleTimes, EachRunHasTheListsOfTheFirst) {
  const Model model = ModelOf("x: Tensor, seen: List[Tensor]",
                              "  seen.append(x)\n"
                              "  assert len(seen) < 2\n"
                              "  return x * len(seen)\n");
  const auto times = TimeSubmodules(
      model, ValueList({at::ones({2}), c10::List<at::Tensor>()}), 3);
  EXPECT_TRUE(times.ok()) << times.status();
}

}  // namespace
}  // namespace aitune::frontend
