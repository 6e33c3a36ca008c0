#include "data/batches.h"

#include "base/error.h"

namespace hone::data {

void pack(const TokenStore& store, PackedBatch& batch) {
  const auto count = batch.samples.size();
  batch.offsets.assign(1, 0);
  int64_t tokens = 0;
  for (const int64_t sample : batch.samples) {
    tokens += store.lengths()[static_cast<size_t>(sample)];
    if (tokens > INT32_MAX)
      fail(ErrorKind::usage, "a batch of {} samples has too many tokens", count);
    batch.offsets.push_back(static_cast<int32_t>(tokens));
  }
  batch.ids.resize(static_cast<size_t>(tokens));
  batch.type_ids.resize(static_cast<size_t>(tokens));
  const bool classes = store.label_kind() == LabelKind::classes;
  const auto width = static_cast<size_t>(store.target_width());
  batch.classes.resize(classes ? count : 0);
  batch.targets.resize(count * width);
  std::vector<char> buffer;
  for (size_t i = 0; i < count; ++i) {
    const auto offset = static_cast<size_t>(batch.offsets[i]);
    store.read(batch.samples[i], batch.ids.data() + offset, batch.type_ids.data() + offset, buffer);
    if (classes) batch.classes[i] = store.class_of(batch.samples[i]);
    store.targets_of(batch.samples[i], batch.targets.data() + i * width);
  }
}

}  // namespace hone::data
