#include "runtime/cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/cuda/device.h"
#include "runtime/cuda/testing/fake_gpu.h"

namespace aitune::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A driver of some version, with some GPUs, that starts or not.
SymbolLookup FakeDriver(int version, int gpus, CUresult start,
                        const std::string& missing = "") {
  TheFakeGpu() = FakeGpu();
  TheFakeGpu().version = version;
  TheFakeGpu().count = gpus;
  TheFakeGpu().start = start;
  if (missing.empty()) return FakeDriverFunctions();
  return FakeDriverFunctions({{missing, nullptr}});
}

TEST(DriverTest, LoadsADriverThatHasAll) {
  EXPECT_TRUE(LoadDriver(FakeDriver(13000, 1, CUDA_SUCCESS)).ok());
}

TEST(DriverTest, RefusesAnOldDriverWithBothVersions) {
  const absl::Status status =
      LoadDriver(FakeDriver(11040, 1, CUDA_SUCCESS)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("supports CUDA 11.4"), HasSubstr("12.3"),
                    HasSubstr("--device cpu")));
}

TEST(DriverTest, NamesAMissingFunctionInItsVersion) {
  const absl::Status status =
      LoadDriver(FakeDriver(12030, 1, CUDA_SUCCESS, "cuMemAlloc_v2")).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuMemAlloc_v2"));
}

TEST(DriverTest, SaysThatThereIsNoGpu) {
  for (CUresult start : {CUDA_SUCCESS, CUDA_ERROR_NO_DEVICE}) {
    const absl::Status status =
        LoadDriver(FakeDriver(13000, 0, start)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("no GPU"));
  }
}

TEST(DriverTest, SaysWhyADriverDoesNotStart) {
  const absl::Status status =
      LoadDriver(FakeDriver(13000, 1, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH))
          .status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("does not start"), HasSubstr("made-up failure"),
                    HasSubstr("CUDA_ERROR_FAKE")));
}

TEST(DriverTest, OutOfMemoryIsItsOwnError) {
  const absl::StatusOr<Driver> driver =
      LoadDriver(FakeDriver(13000, 1, CUDA_SUCCESS));
  ASSERT_TRUE(driver.ok());
  EXPECT_EQ(driver->Check(CUDA_ERROR_OUT_OF_MEMORY, "x").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(driver->Check(CUDA_ERROR_LAUNCH_FAILED, "x").code(),
            absl::StatusCode::kInternal);
  EXPECT_TRUE(driver->Check(CUDA_SUCCESS, "x").ok());
}

TEST(SharedLibraryTest, NamesWhatIsMissingAndWhatToDo) {
  const absl::Status status =
      OpenLibrary({"libno_such_thing.so.1", "libnor_this.so"}, "Install it.")
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("libno_such_thing.so.1 or libnor_this.so"),
                    HasSubstr("Install it.")));
}

TEST(DeviceTest, RefusesAGpuThatIsNotThere) {
  // With or without a GPU in this machine there is no such one.
  EXPECT_FALSE(Device::Open(4096).ok());
}

}  // namespace
}  // namespace aitune::cuda
