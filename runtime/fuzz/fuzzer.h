// libFuzzer's entries, which the fuzzers share: each says what it fuzzes.
#ifndef AITUNE_RUNTIME_FUZZ_FUZZER_H_
#define AITUNE_RUNTIME_FUZZ_FUZZER_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/message.h"

namespace aitune {

struct FuzzTarget {
  // Takes any bytes. The first says what the rest is, and stays as it is.
  void (*run)(std::string_view input);
  // Inputs that are accepted.
  std::vector<std::string> seeds;
  // By first byte: an empty message of the type that the rest is.
  std::map<char, std::unique_ptr<google::protobuf::Message>> messages;
};

// Each fuzzer defines it. Called once.
FuzzTarget MakeFuzzTarget();

}  // namespace aitune

#endif  // AITUNE_RUNTIME_FUZZ_FUZZER_H_
