#include <fcntl.h>
#include <unistd.h>

#include "cli/commands.h"

namespace {

/// Whoever started us may have closed standard descriptors, whose places the next files and sockets
/// would take. A device takes them that can be neither read as input nor written as output, so that
/// using them fails as before.
void hold_standard_descriptors() {
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int count, char** words) {
  hold_standard_descriptors();
  return hone::cli::run({words + 1, words + count});
}
