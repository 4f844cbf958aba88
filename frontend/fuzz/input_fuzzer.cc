// libFuzzer's entry. Searches from SeedInputs and the folders given on, and
// writes what it finds to the first.
//
//   mkdir found
//   ./bazelw run --config=fuzz //frontend/fuzz:input_fuzzer -- $PWD/found
//     $PWD/frontend/fuzz/corpus -max_total_time=600 -max_len=20000
//     -rss_limit_mb=8192
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/fuzz/input_target.h"
#include "google/protobuf/stubs/logging.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Without a corpus, most inputs would be of no form: those begin as a seed.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned seed) {
  static const std::vector<std::string> seeds = aitune::frontend::SeedInputs();
  if (size <= 1) {
    const std::string& start = seeds[seed % seeds.size()];
    size = start.size() < max_size ? start.size() : max_size;
    start.copy(reinterpret_cast<char*>(data), size);
  }
  return 1 + LLVMFuzzerMutate(data + 1, size - 1, max_size - 1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer silence_parse_errors;
  aitune::frontend::ReadInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
