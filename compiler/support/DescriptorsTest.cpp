#include "compiler/support/Descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace aitune {
namespace {

TEST(Descriptors, OnlyStandardOnesAreMoved) {
  const int input = dup(STDIN_FILENO);
  close(STDIN_FILENO);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(ends[0], STDIN_FILENO);
  const int other = ends[1];
  EXPECT_TRUE(moveBehindStandard(ends));
  EXPECT_GT(ends[0], STDERR_FILENO);
  EXPECT_EQ(ends[1], other);
  EXPECT_FALSE(isOpen(STDIN_FILENO));
  EXPECT_TRUE(isOpen(ends[0]));
  EXPECT_EQ(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
  char sent = 'a', received = 0;
  EXPECT_EQ(write(ends[1], &sent, 1), 1);
  EXPECT_EQ(read(ends[0], &received, 1), 1);
  EXPECT_EQ(received, 'a');
  for (int end : ends)
    close(end);
  dup2(input, STDIN_FILENO);
  close(input);
}

} // namespace
} // namespace aitune
