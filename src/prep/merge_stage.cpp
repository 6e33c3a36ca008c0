#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "prep/counts.h"
#include "prep/merge.h"
#include "prep/stages.h"

namespace hone::prep {
namespace {

constexpr uint64_t kMergeBytes = uint64_t{8} << 20;  // besides its texts

struct Spilled {
  std::vector<std::string> runs;
  uint64_t bytes = 0;
};

Spilled find_runs(const Job& job) {
  Spilled found;
  for (size_t part = 0; part < job.parts.size(); ++part) {
    const auto record = read_record(job.record_file("part", part));
    if (!record) {
      fail(ErrorKind::bad_file, "{}: damaged; start again", job.record_file("part", part));
    }
    const auto runs = record->at("runs").get<int64_t>();
    for (int64_t run = 0; run < runs; ++run) {
      found.runs.push_back(RunWriter::name(job.part_file(part), run));
    }
    found.bytes += record->at("spilled").get<uint64_t>();
  }
  return found;
}

/// Reads a partition of all runs; gives the number of texts.
int64_t read_partition(const Job& job, const Spilled& spilled, size_t partition, Merger& merger) {
  std::string bytes;
  int64_t texts = 0;
  for (const std::string& run : spilled.runs) {
    bool good = read_run(run, job.bits, partition, bytes);
    std::string_view left = bytes;
    TextHead head;
    std::span<const uint16_t> codes;
    for (; good && next_text(left, head, codes); ++texts) merger.add(head, codes);
    good = good && left.empty();
    if (!good) fail(ErrorKind::bad_file, "{}: damaged; start again", run);
  }
  return texts;
}

/// Writes a partition's entries with no more words than a row has, and counts all of their words.
Json write_merged(const Job& job, const Merger& merger, size_t partition) {
  WordCounts counts(*job.dictionary);
  std::string rows;
  for (size_t i = 0; i < merger.size(); ++i) {
    TextHead head = merger.head(i);
    auto codes = merger.codes(i);
    counts.add(codes);
    int64_t words = 0;
    const auto more = [&](auto) { return ++words <= job.options.max_length; };
    codes = codes.first(walk(codes, more, more));
    head.units = static_cast<uint32_t>(codes.size());
    rows.append(reinterpret_cast<const char*>(&head), sizeof head);
    rows.append(reinterpret_cast<const char*>(codes.data()), codes.size_bytes());
  }
  const std::string counted = counts.bytes();
  write_work_file(job.merged_file(partition), rows);
  write_work_file(job.counts_file(partition), counted);
  return {{"rows_hash", data::entry_format::facts_of(rows).hash},
          {"counts_hash", data::entry_format::facts_of(counted).hash}};
}

void merge_partition(const Job& job, const Spilled& spilled,
                     const std::optional<VocabularyIndex>& index, size_t partition) {
  Merger merger(*job.dictionary);
  merger.clear();
  const int64_t texts = read_partition(job, spilled, partition, merger);
  merger.sort();
  const auto rows = static_cast<int64_t>(merger.size());
  Json record = {{"rows", rows}, {"duplicates", texts - rows}};
  if (job.counts_words()) {
    record.update(write_merged(job, merger, partition));
    write_record(job.record_file("merged", partition), record);
    return;
  }
  const auto maker = make_ids(job, index);
  ShardWriter shard(job, *maker, partition, rows);
  for (size_t i = 0; i < merger.size(); ++i) {
    const TextHead head = merger.head(i);
    shard.add(head.hash, head.label, merger.codes(i));
  }
  shard.finish(record);
}

bool partition_is_done(const Job& job, size_t partition) {
  if (!job.counts_words()) return shard_is_done(job, partition);
  const auto record = read_record(job.record_file("merged", partition));
  if (!record) return false;
  const auto same = [&](const std::string& path, const char* field) {
    if (!file_exists(path)) return false;
    data::ContentHash hash;
    hash.file(path);
    return data::hex(hash.value()) == record->at(field).get<std::string>();
  };
  return same(job.merged_file(partition), "rows_hash") &&
         same(job.counts_file(partition), "counts_hash");
}

}  // namespace

void merge_stage(const Job& job) {
  const Spilled spilled = find_runs(job);
  std::vector<size_t> left;
  for (const size_t partition : job.share(job.partitions())) {
    if (partition_is_done(job, partition)) continue;
    remove_file(job.record_file("merged", partition));
    left.push_back(partition);
  }
  std::optional<VocabularyIndex> index;
  if (!job.counts_words() && !job.tokenizer) index.emplace(job.vocabulary, *job.dictionary);
  // A partition's texts, the rows that are made of them, and what finds the copies.
  const uint64_t bytes = spilled.bytes / job.partitions() * 4 + kMergeBytes;
  job.each("merge", left, bytes,
           [&](size_t partition) { merge_partition(job, spilled, index, partition); });
}

void vocabulary_stage(Job& job) {
  if (!job.counts_words()) return;
  std::vector<std::string> counts;
  for (size_t i = 0; i < job.partitions(); ++i) counts.push_back(job.counts_file(i));
  size_t seen = 0;
  job.pulse->wait([&] {
    while (seen < counts.size() && file_exists(job.record_file("merged", seen))) ++seen;
    return seen == counts.size();
  });
  const std::string words = job.folder + "/vocabulary.txt";
  std::string text;
  if (job.ranks.rank == 0 && !read_sealed(words, text)) {
    const auto size = static_cast<size_t>(job.options.vocabulary_size);
    write_work_file(words, sealed(vocabulary_text(commonest_words(counts, size))));
  }
  job.pulse->wait([&] { return read_sealed(words, text); });
  job.vocabulary = lines_of_text(text);
}

}  // namespace hone::prep
