#include "prep/prep.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "prep/stages.h"

namespace hone::prep {
namespace {

void check_options(const PrepOptions& options) {
  if (options.inputs.empty()) fail(ErrorKind::usage, "prep.input: missing");
  if (options.output.empty()) fail(ErrorKind::usage, "prep.output: missing");
  const int ways =
      (options.vocabulary_size > 0) + !options.vocabulary_file.empty() + !options.tokenizer.empty();
  if (ways != 1) fail(ErrorKind::usage, "prep.vocabulary: expected it or `prep.tokenizer`");
  if (options.max_length < 1 || options.max_length > data::entry_format::kMostLength) {
    fail(ErrorKind::usage, "prep.max_length: expected 1 to {}, got {}",
         data::entry_format::kMostLength, options.max_length);
  }
}

}  // namespace

std::string Job::record_file(const char* what, size_t part) const {
  return fmt::format("{}/{}-{:06}.json", folder, what, part);
}
std::string Job::part_file(size_t part) const { return fmt::format("{}/run-{:06}", folder, part); }
std::string Job::merged_file(size_t part) const {
  return fmt::format("{}/rows-{:06}", folder, part);
}
std::string Job::counts_file(size_t part) const {
  return fmt::format("{}/counts-{:06}", folder, part);
}
std::string Job::shard_name(size_t part) const { return fmt::format("shard-{:05}.h5", part); }

std::vector<size_t> Job::share(size_t count) const {
  std::vector<size_t> mine;
  for (auto i = static_cast<size_t>(ranks.rank); i < count; i += static_cast<size_t>(ranks.size)) {
    mine.push_back(i);
  }
  return mine;
}

void Job::each(std::string_view stage, const std::vector<size_t>& pieces, uint64_t bytes,
               FunctionRef<void(size_t piece)> work) const {
  const auto room = static_cast<int>(std::max<uint64_t>(kThreadsMemory / bytes, 1));
  ThreadPool pool(
      std::min({options.threads, room, static_cast<int>(std::max<size_t>(pieces.size(), 1))}));
  std::mutex mutex;
  int64_t done = 0;
  const auto count = static_cast<int64_t>(pieces.size());
  pool.run(count, [&](int64_t i, int) {
    work(pieces[static_cast<size_t>(i)]);
    const std::lock_guard lock(mutex);
    observer.progress(stage, ++done, count);
  });
}

std::optional<Json> read_record(const std::string& path) {
  std::string bytes;
  if (!read_sealed(path, bytes)) return std::nullopt;
  return parse_json(bytes, path);
}

void write_record(const std::string& path, const Json& record) {
  write_work_file(path, sealed(record.dump()));
}

PrepResult run(const PrepOptions& options, const Ranks& ranks, PrepObserver& observer) {
  check_options(options);
  io::hdf5_version();  // says now whether there is HDF5
  Job job(options, ranks, observer);
  plan_stage(job);
  map_stage(job);
  merge_stage(job);
  vocabulary_stage(job);
  write_stage(job);
  job.pulse->finish();
  if (ranks.rank != 0) return {};
  return index_stage(job);
}

}  // namespace hone::prep
