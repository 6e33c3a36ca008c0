#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/records.h"

namespace hone::data {

/// Hands out what it has in pieces of 1 to 7 bytes and is not always ready, as a pipe.
class DribblingSource : public ByteSource {
 public:
  explicit DribblingSource(std::string_view bytes) : bytes_(bytes) {}
  size_t read(char* out, size_t capacity) override {
    const size_t got = bytes_.copy(out, std::min(capacity, size_t{1} + turn_++ % 7));
    bytes_.remove_prefix(got);
    return got;
  }
  bool ready() override { return turn_++ % 3 != 0; }

 private:
  std::string_view bytes_;
  size_t turn_ = 0;
};

/// Reads whatever the bytes hold, whole and in dribs; both must give the same records, and an
/// Error (never an internal one) is the only way to refuse. Aborts otherwise.
inline void read_all_records(const uint8_t* data, size_t size, Format format) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  size_t sums[2] = {0, 0};
  for (const bool dribbled : {false, true}) {
    std::unique_ptr<ByteSource> source = bytes_of_memory(bytes);
    if (dribbled) source = std::make_unique<DribblingSource>(bytes);
    size_t& sum = sums[dribbled ? 1 : 0];
    try {
      const auto stream = read_records(std::move(source), "fuzz", {format, size % 2 == 0});
      for (Record record;;) {
        if (dribbled) stream->waiting();
        if (!stream->next(record)) break;
        sum = sum * 31 + std::hash<std::string>()(record.text) + record.labels.has_value();
        sum = sum * 31 + std::hash<std::string>()(record.pair.value_or("none"));
        sum = sum * 31 + std::hash<std::string>()(record.label.value_or("none"));
        sum += static_cast<size_t>(record.row);
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) std::abort();
      sum += std::hash<std::string_view>()(error.what());
    }
  }
  if (sums[0] != sums[1]) std::abort();
}

}  // namespace hone::data
