// layers: data
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "data/sample_store.h"
#include "data/sample_store_format.h"
#include "fuzz/memory_file.h"

/// Whatever the bytes say, with the right key and the right hash put in: the store is refused, or
/// all of it can be read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::data;
  constexpr size_t kKeyAt = offsetof(store_format::Header, key);
  if (size < sizeof(store_format::Header) + sizeof(store_format::Footer)) return 0;
  std::vector<uint8_t> bytes(data, data + size);
  const Hash128 key = {1, 2};
  std::memcpy(bytes.data() + kKeyAt, &key, sizeof key);
  ContentHash hash;
  hash.bytes(bytes.data(), size - sizeof(Hash128));
  const Hash128 value = hash.value();
  std::memcpy(bytes.data() + size - sizeof value, &value, sizeof value);

  const hone::MemoryFile file(bytes.data(), size);
  std::string why;
  const auto store = SampleStore::open(file.path(), key, why);
  if (!store) {
    if (why.empty()) std::abort();
    return 0;
  }
  std::vector<std::byte> sample_bytes;
  std::vector<float> targets(static_cast<size_t>(store->target_width()));
  int64_t units = 0;
  size_t bytes_read = 0;
  for (int64_t sample = 0; sample < store->samples(); ++sample) {
    store->read(sample, sample_bytes);
    store->targets_of(sample, targets.data());
    units += store->lengths()[static_cast<size_t>(sample)];
    bytes_read += sample_bytes.size();
  }
  if (units != store->units() || bytes_read > size) std::abort();
  store->label_counts();
  return 0;
}
