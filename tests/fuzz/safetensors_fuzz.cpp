// layers: io
#include "fuzz/weights_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Not a torch file: those have a driver of their own.
  if (size > 8 && data[8] == '{') hone::check_weights(data, size);
  return 0;
}
