// layers: data
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "data/token_store.h"
#include "data/token_store_format.h"
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
  const auto store = TokenStore::open(file.path(), key, why);
  if (!store) {
    if (why.empty()) std::abort();
    return 0;
  }
  std::vector<int32_t> ids, types;
  std::vector<char> buffer;
  std::vector<float> targets(static_cast<size_t>(store->target_width()));
  int64_t tokens = 0;
  for (int64_t sample = 0; sample < store->samples(); ++sample) {
    const int32_t length = store->lengths()[static_cast<size_t>(sample)];
    ids.resize(static_cast<size_t>(length));
    types.resize(static_cast<size_t>(length));
    store->read(sample, ids.data(), types.data(), buffer);
    store->targets_of(sample, targets.data());
    tokens += length;
  }
  if (tokens != store->tokens()) std::abort();
  store->label_counts();
  return 0;
}
