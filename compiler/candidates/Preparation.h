// What races of candidates need, prepared on other threads while another race
// is measured. Internal to this folder.
#ifndef AITUNE_COMPILER_CANDIDATES_PREPARATION_H
#define AITUNE_COMPILER_CANDIDATES_PREPARATION_H

#include <cstddef>
#include <future>
#include <optional>
#include <vector>

#include "compiler/candidates/CompilationTarget.h"
#include "compiler/support/Parallel.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace aitune {

/// Its destructor waits for all that was asked for; the races must live until
/// then. Not thread-safe.
class Preparation {
public:
  /// With as many threads for judgements and for loads, or fewer where the
  /// system gives no more. Without threads (RaceRules) nothing is prepared: the
  /// races then do it themselves.
  Preparation(int judgementThreads, int loadThreads);

  /// Asks for CandidateRace::prepareJudgement of `race`.
  void prepareJudgement(CandidateRace &race);
  /// Waits for the judgement that was asked for as number `number`, from 0.
  void awaitJudgement(size_t number);
  /// Asks for CandidateRace::prepareLoad of an entry of `race`.
  void prepareLoad(CandidateRace &race, size_t entry);
  /// Waits for all loads that were asked for. `report` is called, from this
  /// thread, with the number of those that are done and that of all.
  void awaitLoads(llvm::function_ref<void(size_t done, size_t all)> report);

private:
  std::vector<std::shared_future<void>> judgements, loads;
  /// None without threads.
  std::optional<BackgroundTasks> judging, loading;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_PREPARATION_H
