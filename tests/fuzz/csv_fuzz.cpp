// layers: data
#include "fuzz/records_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone::data::read_all_records(data, size, hone::data::Format::csv);
  return 0;
}
