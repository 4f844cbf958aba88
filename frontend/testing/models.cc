#include "frontend/testing/models.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "frontend/values/pytree.h"

namespace aitune::frontend {

Model ModelOf(const std::string& source) {
  auto model = Model::FromSource(source);
  if (model.ok()) return *std::move(model);
  ADD_FAILURE() << model.status();
  std::exit(1);
}

std::filesystem::path EmptyFolder() {
  const testing::TestInfo& test =
      *testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test.test_suite_name()) + "." + test.name();
  for (char& c : name)
    if (c == '/') c = '_';
  const auto folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void ExpectClose(const c10::IValue& ours, const c10::IValue& expected,
                 double tolerance) {
  const std::vector<Leaf> a = Leaves(ours), b = Leaves(expected);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].path, b[i].path);
    if (!b[i].value->isTensor()) {
      EXPECT_EQ(*a[i].value, *b[i].value) << b[i].path;
      continue;
    }
    ASSERT_TRUE(a[i].value->isTensor()) << b[i].path;
    const at::Tensor x = a[i].value->toTensor(), y = b[i].value->toTensor();
    EXPECT_EQ(x.scalar_type(), y.scalar_type()) << b[i].path;
    ASSERT_EQ(x.sizes(), y.sizes()) << b[i].path;
    EXPECT_TRUE(at::allclose(x, y, tolerance, tolerance)) << b[i].path;
  }
}

LogCapture::LogCapture()
    : previous_(SetLogSink([this](LogChannel channel, std::string_view text) {
        lines_.push_back(std::string(Name(channel)) + ": " + std::string(text));
      })) {}

LogCapture::~LogCapture() {
  SetLogSink(std::move(previous_));
  for (const LogChannel channel :
       {LogChannel::kDynamic, LogChannel::kPerfHints, LogChannel::kGraphBreaks,
        LogChannel::kRecompiles, LogChannel::kOutputCode})
    SetEnabled(channel, false);
}

}  // namespace aitune::frontend
