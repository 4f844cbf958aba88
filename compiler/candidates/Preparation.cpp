#include "compiler/candidates/Preparation.h"

namespace aitune {

Preparation::Preparation(int threads) {
  if (threads > 0)
    pool.emplace(llvm::hardware_concurrency(threads));
}

void Preparation::prepareJudgement(CandidateRace &race) {
  if (pool)
    judgements.push_back(pool->async([&race] { race.prepareJudgement(); }));
}

void Preparation::awaitJudgement(size_t number) {
  if (pool)
    judgements[number].wait();
}

void Preparation::prepareLoad(CandidateRace &race, size_t entry) {
  if (pool)
    pool->async([&race, entry] { race.prepareLoad(entry); });
}

void Preparation::awaitAll() {
  if (pool)
    pool->wait();
}

} // namespace aitune
