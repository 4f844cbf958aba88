#include "runtime/cuda/library_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "runtime/cuda/prepare_calls.h"

namespace aitune::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PostOps {
 public:
  PostOps(std::initializer_list<PostOp::Kind> kinds) {
    for (PostOp::Kind kind : kinds) {
      ops_.emplace_back().set_kind(kind);
    }
    for (const PostOp& op : ops_) pointers_.push_back(&op);
  }
  operator absl::Span<const PostOp* const>() const { return pointers_; }

 private:
  std::vector<PostOp> ops_;
  std::vector<const PostOp*> pointers_;
};

TEST(MatmulPostOpsTest, TakesWhatOneEpilogueDoes) {
  EXPECT_THAT(RejectMatmulPostOps(PostOps{}), IsEmpty());
  EXPECT_THAT(RejectMatmulPostOps(PostOps{PostOp::BIAS, PostOp::RELU}),
              IsEmpty());
  EXPECT_THAT(RejectMatmulPostOps(PostOps{PostOp::SCALE, PostOp::BIAS,
                                          PostOp::ADD, PostOp::GELU_TANH}),
              IsEmpty());
}

TEST(MatmulPostOpsTest, RefusesExactGelu) {
  EXPECT_THAT(RejectMatmulPostOps(PostOps{PostOp::BIAS, PostOp::GELU_ERF}),
              HasSubstr("tanh approximation"));
}

TEST(MatmulPostOpsTest, RefusesAnotherOrder) {
  EXPECT_THAT(RejectMatmulPostOps(PostOps{PostOp::RELU, PostOp::ADD}),
              HasSubstr("nothing can follow"));
  EXPECT_THAT(RejectMatmulPostOps(PostOps{PostOp::BIAS, PostOp::SCALE}),
              HasSubstr("must come first"));
  EXPECT_THAT(RejectMatmulPostOps(PostOps{PostOp::BIAS, PostOp::BIAS}),
              HasSubstr("second bias"));
  EXPECT_THAT(RejectMatmulPostOps(PostOps{PostOp::SILU}), HasSubstr("SILU"));
}

TEST(ConvolutionPostOpsTest, NamesWhatIsNotFused) {
  EXPECT_THAT(RejectConvolutionPostOps(
                  PostOps{PostOp::BIAS, PostOp::ADD, PostOp::RELU}),
              IsEmpty());
  EXPECT_THAT(RejectConvolutionPostOps(PostOps{PostOp::HARDSWISH}),
              HasSubstr("HARDSWISH"));
}

class NumberedCall : public LibraryCall {
 public:
  explicit NumberedCall(int64_t number) : number_(number) {}
  int64_t scratch_bytes() const override { return number_; }
  absl::Status Run(void* const*, void*, CUstream) const override {
    return absl::OkStatus();
  }

 private:
  const int64_t number_;
};

TEST(PrepareCallsTest, MakesEqualCallsReadyOnce) {
  std::atomic<int> prepared{0};
  std::vector<SharedCall> calls;
  size_t failed = 0;
  const std::vector<std::string> keys = {"a", "", "b", "a", "b", "c"};
  ASSERT_TRUE(PrepareCalls(
                  keys,
                  [&](size_t i) -> absl::StatusOr<SharedCall> {
                    ++prepared;
                    return std::make_shared<NumberedCall>(i);
                  },
                  calls, failed)
                  .ok());
  EXPECT_EQ(prepared, 3);
  ASSERT_EQ(calls.size(), keys.size());
  EXPECT_EQ(calls[1], nullptr);
  const std::vector<int64_t> expected = {0, -1, 2, 0, 2, 5};
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i]) EXPECT_EQ(calls[i]->scratch_bytes(), expected[i]) << i;
  }
}

TEST(PrepareCallsTest, GivesTheFirstError) {
  std::vector<SharedCall> calls;
  size_t failed = 0;
  const absl::Status status = PrepareCalls(
      {"a", "b", "c", "d"},
      [](size_t i) -> absl::StatusOr<SharedCall> {
        if (i == 1 || i == 3)
          return absl::UnimplementedError(i == 1 ? "second" : "fourth");
        return std::make_shared<NumberedCall>(i);
      },
      calls, failed);
  EXPECT_EQ(status.message(), "second");
  EXPECT_EQ(failed, 1u);
}

}  // namespace
}  // namespace aitune::cuda
