// layers: data
#include "data/image_processor.h"
#include "data/image_sets.h"
#include "fuzz/refusal.h"

namespace {

/// Reads all records; each is an image in memory with a label from 0 to 9.
void read_all(hone::data::RecordStream& records) {
  for (hone::data::Record record; records.next(record);) {
    if (!hone::data::is_raw_image(record.text)) std::abort();
    if (record.label->size() != 1 || *record.label < "0" || *record.label > "9") std::abort();
    if (records.where(record).find('\n') != std::string::npos) std::abort();
  }
}

}  // namespace

/// The first byte chooses the format: CIFAR's binary file, a sheet's labels, or IDX, whose images
/// and labels have half of the rest each.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::data;
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const char format = bytes.front();
  bytes.remove_prefix(1);
  hone::accepts("input", [&] {
    if (format == 'c') {
      read_all(*open_cifar(bytes_of_memory(bytes), "input"));
    } else if (format == 'l') {
      for (const uint8_t label : parse_sheet_labels(bytes, "input")) {
        if (label > 9) std::abort();
      }
    } else {
      const size_t half = bytes.size() - bytes.size() / 2;
      read_all(*open_idx(bytes_of_memory(bytes.substr(0, half)), "input",
                         bytes_of_memory(bytes.substr(half)), "input labels"));
    }
  });
  return 0;
}
