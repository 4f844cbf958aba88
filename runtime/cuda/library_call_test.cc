#include "runtime/cuda/library_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace aitune::cuda
