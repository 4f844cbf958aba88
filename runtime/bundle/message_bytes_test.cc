#include "runtime/bundle/message_bytes.h"

#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>

#include <string>

namespace aitune {
namespace {

TEST(MessageBytes, AreThoseOfEqualMessages) {
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
