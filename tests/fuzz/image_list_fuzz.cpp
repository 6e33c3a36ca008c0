// layers: data
#include "data/image_list.h"
#include "fuzz/memory_file.h"
#include "fuzz/refusal.h"

/// The first byte chooses the format of a list of images, and whether it must have labels. An
/// accepted list has paths without zero bytes, and a share of it can be set apart.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::data;
  if (size == 0) return 0;
  const hone::MemoryFile file(data + 1, size - 1);
  const auto format = static_cast<Format>(data[0] % 4);
  const bool labelled = data[0] & 4;
  hone::accepts(file.path(), [&] {
    ImageList list = images_listed(file.path(), labelled, format);
    for (const ImageList::Item& item : list.items) {
      if (item.path.empty() || item.path.find('\0') != std::string::npos) std::abort();
      if (labelled && item.label.empty()) std::abort();
    }
    const size_t all = list.items.size();
    const ImageList off = split_off(list, 0.5, 1);
    if (off.items.empty() || off.items.size() + list.items.size() != all) std::abort();
  });
  return 0;
}
