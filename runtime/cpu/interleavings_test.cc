#include "runtime/cpu/interleavings.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace aitune {
namespace {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define AITUNE_SANITIZED 1
#endif
#endif

class InterleavingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef AITUNE_SANITIZED
    GTEST_SKIP() << "sanitizers do not follow changes of stacks";
#endif
  }
};

using Word = ModelAtomics::Atomic<uint32_t>;

// Each of two threads says that it is there, then looks for the other.
class TwoFlags : public InterleavedProgram {
 public:
  explicit TwoFlags(std::memory_order order) : order_(order) {}
  int threads() const override { return 2; }
  void Run(int thread) override {
    here_[thread].store(1, order_);
    const uint32_t other = here_[1 - thread].load(std::memory_order_acquire);
    if (alone_.fetch_add(1 - other, std::memory_order_relaxed) == 1 &&
        other == 0) {
      FailInterleaving("neither saw the other");
    }
  }

 private:
  const std::memory_order order_;
  Word here_[2], alone_;
};

std::string ErrorOfTwoFlags(std::memory_order order, StoreBuffers buffers) {
  return RunInterleavings([&] { return std::make_unique<TwoFlags>(order); },
                          buffers)
      .error;
}

TEST_F(InterleavingsTest, StoresWaitInBuffers) {
  EXPECT_EQ(ErrorOfTwoFlags(std::memory_order_release, StoreBuffers::kX86),
            "neither saw the other");
  EXPECT_EQ(ErrorOfTwoFlags(std::memory_order_seq_cst, StoreBuffers::kX86), "");
  EXPECT_EQ(ErrorOfTwoFlags(std::memory_order_release, StoreBuffers::kNone),
            "");
}

// Both threads add one, in two steps each.
class TwoAdditions : public InterleavedProgram {
 public:
  int threads() const override { return 2; }
  void Run(int) override {
    sum_ = sum_ + 1;
    if (done_.fetch_add(1, std::memory_order_acq_rel) == 1 && sum_ != 2) {
      FailInterleaving("an addition is lost");
    }
  }

 private:
  ModelAtomics::Variable<int> sum_;
  Word done_;
};

TEST_F(InterleavingsTest, FindsTheOrderThatFails) {
  const InterleavingResult result = RunInterleavings(
      [] { return std::make_unique<TwoAdditions>(); }, StoreBuffers::kNone);
  EXPECT_EQ(result.error, "an addition is lost");
  EXPECT_GT(result.orders, 1);
}

// One thread waits for the other, which says nothing.
class Sleeper : public InterleavedProgram {
 public:
  explicit Sleeper(bool notifies) : notifies_(notifies) {}
  int threads() const override { return 2; }
  void Run(int thread) override {
    if (thread == 0) {
      ModelAtomics::WaitWhile(word_, 0);
    } else {
      word_.fetch_add(1, std::memory_order_acq_rel);
      if (notifies_) ModelAtomics::NotifyAll(word_);
    }
  }

 private:
  const bool notifies_;
  Word word_;
};

TEST_F(InterleavingsTest, FindsThatNobodyWakesAThread) {
  EXPECT_EQ(RunInterleavings([] { return std::make_unique<Sleeper>(false); },
                             StoreBuffers::kNone)
                .error,
            "nobody wakes the threads 0");
  EXPECT_EQ(RunInterleavings([] { return std::make_unique<Sleeper>(true); },
                             StoreBuffers::kX86)
                .error,
            "");
}

}  // namespace
}  // namespace aitune
