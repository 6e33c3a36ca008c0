#include "prep/spill.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "prep/work.h"

namespace hone::prep {
namespace {

constexpr std::array<char, 8> kRunMagic = {'H', 'O', 'N', 'E', 'R', 'U', 'N', '1'};

struct Segment {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t checksum = 0;
};

uint64_t checksum_of(std::string_view bytes) {
  data::ContentHash hash;
  hash.bytes(bytes.data(), bytes.size());
  return hash.value()[0];
}

/// A run begins with a magic word, a segment for each partition, and the checksum of these.
size_t header_bytes(size_t partitions) {
  return kRunMagic.size() + partitions * sizeof(Segment) + sizeof(uint64_t);
}

std::vector<Segment> read_segments(const InputFile& file, int bits) {
  std::vector<Segment> segments(size_t{1} << bits);
  const size_t bytes = header_bytes(segments.size());
  std::string header(bytes, '\0');
  uint64_t checksum = 0;
  bool good = file.size() >= bytes;
  if (good) {
    file.read(0, header.data(), bytes);
    const size_t summed = bytes - sizeof checksum;
    std::memcpy(&checksum, header.data() + summed, sizeof checksum);
    std::memcpy(segments.data(), header.data() + kRunMagic.size(), summed - kRunMagic.size());
    good = std::equal(kRunMagic.begin(), kRunMagic.end(), header.begin()) &&
           checksum == checksum_of(std::string_view(header).substr(0, summed));
  }
  if (!good) fail(ErrorKind::bad_file, "{}: damaged", file.path());
  return segments;
}

}  // namespace

std::string RunWriter::name(const std::string& path, int64_t run) {
  return fmt::format("{}-{:04}", path, run);
}

void RunWriter::add(const TextHead& head, std::span<const uint16_t> codes) {
  const size_t bytes = sizeof head + codes.size_bytes();
  if (!texts_.empty() && texts_.size() + bytes > kRunBytes) write_run();
  places_.push_back({static_cast<uint32_t>(partition_of(head.hash, bits_)),
                     static_cast<uint32_t>(bytes), texts_.size()});
  texts_.append(reinterpret_cast<const char*>(&head), sizeof head);
  texts_.append(reinterpret_cast<const char*>(codes.data()), codes.size_bytes());
}

void RunWriter::write_run() {
  std::vector<Segment> segments(size_t{1} << bits_);
  for (const Place& place : places_) segments[place.partition].bytes += place.bytes;
  const size_t header = header_bytes(segments.size());
  std::string bytes(header + texts_.size(), '\0');
  std::vector<uint64_t> ends(segments.size());
  uint64_t offset = header;
  for (size_t i = 0; i < segments.size(); ++i) {
    segments[i].offset = ends[i] = offset;
    offset += segments[i].bytes;
  }
  for (const Place& place : places_) {
    std::memcpy(bytes.data() + ends[place.partition], texts_.data() + place.offset, place.bytes);
    ends[place.partition] += place.bytes;
  }
  for (Segment& segment : segments) {
    segment.checksum = checksum_of(std::string_view(bytes).substr(segment.offset, segment.bytes));
  }
  std::memcpy(bytes.data(), kRunMagic.data(), kRunMagic.size());
  std::memcpy(bytes.data() + kRunMagic.size(), segments.data(), segments.size() * sizeof(Segment));
  const size_t summed = header - sizeof(uint64_t);
  const uint64_t checksum = checksum_of(std::string_view(bytes).substr(0, summed));
  std::memcpy(bytes.data() + summed, &checksum, sizeof checksum);
  write_work_file(name(path_, runs_++), bytes);
  texts_.clear();
  places_.clear();
}

int64_t RunWriter::finish() {
  if (!texts_.empty()) write_run();
  return std::exchange(runs_, 0);
}

bool read_run(const std::string& path, int bits, size_t partition, std::string& texts) {
  const InputFile file(path);
  const Segment segment = read_segments(file, bits)[partition];
  if (segment.bytes > file.size() || segment.offset > file.size() - segment.bytes) return false;
  texts.resize(static_cast<size_t>(segment.bytes));
  file.read(segment.offset, texts.data(), texts.size());
  return checksum_of(texts) == segment.checksum;
}

bool next_text(std::string_view& texts, TextHead& head, std::span<const uint16_t>& codes) {
  if (texts.size() < sizeof head) return false;
  std::memcpy(&head, texts.data(), sizeof head);
  texts.remove_prefix(sizeof head);
  const size_t bytes = size_t{head.units} * sizeof(uint16_t);
  if (bytes > texts.size()) return false;
  // Heads have an even size, and what texts are read into is aligned.
  codes = {reinterpret_cast<const uint16_t*>(texts.data()), head.units};
  texts.remove_prefix(bytes);
  return true;
}

}  // namespace hone::prep
