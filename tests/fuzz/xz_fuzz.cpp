// layers: data
#include "fuzz/decompression.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone::data::check_decompression(hone::data::decompress_xz, "input.xz", data, size);
  return 0;
}
