// Damage to messages that stay well-formed, for fuzzers and tests.
#ifndef AITUNE_RUNTIME_FUZZ_MESSAGE_MUTATION_H_
#define AITUNE_RUNTIME_FUZZ_MESSAGE_MUTATION_H_

#include <random>

#include "google/protobuf/message.h"

namespace aitune {

// Changes one number, enumerator or flag that is set somewhere in `message`, or
// nothing where it comes upon a text.
void ChangeANumber(google::protobuf::Message& message, std::mt19937& random);

// One change of `message`: of a number or a text; an element of a list twice,
// moved, gone or new; a field set or cleared; a part replaced by one of the
// same type in `donor`, which may be `message` itself.
void MutateMessage(google::protobuf::Message& message,
                   const google::protobuf::Message& donor,
                   std::mt19937& random);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_FUZZ_MESSAGE_MUTATION_H_
