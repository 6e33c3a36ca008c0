#include "train/json_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "base/json.h"
#include "base/json_text.h"

namespace hone::train {
namespace {

/// Says whether the line is an entry of a step that is kept.
bool is_kept(std::string_view line, int64_t resumed_step, const std::string& path) {
  try {
    const Json json = parse_json(line, path);
    return json.is_object() && JsonFields(json, path).integer("step", 0, INT64_MAX) <= resumed_step;
  } catch (const Error&) {
    return false;
  }
}

void keep_lines(const std::string& path, int64_t resumed_step) {
  OutputFile kept(path);
  if (resumed_step >= 0 && file_exists(path)) {
    const std::string text = read_file(path);
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      if (end == text.npos) break;
      const std::string_view line = std::string_view(text).substr(at, end - at);
      if (is_kept(line, resumed_step, path)) {
        kept.write(line);
        kept.write("\n");
      }
      at = end + 1;
    }
  }
  kept.commit();
}

std::string ranks_text(const std::vector<RankEntry>& ranks) {
  std::string text = "[";
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    text += rank > 0 ? ",{\"rank\":" : "{\"rank\":";
    append_json(text, static_cast<int64_t>(rank));
    text += ",\"host\":";
    append_json(text, std::string_view(ranks[rank].host));
    text += ",\"samples\":";
    append_json(text, ranks[rank].samples);
    text += ",\"seconds\":";
    append_json(text, ranks[rank].seconds);
    text += '}';
  }
  return text + ']';
}

}  // namespace

std::string json_line(const LogEntry& entry) {
  std::string line = "{\"step\":";
  append_json(line, entry.step);
  line += ",\"epoch\":";
  append_json(line, entry.epoch);
  for (const auto& [name, value] : entry.values) {
    line += ',';
    append_json(line, std::string_view(name));
    line += ':';
    append_json(line, value);
  }
  if (!entry.ranks.empty()) line += ",\"ranks\":" + ranks_text(entry.ranks);
  return line + "}\n";
}

JsonLog::JsonLog(const std::string& path, int64_t resumed_step) : path_(path) {
  keep_lines(path, resumed_step);
  fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) fail(ErrorKind::io, "{}: cannot open: {}", path, std::strerror(errno));
}

JsonLog::~JsonLog() { ::close(fd_); }

void JsonLog::write(const LogEntry& entry) {
  if (!write_bytes(fd_, path_, json_line(entry))) {
    fail(ErrorKind::io, "{}: cannot write: {}", path_, std::strerror(errno));
  }
}

}  // namespace hone::train
