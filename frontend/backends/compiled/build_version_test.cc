#include "frontend/backends/compiled/build_version.h"

#include <gtest/gtest.h>

namespace aitune::frontend {
namespace {

TEST(OptionsOfVersionTest, CoordinateDescentIsASearch) {
  CompileSettings settings;
  InductorOptions configured;
  EXPECT_EQ(
      OptionsOfVersion(settings, configured, Device()).tuning.budgetSeconds, 0);
  configured.coordinate_descent_tuning = true;
  EXPECT_EQ(
      OptionsOfVersion(settings, configured, Device()).tuning.budgetSeconds,
      20);
  settings.options.tuning.budgetSeconds = 3;
  EXPECT_EQ(
      OptionsOfVersion(settings, configured, Device()).tuning.budgetSeconds, 3)
      << "what was asked for holds";
}

}  // namespace
}  // namespace aitune::frontend
