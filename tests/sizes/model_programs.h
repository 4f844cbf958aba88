// What models do with the sizes of their inputs: cuts of token sequences,
// relative positions, windows with padding, lengths after strides, tables by
// position, loops over steps, numbers by way of floating point, lists of sizes,
// and two sizes that relate.
//
// Each is TorchScript source with the ranges of its inputs. It gives tensors,
// numbers and strings, nested in any way, and may raise for some sizes.
#ifndef AITUNE_TESTS_SIZES_MODEL_PROGRAMS_H_
#define AITUNE_TESTS_SIZES_MODEL_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace aitune::sizes {

struct ModelProgram {
  std::string name;
  std::string source;
  std::vector<std::string> inputs;  // as --input; none: "float32[1..130,4]"
  // Combinations of sizes, one for each symbol, that are compared in any case.
  std::vector<std::vector<int64_t>> special = {};
};

// Parts, positions, windows and steps of one sequence.
std::vector<ModelProgram> SequencePrograms();

// Lists and numbers made of sizes, branches on them, images, and several
// inputs.
std::vector<ModelProgram> ShapePrograms();

// Lists that loops over chunks make, and other values of which only LibTorch
// knows more than the sizes.
std::vector<ModelProgram> ListPrograms();

// Programs that do something else at few sizes, which a sample passes over.
std::vector<ModelProgram> RarePrograms();

// What stands around a model: decoding, boxes, batches of several lengths,
// caches, masks and frames.
std::vector<ModelProgram> UserPrograms();

}  // namespace aitune::sizes

#endif  // AITUNE_TESTS_SIZES_MODEL_PROGRAMS_H_
