// One program run in all ways that there are: by the command line for a range
// of sizes, as a module that learnt its sizes from samples, as a checkpoint of
// that module, by the C interface for a range, and what `deploy` saved by the C
// interface. The command line is called in this process.
#ifndef AITUNE_TESTS_SIZES_FOUR_WAYS_H_
#define AITUNE_TESTS_SIZES_FOUR_WAYS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "tests/sizes/size_programs.h"

namespace aitune::sizes {

class FourWays {
 public:
  // One way to run the program.
  struct Way {
    std::string name;
    std::function<absl::StatusOr<c10::IValue>(const at::Tensor&)> run;
  };

  // Builds `program` in all ways in `folder`, which is empty and stays as long
  // as the result. Errors: why it could not be built in one of them. A program
  // that raises at all sizes has no ways.
  static absl::StatusOr<std::unique_ptr<FourWays>> Of(
      const SizeProgram& program, const std::filesystem::path& folder);
  ~FourWays();

  // Ways to call at each size.
  const std::vector<Way>& ways() const { return ways_; }
  // `aitune run` of the model, which compiles for the size, and of the
  // checkpoint: each call loads all from its file.
  const std::vector<Way>& commands() const { return commands_; }
  const frontend::Model& model() const;

 private:
  struct Parts;
  FourWays();
  absl::Status ByTheCommandLine();
  absl::Status AsAModule();
  absl::Status ByTheCInterface();

  std::unique_ptr<Parts> parts_;
  std::vector<Way> ways_, commands_;
};

}  // namespace aitune::sizes

#endif  // AITUNE_TESTS_SIZES_FOUR_WAYS_H_
