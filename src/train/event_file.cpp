#include "train/event_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/file_calls.h"

namespace hone::train {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    table[i] = crc;
  }
  return table;
}

constexpr auto kCrcTable = make_crc_table();

template <typename T>
void append_raw(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

/// Masks a checksum, as TFRecord does with those that stand beside what they check.
uint32_t masked(uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8; }

/// Protobuf's wire types.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_key(std::string& out, uint32_t field, Wire wire) {
  append_varint(out, field << 3 | wire);
}

void append_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  append_key(out, field, kBytes);
  append_varint(out, bytes.size());
  out += bytes;
}

/// The fields of SessionLog are: status = 1 (enum), of which 1 is START.
constexpr std::string_view kSessionStart = "\x08\x01";

/// The fields of Event are: wall_time = 1 (double), step = 2 (int64), file_version = 3, summary =
/// 5, session_log = 7.
std::string event(double wall_time, int64_t step) {
  std::string out;
  append_key(out, 1, kFixed64);
  append_raw(out, wall_time);
  append_key(out, 2, kVarint);
  append_varint(out, static_cast<uint64_t>(step));
  return out;
}

/// The fields of Summary are: value = 1, of tag = 1 and simple_value = 2 (float).
void append_scalar(std::string& summary, std::string_view tag, double value) {
  std::string scalar;
  append_bytes(scalar, 1, tag);
  append_key(scalar, 2, kFixed32);
  append_raw(scalar, static_cast<float>(value));
  append_bytes(summary, 1, scalar);
}

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc = crc >> 8 ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return ~crc;
}

std::string tf_record(std::string_view message) {
  std::string out;
  append_raw(out, static_cast<uint64_t>(message.size()));
  append_raw(out, masked(crc32c(out)));
  out += message;
  append_raw(out, masked(crc32c(message)));
  return out;
}

std::string event_message(const LogEntry& entry, double wall_time) {
  std::string summary;
  append_scalar(summary, "epoch", entry.epoch);
  for (const auto& [name, value] : entry.values) append_scalar(summary, name, value);
  std::string out = event(wall_time, entry.step);
  append_bytes(out, 5, summary);
  return out;
}

EventFile::EventFile(const std::string& folder, int64_t resumed_step) {
  if (!make_folders(folder)) {
    fail(creation_error_kind(errno), "{}: cannot create: {}", folder, std::strerror(errno));
  }
  const double started = now();
  for (int number = 0; fd_ < 0; ++number) {
    path_ = fmt::format("{}/events.out.tfevents.{}.{}.{}.{}", folder, static_cast<int64_t>(started),
                        host_name(), ::getpid(), number);
    fd_ = create_file(path_, O_EXCL | O_APPEND);
    if (fd_ < 0 && errno != EEXIST) {
      fail(creation_error_kind(errno), "{}: cannot create: {}", path_, std::strerror(errno));
    }
  }
  std::string version = event(started, 0);
  append_bytes(version, 3, "brain.Event:2");
  append(tf_record(version));
  if (resumed_step < 0) return;
  std::string restart = event(started, resumed_step + 1);
  append_bytes(restart, 7, kSessionStart);
  append(tf_record(restart));
}

EventFile::~EventFile() {
  if (fd_ >= 0) ::close(fd_);
}

void EventFile::append(std::string_view bytes) {
  if (!write_bytes(fd_, path_, bytes)) {
    fail(ErrorKind::io, "{}: cannot write: {}", path_, std::strerror(errno));
  }
}

void EventFile::write(const LogEntry& entry, double wall_time) {
  append(tf_record(event_message(entry, wall_time)));
}

void EventFile::write(const LogEntry& entry) { write(entry, now()); }

}  // namespace hone::train
