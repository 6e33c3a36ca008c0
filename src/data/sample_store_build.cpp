#include <cstddef>

#include "base/error.h"
#include "base/thread_pool.h"
#include "data/sample_store.h"
#include "data/sample_store_format.h"

namespace hone::data {
namespace {

using namespace store_format;

/// Records that are read before they are encoded together: enough for every thread, and of
/// bounded size even where texts are long.
constexpr size_t kBatchRecords = 1024;
constexpr size_t kBatchBytes = size_t{8} << 20;

class Builder {
 public:
  Builder(const std::string& path, const Hash128& key, const SampleStoreRecipe& recipe)
      : out_(path), recipe_(recipe), map_(recipe.task_labels, recipe.labels.names) {
    if (recipe.labels.names.size() > kMostLabels) {
      fail(ErrorKind::unsupported, "{}: {} labels, more than {}", path, recipe.labels.names.size(),
           kMostLabels);
    }
    Header header;
    header.kind = label_kind(recipe.labels.problem);
    header.key = key;
    header.unit_bytes = static_cast<uint32_t>(recipe.processor.unit_bytes());
    write(&header, sizeof header);
    footer_.labels = recipe.labels.names.size();
  }

  void add_label(const Record& record, const RecordStream& stream) {
    if (!recipe_.labels.problem) return;
    switch (*recipe_.labels.problem) {
      case ProblemType::single_label:
        return append_label(static_cast<int32_t>(map_.id(record, stream)));
      case ProblemType::regression:
        return append_label(static_cast<float>(score_of(record, stream)));
      case ProblemType::multi_label:
        for (const bool flag : map_.ids(record, stream)) labels_.push_back(flag ? 1 : 0);
        return;
    }
  }

  void add(const EncodedSample& sample, const Record& record, const RecordStream& stream) {
    if (sample.units == 0) {
      fail(ErrorKind::bad_file, "{}: {}: no {}", stream.where(record),
           recipe_.processor.sample_name(), recipe_.processor.unit_name());
    }
    lengths_.push_back(static_cast<int32_t>(sample.units));
    footer_.units += static_cast<uint64_t>(sample.units);
    footer_.truncated += sample.truncated();
    write(sample.bytes.data(), sample.bytes.size());
  }

  void commit() {
    write(lengths_.data(), lengths_.size() * sizeof(int32_t));
    write(labels_.data(), labels_.size());
    footer_.samples = lengths_.size();
    write(&footer_, offsetof(Footer, hash));
    footer_.hash = hash_.value();
    write(&footer_.hash, sizeof footer_.hash);
    out_.commit();
  }

 private:
  void write(const void* data, size_t size) {
    hash_.bytes(data, size);
    out_.write(data, size);
  }
  template <typename T>
  void append_label(T value) {
    const char* bytes = reinterpret_cast<const char*>(&value);
    labels_.insert(labels_.end(), bytes, bytes + sizeof value);
  }

  OutputFile out_;
  const SampleStoreRecipe& recipe_;
  LabelMap map_;
  ContentHash hash_;
  Footer footer_;
  std::vector<int32_t> lengths_;
  std::vector<char> labels_;
};

/// Reads up to a batch of records; their texts stay in `records`.
size_t read_batch(RecordStream& stream, int64_t left, std::vector<Record>& records) {
  size_t count = 0, bytes = 0;
  while (count < records.size() && bytes < kBatchBytes && left-- != 0) {
    Record& record = records[count];
    if (!stream.next(record)) break;
    bytes += bytes_of(record);
    ++count;
  }
  return count;
}

void hash_records(RecordStream& stream, ContentHash& hash) {
  for (Record record; stream.next(record);) {
    hash.text(record.text);
    hash.text(record.label.value_or(""));
  }
}

}  // namespace

std::vector<std::string> build_store(const std::string& path, const Hash128& key,
                                     const Split& split, const SampleStoreRecipe& recipe,
                                     ThreadPool& pool) {
  Builder builder(path, key, recipe);
  const auto stream = split.open();
  stream->check_ids(recipe.processor);
  std::vector<Record> records(kBatchRecords);
  std::vector<RawSample> inputs;
  std::vector<EncodedSample> encoded;
  std::vector<std::string> skipped;
  int64_t samples = 0;
  for (;;) {
    const int64_t left = recipe.max_samples < 0 ? -1 : recipe.max_samples - samples;
    const size_t count = read_batch(*stream, left, records);
    if (count == 0) break;
    inputs.clear();
    for (size_t i = 0; i < count; ++i) inputs.push_back(raw_of(records[i]));
    std::vector<std::string> problems;
    if (recipe.skip_bad) {
      problems = recipe.processor.try_encode(inputs, pool, encoded);
    } else {
      recipe.processor.encode(inputs, pool, encoded);
    }
    for (size_t i = 0; i < count; ++i) {
      if (!problems.empty() && !problems[i].empty()) {
        skipped.push_back(std::move(problems[i]));
        continue;
      }
      builder.add_label(records[i], *stream);
      builder.add(encoded[i], records[i], *stream);
    }
    samples += static_cast<int64_t>(count);
  }
  if (samples == 0) fail(ErrorKind::bad_file, "{}: no samples", split.name);
  if (samples == std::ssize(skipped)) {
    fail(ErrorKind::bad_file, "{}: none of {} can be read: {}", split.name, samples,
         skipped.front());
  }
  builder.commit();
  return skipped;
}

Hash128 store_key(const Split& split, const SampleStoreRecipe& recipe) {
  ContentHash hash;
  hash.text(split.name);
  hash.text(split.contents);
  for (const std::string& file : split.files) {
    if (!recipe.skip_bad || file_exists(file)) hash.file(file);
  }
  if (split.files.empty()) hash_records(*split.open(), hash);
  for (const uint64_t part : recipe.processor.hash()) hash.number(part);
  hash.number(label_kind(recipe.labels.problem));
  for (const auto* names : {&recipe.labels.names, &recipe.task_labels}) {
    hash.number(names->size());
    for (const std::string& name : *names) hash.text(name);
  }
  hash.number(static_cast<uint64_t>(recipe.max_samples));
  hash.number(recipe.skip_bad);
  return hash.value();
}

OpenedStore open_or_build_store(const std::string& path, const Split& split,
                                const SampleStoreRecipe& recipe, ThreadPool& pool) {
  const Hash128 key = store_key(split, recipe);
  std::string why;
  if (auto store = SampleStore::open(path, key, why)) return {std::move(*store), key, ""};
  const std::string reason = why;
  std::vector<std::string> skipped = build_store(path, key, split, recipe, pool);
  auto store = SampleStore::open(path, key, why);
  if (!store) fail(ErrorKind::io, "{}", why);
  return {std::move(*store), key, reason, std::move(skipped)};
}

}  // namespace hone::data
