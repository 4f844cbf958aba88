#include "runtime/bundle/message_bytes.h"

#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/base/config.h"

namespace aitune {
namespace {

TEST(MessageBytes, AreThoseOfEqualMessages) {
#if defined(ABSL_HAVE_THREAD_SANITIZER)
  GTEST_SKIP() << "protobuf's maps are laid out otherwise for the sanitizer of "
                  "threads, but not in the library that is installed";
#endif
  google::protobuf::Struct up, down;
  for (int i = 0; i < 200; ++i) {
    (*up.mutable_fields())[std::to_string(i)].set_number_value(i);
    (*down.mutable_fields())[std::to_string(199 - i)].set_number_value(199 - i);
  }
  const auto bytes = MessageBytes(up);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, *MessageBytes(down));
  google::protobuf::Struct read;
  ASSERT_TRUE(read.ParseFromString(*bytes));
  EXPECT_EQ(read.fields_size(), 200);
}

}  // namespace
}  // namespace aitune
