#include "compiler/candidates/Preparation.h"

#include <pthread.h>

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "compiler/support/Parallel.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

/// A race of which only the preparation is asked for.
class CountingRace : public CandidateRace {
public:
  void prepareJudgement() override { ++judgements; }
  void prepareLoad(size_t number) override {
    loads += static_cast<int>(number);
  }
  absl::Status load(size_t) override { return absl::OkStatus(); }
  void drop(size_t) override {}
  absl::StatusOr<std::vector<Measurement>> measure(double) override {
    return std::vector<Measurement>();
  }
  const KernelJudge *judgement() const override { return nullptr; }

  std::atomic<int> judgements = 0, loads = 0;
};

TEST(Preparation, IsThereOnceItWasAwaited) {
  std::vector<CountingRace> races(40);
  Preparation ahead(3, 2);
  for (CountingRace &race : races)
    ahead.prepareJudgement(race);
  for (size_t i = 0; i < races.size(); ++i) {
    ahead.awaitJudgement(i);
    EXPECT_EQ(races[i].judgements, 1);
    ahead.prepareLoad(races[i], 1);
    ahead.prepareLoad(races[i], 2);
  }
  size_t reports = 0;
  ahead.awaitLoads([&](size_t done, size_t all) {
    EXPECT_EQ(done, ++reports);
    EXPECT_EQ(all, 2 * races.size());
  });
  EXPECT_EQ(reports, 2 * races.size());
  for (const CountingRace &race : races)
    EXPECT_EQ(race.loads, 3);
}

TEST(Preparation, WithoutThreadsIsLeftToTheRaces) {
  CountingRace race;
  Preparation ahead(0, 0);
  ahead.prepareJudgement(race);
  ahead.awaitJudgement(0);
  ahead.prepareLoad(race, 1);
  ahead.awaitLoads([](size_t, size_t) { ADD_FAILURE(); });
  EXPECT_EQ(race.judgements + race.loads, 0);
}

/// As where the limit of a user's threads is reached.
class NoThreads {
public:
  NoThreads() {
    pthread_getattr_default_np(&before);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 50);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    EXPECT_THROW(std::thread([] {}), std::system_error);
  }
  ~NoThreads() { pthread_setattr_default_np(&before); }

private:
  pthread_attr_t before;
};

TEST(Preparation, WithoutThreadsOfTheSystemIsDoneWhenAwaited) {
  const NoThreads none;
  CountingRace race;
  Preparation ahead(3, 2);
  ahead.prepareJudgement(race);
  ahead.awaitJudgement(0);
  EXPECT_EQ(race.judgements, 1);
  ahead.prepareLoad(race, 1);
  ahead.prepareLoad(race, 2);
  ahead.awaitLoads([](size_t, size_t) {});
  EXPECT_EQ(race.loads, 3);
}

TEST(InParallel, WithoutThreadsOfTheSystemIsDoneHere) {
  const NoThreads none;
  std::vector<int> done(20);
  inParallel(done.size(), 4, [&](size_t i) { ++done[i]; });
  EXPECT_EQ(done, std::vector<int>(20, 1));
}

TEST(Preparation, EndsAfterWhatWasAskedFor) {
  CountingRace race;
  {
    Preparation ahead(0, 2);
    for (int i = 0; i < 20; ++i)
      ahead.prepareLoad(race, 1);
  }
  EXPECT_EQ(race.loads, 20);
}

} // namespace
} // namespace aitune
