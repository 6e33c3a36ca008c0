// layers: data
// An input is seven numbers of a byte (rows and length of store.json and of the tables, id_end,
// whether there are words, where a row's length comes from), vocabulary.txt up to a zero byte, and
// ids. The bytes of index.h5 and its shards are HDF5's own: damage to them is found by their hashes
// before HDF5 sees them, so that they are built here and not fuzzed. What is left of the input is
// also read as a store.json.
#include <unistd.h>

#include "data/entry_fixture.h"
#include "fuzz/refusal.h"
#include "fuzz/scratch_folder.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ::setenv("HONE_HDF5_PLUGIN", HONE_BUILD "/libhone_hdf5.so", 0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::data;
  static const hone::ScratchFolder scratch;
  if (size < 7) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 7, size - 7);
  hone::accepts("store.json: ",
                [&] { entry_format::parse_manifest(std::string(rest), "store.json"); });
  if (::access(HONE_BUILD "/libhone_hdf5.so", R_OK) != 0) return 0;
  const auto parts = hone::split_input(rest, 2);
  StoreDraft draft;
  draft.manifest = {.rows = data[0] % 5, .length = 1 + data[1] % 4, .id_end = 1 + data[4] % 8};
  draft.manifest.has_words = data[5] % 2 == 1;
  draft.length = 1 + data[3] % 4;
  draft.vocabulary = parts[0];
  const size_t rows = data[2] % 5;
  const auto value = [&](size_t i) {
    return i < parts[1].size() ? static_cast<signed char>(parts[1][i]) : 0;
  };
  draft.ids.resize(rows * static_cast<size_t>(draft.length));
  for (size_t i = 0; i < draft.ids.size(); ++i) draft.ids[i] = value(i);
  draft.lengths.assign(rows, static_cast<signed char>(data[6]));
  draft.labels.assign(rows, 1);
  draft.write(scratch.path());
  hone::accepts(scratch.path(), [&] {
    const EntryStore store(scratch.path());
    Entries entries;
    store.read(0, store.rows(), entries);
    if (entries.ids.size() != static_cast<size_t>(store.rows() * store.length())) std::abort();
    for (const int32_t id : entries.ids) {
      if (id < 0 || id >= store.id_end()) std::abort();
    }
  });
  return 0;
}
