#include "frontend/values/torch_util.h"

#include <ATen/Functions.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

TEST(TorchUtilTest, EveryDataTypeIsOneOfLibTorchs) {
  int count = 0;
  for (int number = 0; number < 100; ++number) {
    if (!IsDataType(number)) continue;
    const DataType dtype = static_cast<DataType>(number);
    const c10::ScalarType scalar_type = ToScalarType(dtype);
    EXPECT_EQ(FromScalarType(scalar_type), dtype) << Name(dtype);
    EXPECT_EQ(static_cast<int64_t>(c10::elementSize(scalar_type)),
              SizeInBytes(dtype))
        << Name(dtype);
    ++count;
  }
  EXPECT_EQ(count, 11);
  EXPECT_EQ(FromScalarType(c10::ScalarType::ComplexFloat), std::nullopt);
}

TEST(TorchUtilTest, CodesAreNoPlainTensors) {
  const at::Tensor tensor = at::ones({2, 3});
  EXPECT_TRUE(IsPlainTensor(tensor));
  EXPECT_FALSE(IsPlainTensor(tensor.to(at::kFloat8_e4m3fn)));
}

TEST(TorchUtilTest, CodesAreReadAsLibTorchReadsThem) {
  uint8_t codes[] = {0x38, 0xb8, 0x7e, 0x01};
  const at::Tensor values =
      TensorOn({codes, DataType::kFloat8E4M3Fn, {4}}).to(at::kFloat);
  EXPECT_TRUE(values.equal(at::tensor({1.0f, -1.0f, 448.0f, 0x1p-9f})));
}

TEST(TorchUtilTest, NoMemoryIsAnErrorOfItsOwn) {
  const auto code = [](const std::function<void()>& raise) {
    return CatchExceptions(absl::StatusCode::kInternal, "here", [&] {
      raise();
      return absl::OkStatus();
    });
  };
  EXPECT_EQ(code([] { throw std::bad_alloc(); }),
            absl::ResourceExhaustedError("here: out of memory"));
  const absl::Status status = code([] { at::empty({int64_t{1} << 55}); });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  // As LibTorch says what it caught.
  EXPECT_EQ(
      code([] { throw std::runtime_error("forward: std::bad_alloc"); }).code(),
      absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code([] { throw std::runtime_error("no"); }),
            absl::InternalError("here: no"));
}

// As LibTorch's interpreter throws it on.
TEST(CatchExceptions, KeepsTheCodeOfAStatusThatIsThrown) {
  const auto caught = [](const std::function<void()>& body) {
    return CatchExceptions(absl::StatusCode::kInvalidArgument, "call", [&] {
      body();
      return absl::OkStatus();
    });
  };
  const absl::Status status = caught([] {
    try {
      ThrowStatus(absl::CancelledError("the call was cancelled"));
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string("in a loop: ") + error.what());
    }
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(caught([] { throw std::runtime_error("another"); }).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace aitune::frontend
