#include "compiler/support/Descriptors.h"

#include <fcntl.h>
#include <unistd.h>

namespace aitune {

bool moveBehindStandard(int (&descriptors)[2]) {
  bool isDone = true;
  for (int &descriptor : descriptors) {
    if (descriptor > STDERR_FILENO)
      continue;
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    isDone = isDone && moved >= 0;
    close(descriptor);
    descriptor = moved;
  }
  if (!isDone)
    for (int descriptor : descriptors)
      close(descriptor);
  return isDone;
}

bool isOpen(int descriptor) { return fcntl(descriptor, F_GETFD) != -1; }

} // namespace aitune
