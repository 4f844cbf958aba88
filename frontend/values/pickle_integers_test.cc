#include "frontend/values/pickle_integers.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

std::string Wide(const std::string& pickle) {
  const auto made = WithWideIntegers(pickle);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.value_or("");
}

// What Python's pickle.dumps(value, 2) gives, with 8 bytes an integer.
TEST(PickleIntegers, HaveEightBytes) {
  using namespace std::string_literals;  // with zeros inside
  EXPECT_EQ(Wide("\x80\x02\x8a\x06\x00\x10\xa5\xd4\xe8\x00."s),
            "\x80\x02\x8a\x08\x00\x10\xa5\xd4\xe8\x00\x00\x00."s);  // 10**12
  EXPECT_EQ(Wide("\x80\x02\x8a\x06\x00\xf0Z+\x17\xff."s),
            "\x80\x02\x8a\x08\x00\xf0Z+\x17\xff\xff\xff."s);  // -10**12
  EXPECT_EQ(Wide("\x8a\x00."s), "\x8a\x08\0\0\0\0\0\0\0\0."s);
  // The bytes of an opcode inside a string, a float or a name are none.
  for (const std::string& same :
       {"\x80\x02]q\x00(K\x05M\x2c\x01J\x00\x00\x01\x00"
        "G?\x8a\x01\x8a\x8a\x01\x8a\x01X\x03\x00\x00\x00\xc2\x8a\x01"
        "ctorch\x8a\x01\nname\n\x8a\x08\x01\x02\x03\x04\x05\x06\x07\x08"
        "\x88\x89N\x86tQe."s,
        // Not known, or cut off.
        "\xff\x8a\x01\x01."s, "\x8a\x06\x01"s, "X\x03\x00"s, "cname"s, ""s})
    EXPECT_EQ(Wide(same), same);
}

TEST(PickleIntegers, OfMoreAreErrors) {
  const std::string nine = std::string("\x8a\x09") + std::string(9, '\x01');
  EXPECT_THAT(std::string(WithWideIntegers(nine + ".").status().message()),
              HasSubstr("does not fit into 64 bits"));
}

}  // namespace
}  // namespace aitune::frontend
