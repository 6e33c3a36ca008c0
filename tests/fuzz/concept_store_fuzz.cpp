// layers: explain
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "explain/concept_set.h"
#include "explain/concept_store.h"
#include "fuzz/memory_file.h"

/// Whatever the bytes say, with the right hash put in: the store is refused in one line, or all of
/// it can be read and is finite.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  using data::Hash128;
  if (size < sizeof(Hash128)) return 0;
  std::vector<uint8_t> bytes(data, data + size);
  data::ContentHash hash;
  hash.bytes(bytes.data(), size - sizeof(Hash128));
  const Hash128 value = hash.value();
  std::memcpy(bytes.data() + size - sizeof value, &value, sizeof value);

  const MemoryFile file(bytes.data(), size);
  try {
    const explain::ConceptStore store(file.path());
    std::vector<float> vector(static_cast<size_t>(store.width()));
    size_t read = 0;
    for (int64_t i = 0; i < store.size(); ++i) {
      explain::read_row(store.rows(), i, vector.data());
      for (const float x : vector) {
        if (std::isnan(x)) std::abort();
      }
      read += store.text(i).size() + store.label_counts(i).size() * 4;
      for (const uint32_t row : store.source_rows(i)) read += row != 0;
    }
    if (read > size) std::abort();
    const explain::RowConcepts by_row(store);
    if (by_row.of(-1).size() != 0) std::abort();
  } catch (const Error& error) {
    if (std::strchr(error.what(), '\n')) std::abort();
  }
  return 0;
}
