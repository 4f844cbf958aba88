#include "runtime/device/device.h"

#include "gtest/gtest.h"

namespace aitune {
namespace {

TEST(DeviceTest, RoundTrip) {
  for (const char* text : {"cpu", "cuda", "cuda:0", "cuda:15"}) {
    const absl::StatusOr<Device> device = Device::Parse(text);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_EQ(device->ToString(), text);
  }
  EXPECT_EQ(Device::Parse("cuda:3")->type, "cuda");
  EXPECT_EQ(Device::Parse("cuda:3")->index, 3);
  EXPECT_NE(*Device::Parse("cuda:3"), *Device::Parse("cuda"));
}

TEST(DeviceTest, RefusesOtherForms) {
  for (const char* text :
       {"", ":", "cuda:", "cuda:-1", "cuda:01", "cuda:x", "cuda:0:1", "CUDA",
        "cuda 0", "cuda: 1", "cuda:99999999999"}) {
    EXPECT_EQ(Device::Parse(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_EQ(Device::Parse("gpu0").status().message(),
            "Invalid device: 'gpu0'. Write a type and maybe a number, as in "
            "cpu or cuda:0.");
}

TEST(DeviceTest, CpuOrGpu) {
  for (const char* text : {"cpu", "cuda", "cuda:2"})
    EXPECT_EQ(Device::ParseCpuOrGpu(text)->ToString(), text);
  for (const char* text : {"xpu", "cpu:0", "cuda:02", ""}) {
    EXPECT_EQ(Device::ParseCpuOrGpu(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_EQ(Device::ParseCpuOrGpu("xpu").status().message(),
            "unknown device 'xpu'; there are cpu, cuda and cuda:N for the GPU "
            "number N");
}

TEST(DeviceTest, GpuIsTheNumberAndBack) {
  EXPECT_EQ(Device().gpu(), -1);
  EXPECT_EQ(Device::Parse("cuda")->gpu(), 0);
  EXPECT_EQ(Device::Parse("cuda:3")->gpu(), 3);
  EXPECT_EQ(Device::Parse("xpu:3")->gpu(), -1);
  EXPECT_TRUE(Device::Gpu(0).is_gpu());
  EXPECT_FALSE(Device().is_gpu());
  EXPECT_EQ(Device::Gpu(3).ToString(), "cuda:3");
}

}  // namespace
}  // namespace aitune
