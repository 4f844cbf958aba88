#include "compiler/measure/HostTensor.h"

#include <cstring>

#include "gtest/gtest.h"

namespace aitune {
namespace {

TEST(HostTensorTest, HoldsATensorAtAnAlignedPlace) {
  HostTensor tensor({nullptr, DataType::kFloat32, {3, 5}});
  EXPECT_EQ(tensor.bytes(), 60);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.view().data) % 64, 0u);
  tensor.fill(7);
  EXPECT_EQ(static_cast<const char *>(tensor.view().data)[59], 7);
  EXPECT_TRUE(tensor.isIntact());
  const HostTensor moved = std::move(tensor);
  EXPECT_EQ(static_cast<const char *>(moved.view().data)[0], 7);
  EXPECT_TRUE(moved.isIntact());
}

// As an arena: TLB misses would slow a candidate down that has none in a model.
TEST(HostTensorTest, ALargeOneBeginsWithAHugePage) {
  const HostTensor tensor({nullptr, DataType::kFloat32, {1024, 1024}});
  EXPECT_EQ((reinterpret_cast<uintptr_t>(tensor.view().data) - 64) % (2 << 20),
            0u);
}

TEST(HostTensorTest, SeesWhatIsWrittenBesideIt) {
  for (int64_t guardBytes : {64, 1000})
    for (int64_t place :
         {int64_t{-1}, -guardBytes, int64_t{60}, int64_t{59} + guardBytes}) {
      HostTensor tensor({nullptr, DataType::kFloat32, {3, 5}}, guardBytes);
      static_cast<char *>(tensor.view().data)[place] = 0;
      EXPECT_FALSE(tensor.isIntact()) << guardBytes << " " << place;
      tensor.restoreGuards();
      EXPECT_TRUE(tensor.isIntact()) << guardBytes << " " << place;
    }
}

TEST(HostTensorTest, HasAPlaceWithoutElements) {
  HostTensor tensor({nullptr, DataType::kInt64, {0, 5}});
  EXPECT_NE(tensor.view().data, nullptr);
  tensor.fill(1);
  EXPECT_TRUE(tensor.isIntact());
}

} // namespace
} // namespace aitune
