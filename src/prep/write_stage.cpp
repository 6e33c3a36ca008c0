#include <fmt/core.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "data/entry_store.h"
#include "prep/counts.h"
#include "prep/spill.h"
#include "prep/stages.h"

namespace hone::prep {
namespace {

namespace format = data::entry_format;

constexpr size_t kBatch = 256;  // rows that are handed over at a time
constexpr int kTries = 100;
constexpr uint64_t kWriteBytes = uint64_t{48} << 20;

void write_partition(const Job& job, const VocabularyIndex& index, size_t partition) {
  const auto record = read_record(job.record_file("merged", partition));
  const std::string path = job.merged_file(partition);
  if (!record) fail(ErrorKind::bad_file, "{}: damaged; start again", path);
  const auto maker = index.maker();
  ShardWriter shard(job, *maker, partition, record->at("rows").get<int64_t>());
  const std::string bytes = read_file(path, uint64_t{1} << 36);
  std::string_view left = bytes;
  TextHead head;
  std::span<const uint16_t> codes;
  while (next_text(left, head, codes)) shard.add(head.hash, head.label, codes);
  if (!left.empty()) fail(ErrorKind::bad_file, "{}: damaged; start again", path);
  shard.finish(*record);
}

}  // namespace

ShardWriter::ShardWriter(const Job& job, IdMaker& maker, size_t partition, int64_t rows)
    : job_(job),
      maker_(maker),
      partition_(partition),
      rows_(rows),
      table_(io::build_table(format::columns(job.options.max_length), rows)) {}

void ShardWriter::add(const data::Hash128& hash, float label, std::span<const uint16_t> codes) {
  const auto length = static_cast<size_t>(job_.options.max_length);
  const size_t begin = ids_.size();
  ids_.resize(begin + length, format::kPad);
  const size_t count = maker_.make(codes, std::span(ids_).subspan(begin, length));
  lengths_.push_back(static_cast<int32_t>(count));
  labels_.push_back(label);
  hashes_.insert(hashes_.end(), hash.begin(), hash.end());
  if (lengths_.size() == kBatch) flush();
}

void ShardWriter::flush() {
  const std::array<const void*, 4> columns = {ids_.data(), lengths_.data(), labels_.data(),
                                              hashes_.data()};
  table_->append(static_cast<int64_t>(lengths_.size()), columns);
  ids_.clear();
  lengths_.clear();
  labels_.clear();
  hashes_.clear();
}

void ShardWriter::finish(const Json& merged) {
  flush();
  const std::string bytes = table_->finish();
  write_file(job_.options.output + "/" + job_.shard_name(partition_), bytes);
  const format::FileFacts facts = format::facts_of(bytes);
  write_record(job_.record_file("shard", partition_), {{"rows", rows_},
                                                       {"duplicates", merged.at("duplicates")},
                                                       {"bytes", facts.bytes},
                                                       {"hash", facts.hash}});
}

bool shard_is_done(const Job& job, size_t partition) {
  const auto record = read_record(job.record_file("shard", partition));
  const std::string path = job.options.output + "/" + job.shard_name(partition);
  if (!record || !file_exists(path)) return false;
  data::ContentHash hash;
  hash.file(path);
  return data::hex(hash.value()) == record->at("hash").get<std::string>();
}

std::unique_ptr<IdMaker> make_ids(const Job& job, const std::optional<VocabularyIndex>& index) {
  return index ? index->maker() : tokenizer_ids(*job.tokenizer, *job.dictionary);
}

void write_stage(const Job& job) {
  if (!job.counts_words()) return;
  const VocabularyIndex index(job.vocabulary, *job.dictionary);
  std::vector<size_t> left;
  for (const size_t partition : job.share(job.partitions())) {
    if (shard_is_done(job, partition)) continue;
    remove_file(job.record_file("shard", partition));
    left.push_back(partition);
  }
  job.each("write", left, kWriteBytes,
           [&](size_t partition) { write_partition(job, index, partition); });
}

PrepResult index_stage(const Job& job) {
  size_t seen = 0;
  job.pulse->wait([&] {
    while (seen < job.partitions() && file_exists(job.record_file("shard", seen))) ++seen;
    return seen == job.partitions();
  });
  format::Manifest manifest;
  manifest.length = job.options.max_length;
  manifest.has_words = !job.tokenizer;
  manifest.tokenizer = job.tokenizer_hash;
  manifest.id_end = job.tokenizer
                        ? job.tokenizer->id_end()
                        : static_cast<int64_t>(job.vocabulary.size()) + format::kFirstWord;
  for (size_t part = 0; part < job.parts.size(); ++part) {
    const Json record = read_record(job.record_file("part", part)).value();
    manifest.records += record.at("records").get<int64_t>();
    manifest.empty += record.at("empty").get<int64_t>();
  }
  std::vector<io::TablePart> shards;
  for (size_t i = 0; i < job.partitions(); ++i) {
    const Json record = read_record(job.record_file("shard", i)).value();
    shards.push_back({job.shard_name(i), record.at("rows").get<int64_t>()});
    manifest.rows += shards.back().rows;
    manifest.duplicates += record.at("duplicates").get<int64_t>();
    manifest.files[shards.back().file] = {record.at("bytes").get<uint64_t>(),
                                          record.at("hash").get<std::string>()};
  }
  if (manifest.rows == 0) {
    fail(ErrorKind::bad_file, "{}: none of {} records has words in its field {}",
         job.inputs[0].path, manifest.records, quote(job.options.fields.text));
  }
  if (manifest.has_words) {
    const std::string words = vocabulary_text(job.vocabulary);
    write_file(job.options.output + "/" + format::kVocabulary, words);
    manifest.files[format::kVocabulary] = format::facts_of(words);
  }
  const std::string index = io::build_table_index(format::columns(manifest.length), shards);
  manifest.files[format::kIndex] = format::facts_of(index);
  write_file(job.options.output + "/" + format::kManifest, format::manifest_text(manifest));
  write_file(job.options.output + "/" + format::kIndex, index);
  // A rank that is about to end may put a last sign of life into the folder.
  for (int tries = 0; tries < kTries && !remove_tree(job.folder); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  PrepResult result{manifest.records,
                    manifest.empty,
                    manifest.duplicates,
                    manifest.rows,
                    static_cast<int64_t>(job.vocabulary.size()),
                    static_cast<int64_t>(shards.size())};
  for (const Input& input : job.inputs) result.bytes += input.bytes;
  return result;
}

}  // namespace hone::prep
