// The progress line of a long command.
#ifndef AITUNE_FRONTEND_CLI_PROGRESS_H_
#define AITUNE_FRONTEND_CLI_PROGRESS_H_

#include <functional>
#include <map>
#include <ostream>
#include <string>

namespace aitune::cli {

// On a terminal: one line that is rewritten, at most ten times a second, and
// erased at the end. Elsewhere (a log, a pipe): one line at the start of each
// phase and one every ten seconds within it. Not thread-safe.
class Progress {
 public:
  enum class Style { kLine, kLog, kSilent };

  // kLine when stderr is a terminal, kLog otherwise.
  static Style StyleOfStandardError();

  // Writes to `out`, which must outlive this. `clock` returns seconds; null:
  // the steady clock.
  Progress(std::ostream& out, Style style, std::function<double()> clock = {});
  ~Progress();

  // Reports that `done` of `total` parts of `phase` are finished; total == 0:
  // it has no parts. `detail` is printed after the numbers and names the parts,
  // such as "operators".
  void Update(const std::string& phase, int done, int total,
              const std::string& detail = "");

  // Erases the line (kLine), so that other text can be printed.
  void Finish();

 private:
  std::ostream& out_;
  const Style style_;
  std::function<double()> clock_;
  double start_ = 0, last_print_ = -1;
  struct Phase {
    double start = 0;  // when it last began, in the clock's seconds
    int done = 0;      // as last reported
  };
  std::map<std::string, Phase> phases_;  // by name
  bool line_shown_ = false;
};

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_PROGRESS_H_
