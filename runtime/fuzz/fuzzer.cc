// Beside libFuzzer's own options the fuzzers take --forms=LETTERS: inputs with
// another first byte are passed over.
#include "runtime/fuzz/fuzzer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

#include "google/protobuf/stubs/logging.h"
#include "runtime/fuzz/message_mutation.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace aitune {
namespace {

std::string& Forms() {
  static std::string forms;
  return forms;
}

bool IsAskedFor(char form) {
  return Forms().empty() || Forms().find(form) != std::string::npos;
}

const FuzzTarget& Target() {
  static const FuzzTarget target = [] {
    FuzzTarget made = MakeFuzzTarget();
    made.seeds.erase(std::remove_if(made.seeds.begin(), made.seeds.end(),
                                    [](const std::string& seed) {
                                      return !IsAskedFor(seed[0]);
                                    }),
                     made.seeds.end());
    return made;
  }();
  return target;
}

// The message that an input is; null where it is none.
std::unique_ptr<google::protobuf::Message> MessageOf(const uint8_t* data,
                                                     size_t size) {
  if (size == 0) return nullptr;
  const auto found = Target().messages.find(static_cast<char>(data[0]));
  if (found == Target().messages.end()) return nullptr;
  std::unique_ptr<google::protobuf::Message> message(found->second->New());
  if (!message->ParsePartialFromArray(data + 1, static_cast<int>(size - 1)))
    return nullptr;
  return message;
}

// The size of the input that the message is, behind its first byte; 0 if it
// is too large.
size_t Write(const google::protobuf::Message& message, uint8_t* data,
             size_t max_size) {
  const std::string bytes = message.SerializePartialAsString();
  if (bytes.size() + 1 > max_size) return 0;
  std::copy(bytes.begin(), bytes.end(), data + 1);
  return bytes.size() + 1;
}

}  // namespace
}  // namespace aitune

// A program that is given more than there is gets an error, as outside of the
// sanitizer.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=512";
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kFlag = "--forms=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument.substr(0, kFlag.size()) == kFlag)
      aitune::Forms() = argument.substr(kFlag.size());
  }
  return 0;
}

// Changes bytes, or parts of messages, which then get beyond the parser.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned seed) {
  // Without a corpus, most inputs would be of no form: those begin as a seed.
  const std::vector<std::string>& seeds = aitune::Target().seeds;
  if (size <= 1 && !seeds.empty()) {
    const std::string& start = seeds[seed % seeds.size()];
    size = std::min(start.size(), max_size);
    start.copy(reinterpret_cast<char*>(data), size);
  }
  std::mt19937 random(seed);
  if (random() % 4 != 0) {
    if (const auto message = aitune::MessageOf(data, size)) {
      for (size_t edits = 1 + random() % 3; edits > 0; --edits)
        aitune::MutateMessage(*message, *message, random);
      if (const size_t written = aitune::Write(*message, data, max_size))
        return written;
    }
  }
  if (size == 0) return LLVMFuzzerMutate(data, size, max_size);
  return 1 + LLVMFuzzerMutate(data + 1, size - 1, max_size - 1);
}

// Takes a part of the second message into the first.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2,
                                            uint8_t* out, size_t max_size,
                                            unsigned seed) {
  const auto message = aitune::MessageOf(data1, size1);
  const auto donor = aitune::MessageOf(data2, size2);
  if (message == nullptr || donor == nullptr || data1[0] != data2[0]) return 0;
  std::mt19937 random(seed);
  aitune::MutateMessage(*message, *donor, random);
  out[0] = data1[0];
  return aitune::Write(*message, out, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer silence_parse_errors;
  if (size > 0 && !aitune::IsAskedFor(static_cast<char>(data[0]))) return -1;
  aitune::Target().run({reinterpret_cast<const char*>(data), size});
  return 0;
}
