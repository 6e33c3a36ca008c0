#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "prep/spill.h"
#include "prep/stages.h"

namespace hone::prep {
namespace {

constexpr uint64_t kMapBytes = uint64_t{40} << 20;

/// Reads a part anew up to its mistake, now with the file's own line numbers.
void find_line(const Job& job, const Part& part) {
  if (part.begin == 0) return;
  const auto reviews = open_part(job.inputs[part.input], part, job.options.fields, true);
  for (Review review; reviews->next(review);) {
  }
}

Json map_reviews(const Job& job, size_t number) {
  const Part& part = job.parts[number];
  const auto reviews = open_part(job.inputs[part.input], part, job.options.fields);
  CleanText clean(*job.dictionary);
  RunWriter runs(job.part_file(number), job.bits);
  int64_t records = 0;
  int64_t empty = 0;
  uint64_t spilled = 0;
  for (Review review; reviews->next(review); ++records) {
    clean.clean(review.text);
    if (clean.empty()) {
      ++empty;
      continue;
    }
    data::ContentHash hash;
    hash.bytes(clean.text().data(), clean.text().size());
    const auto codes = clean.codes();
    runs.add({hash.value(), review.label, static_cast<uint32_t>(codes.size())}, codes);
    spilled += codes.size_bytes();
  }
  return {{"runs", runs.finish()}, {"records", records}, {"empty", empty}, {"spilled", spilled}};
}

void map_part(const Job& job, size_t number) {
  Json record;
  try {
    record = map_reviews(job, number);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::bad_file) find_line(job, job.parts[number]);
    throw;
  }
  write_record(job.record_file("part", number), record);
}

bool part_is_done(const Job& job, size_t number) {
  const auto record = read_record(job.record_file("part", number));
  if (!record) return false;
  const auto runs = record->at("runs").get<int64_t>();
  std::string texts;
  try {
    for (int64_t run = 0; run < runs; ++run) {
      const std::string path = RunWriter::name(job.part_file(number), run);
      for (size_t i = 0; i < job.partitions(); ++i) {
        if (!read_run(path, job.bits, i, texts)) return false;
      }
    }
  } catch (const Error&) {
    return false;  // A run that is gone or damaged is written again.
  }
  return true;
}

}  // namespace

void map_stage(const Job& job) {
  const std::vector<size_t> mine = job.share(job.parts.size());
  std::vector<char> done(job.parts.size());
  job.each("check", mine, kMapBytes, [&](size_t part) { done[part] = part_is_done(job, part); });
  std::vector<size_t> left;
  for (const size_t part : mine) {
    if (!done[part]) left.push_back(part);
  }
  // A record of a part that is damaged would tell others that the part is done.
  for (const size_t part : left) remove_file(job.record_file("part", part));
  job.each("map", left, kMapBytes, [&](size_t part) { map_part(job, part); });
  size_t seen = 0;
  job.pulse->wait([&] {
    while (seen < job.parts.size() && file_exists(job.record_file("part", seen))) ++seen;
    return seen == job.parts.size();
  });
}

}  // namespace hone::prep
