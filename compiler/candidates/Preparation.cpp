#include "compiler/candidates/Preparation.h"

namespace aitune {

Preparation::Preparation(int judgementThreads, int loadThreads) {
  if (judgementThreads > 0)
    judging.emplace(judgementThreads);
  if (loadThreads > 0)
    loading.emplace(loadThreads);
}

void Preparation::prepareJudgement(CandidateRace &race) {
  if (judging)
    judgements.push_back(judging->add([&race] { race.prepareJudgement(); }));
}

void Preparation::awaitJudgement(size_t number) {
  if (judging)
    judgements[number].wait();
}

void Preparation::prepareLoad(CandidateRace &race, size_t entry) {
  if (loading)
    loads.push_back(loading->add([&race, entry] { race.prepareLoad(entry); }));
}

void Preparation::awaitLoads(
    llvm::function_ref<void(size_t done, size_t all)> report) {
  for (size_t i = 0; i < loads.size(); ++i) {
    loads[i].wait();
    report(i + 1, loads.size());
  }
}

} // namespace aitune
