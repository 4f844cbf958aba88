// What races of candidates need, prepared on other threads while another race
// is measured. Internal to this folder.
#ifndef AITUNE_COMPILER_CANDIDATES_PREPARATION_H
#define AITUNE_COMPILER_CANDIDATES_PREPARATION_H

#include <cstddef>
#include <future>
#include <optional>
#include <vector>

#include "compiler/candidates/CompilationTarget.h"
#include "llvm/Support/ThreadPool.h"

namespace aitune {

/// Its destructor waits for all that was asked for; the races must live until
/// then. Not thread-safe.
class Preparation {
public:
  /// Without threads (RaceRules::threadsAhead) nothing is prepared: the races
  /// then do it themselves.
  explicit Preparation(int threads);

  /// Asks for CandidateRace::prepareJudgement of `race`.
  void prepareJudgement(CandidateRace &race);
  /// Waits for the judgement that was asked for as number `number`, from 0.
  void awaitJudgement(size_t number);
  /// Asks for CandidateRace::prepareLoad of an entry of `race`.
  void prepareLoad(CandidateRace &race, size_t entry);
  /// Waits for all that was asked for.
  void awaitAll();

private:
  std::vector<std::shared_future<void>> judgements;
  std::optional<llvm::DefaultThreadPool> pool; ///< none without threads
};

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_PREPARATION_H
