// Work in a process of its own, which may end by a signal.
#ifndef AITUNE_TESTS_RANDOM_MODELS_CHILD_H_
#define AITUNE_TESTS_RANDOM_MODELS_CHILD_H_

#include <functional>
#include <string>
#include <vector>

namespace aitune::random_models {

// Writes a line to the parent; starts the clock of the time limit anew.
using TellFunction = std::function<void(const std::string& line)>;

struct ChildLines {
  std::vector<std::string> lines;  // what the child told
  std::string death;  // "signal 11 (Segmentation fault)"; empty: it ended well
};

// Runs `work` in a forked process until it returns, or dies, or tells nothing
// for `limit_s` seconds of processors' time, or twenty times as long. The
// parent must have no threads, and so not have run LibTorch's operators.
ChildLines RunInChild(const std::function<void(const TellFunction&)>& work,
                      unsigned limit_s);

}  // namespace aitune::random_models

#endif  // AITUNE_TESTS_RANDOM_MODELS_CHILD_H_
