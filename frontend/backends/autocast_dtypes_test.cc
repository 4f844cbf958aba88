#include "frontend/backends/autocast_dtypes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/testing/backends.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

std::vector<OwnedValue> Owned(const std::vector<at::Tensor>& tensors) {
  std::vector<OwnedValue> values;
  for (const at::Tensor& tensor : tensors) values.push_back(ToOwned(tensor));
  return values;
}

// Of autocast to bfloat16, learned from a call of float32 that gives `learned`.
std::vector<at::ScalarType> Restored(at::ScalarType argument,
                                     const std::vector<at::ScalarType>& learned,
                                     const std::vector<at::ScalarType>& given) {
  const auto tensors = [](const std::vector<at::ScalarType>& dtypes) {
    std::vector<at::Tensor> result;
    for (const at::ScalarType dtype : dtypes)
      result.push_back(at::ones({2}, dtype));
    return result;
  };
  const auto sample = Owned(tensors({at::kFloat}));
  const auto arguments = Owned(tensors({argument}));
  const AutocastDtypes dtypes(Values(sample), Owned(tensors(learned)));
  std::vector<at::ScalarType> result;
  for (const OwnedValue& value : dtypes.Restore(
           Values(arguments), Owned(tensors(given)), DataType::kBFloat16))
    result.push_back(
        ToIValue(value.value, value.owner).toTensor().scalar_type());
  return result;
}

using Dtypes = std::vector<at::ScalarType>;

TEST(AutocastDtypes, AreThoseOfTheSample) {
  EXPECT_EQ(Restored(at::kFloat, {at::kFloat, at::kBFloat16, at::kHalf},
                     {at::kBFloat16, at::kBFloat16, at::kFloat}),
            (Dtypes{at::kFloat, at::kBFloat16, at::kHalf}));
}

TEST(AutocastDtypes, LeaveWhatAutocastDoesNotChange) {
  // Integers where the sample had numbers, the reverse, and a wider type.
  const Dtypes given = {at::kLong, at::kFloat, at::kDouble, at::kComplexFloat};
  EXPECT_EQ(
      Restored(at::kFloat,
               {at::kFloat, at::kLong, at::kFloat, at::kComplexFloat}, given),
      given);
}

TEST(AutocastDtypes, OfOtherCallsAreWhatTheArgumentsPromoteTo) {
  EXPECT_EQ(Restored(at::kDouble, {at::kFloat, at::kFloat},
                     {at::kBFloat16, at::kFloat}),
            (Dtypes{at::kDouble, at::kFloat}));
  EXPECT_EQ(Restored(at::kLong, {at::kLong}, {at::kBFloat16}),
            Dtypes{at::kFloat});
  // Another number of results.
  EXPECT_EQ(Restored(at::kFloat, {at::kFloat}, {at::kBFloat16, at::kHalf}),
            (Dtypes{at::kFloat, at::kHalf}));
}

TEST(AutocastDtypes, OfTensorsInContainersToo) {
  const auto sample = Owned({at::ones({2})});
  const AutocastDtypes dtypes(Values(sample), sample);
  const c10::List<at::Tensor> list({at::ones({2}, at::kBFloat16)});
  const std::vector<OwnedValue> restored =
      dtypes.Restore(Values(sample),
                     {{OpaqueValue(std::make_shared<c10::IValue>(
                           c10::ivalue::Tuple::create({c10::IValue(list)}))),
                       nullptr}},
                     DataType::kBFloat16);
  const c10::IValue value = ToIValue(restored[0].value, restored[0].owner);
  EXPECT_EQ(value.toTupleRef().elements()[0].toTensorVector()[0].scalar_type(),
            at::kFloat);
}

TEST(AutocastDtypes, AreStored) {
  const auto sample = Owned({at::ones({2})});
  const AutocastDtypes dtypes(Values(sample),
                              Owned({at::ones({2}, at::kBFloat16)}));
  TorchBackendStateProto state;
  dtypes.Save(&state);
  AutocastDtypes loaded;
  ASSERT_TRUE(loaded.Load(state).ok());
  const auto restored = loaded.Restore(Values(sample), Owned({at::ones({2})}),
                                       DataType::kBFloat16);
  EXPECT_EQ(
      ToIValue(restored[0].value, restored[0].owner).toTensor().scalar_type(),
      at::kBFloat16);
  state.add_argument_dtypes(99);
  EXPECT_EQ(loaded.Load(state).code(), absl::StatusCode::kDataLoss);
}

TEST(AutocastDtypes, FollowWhatSizesAndArgumentsDecide) {
  for (const char* name : {"TorchInductorBackend", "TorchScriptBackend"}) {
    auto source = SourceOf(R"(
def forward(self, x: Tensor):
    if x.size(0) > 5:
        return x * 1.5, x.argmax()
    return x.argmax(), x * 1.5
)");
    auto backend = BackendOf(name, {{"autocast_enabled", true},
                                    {"autocast_dtype", DataType::kBFloat16}});
    const absl::Status built =
        backend->Build(RequestOf(source, {at::randn({3, 4})}));
    ASSERT_TRUE(built.ok()) << name << built;
    for (const int64_t rows : {7, 3})
      ExpectAgrees(*source, *backend, at::randn({rows, 4}));
    ExpectAgrees(*source, *backend, at::randn({7, 4}, at::kDouble), 1e-12);
  }
}

}  // namespace
}  // namespace aitune::frontend
