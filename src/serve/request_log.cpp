#include "serve/request_log.h"

#include <fmt/chrono.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/error.h"
#include "base/json_text.h"

namespace hone::serve {
namespace {

constexpr size_t kMostBuffered = 4 << 20;
// The end waits this long for a reader that does not read.
constexpr int kPatience = 200;  // milliseconds
// Lines of so long are written together: a wake-up a line takes as much processor time as a
// request.
constexpr std::chrono::milliseconds kGathered{20};

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string time_text(int64_t ms) {
  constexpr int64_t kSecond = 1000;
  const auto seconds = static_cast<std::time_t>(ms / kSecond);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), ms % kSecond);
}

void add(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out += ",\"";
  out += name;
  out += "\":";
  append_json(out, value);
}

void add(std::string& out, std::string_view name, int64_t value) {
  out += fmt::format(",\"{}\":{}", name, value);
}

std::string json_line(const LogEntry& entry, int64_t now) {
  std::string out = "{\"timestamp\":\"" + time_text(now) + "\",\"level\":";
  constexpr int kServerErrors = 500;
  out += entry.status >= kServerErrors ? "\"ERROR\"" : "\"INFO\"";
  add(out, "message", "request");
  add(out, "method", entry.method);
  add(out, "path", entry.path);
  add(out, "status", entry.status);
  add(out, "request_id", entry.id);
  add(out, "traceparent", entry.traceparent);
  add(out, "peer", entry.peer);
  add(out, "request_bytes", entry.request_bytes);
  add(out, "response_bytes", entry.response_bytes);
  out += fmt::format(",\"total_ms\":{:.3f}", entry.total * 1e3);
  if (entry.inputs > 0) {
    add(out, "model", entry.model);
    add(out, "inputs", entry.inputs);
    add(out, "tokens", entry.tokens);
    add(out, "truncated", entry.truncated);
    out += fmt::format(",\"tokenization_ms\":{:.3f},\"queue_ms\":{:.3f},\"inference_ms\":{:.3f}",
                       entry.tokenization * 1e3, entry.queue * 1e3, entry.inference * 1e3);
  }
  add(out, "error", entry.error);
  return out + "}\n";
}

/// What a client chose, without control characters.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out;
}

std::string plain_line(const LogEntry& entry, int64_t now) {
  std::string out = fmt::format("{} {} {} {} {:.3f} ms", time_text(now), entry.status,
                                printable(entry.method), printable(entry.path), entry.total * 1e3);
  if (entry.inputs > 0) {
    out += fmt::format(" inputs={} tokens={} queue={:.3f} tokenization={:.3f} inference={:.3f}",
                       entry.inputs, entry.tokens, entry.queue * 1e3, entry.tokenization * 1e3,
                       entry.inference * 1e3);
  }
  out += " id=" + entry.id;
  if (!entry.traceparent.empty()) out += " traceparent=" + entry.traceparent;
  if (!entry.error.empty()) out += " error: " + printable(entry.error);
  return out + '\n';
}

}  // namespace

std::string log_line(RequestLog::Format format, const LogEntry& entry, int64_t now) {
  return format == RequestLog::Format::json ? json_line(entry, now) : plain_line(entry, now);
}

RequestLog::RequestLog(Format format, int descriptor, Counter& lost)
    : format_(format), descriptor_(descriptor), lost_(lost) {
  if (enabled()) thread_ = std::thread([this] { run(); });
}

RequestLog::~RequestLog() { close(); }

void RequestLog::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void RequestLog::write(const LogEntry& entry) {
  if (enabled()) put(log_line(format_, entry, now_ms()));
}

void RequestLog::note(std::string_view level, std::string_view message) {
  if (!enabled()) return;
  if (format_ == Format::plain) {
    return put(fmt::format("{} {} {}\n", time_text(now_ms()), level, printable(message)));
  }
  std::string out = "{\"timestamp\":\"" + time_text(now_ms()) + '"';
  add(out, "level", level);
  add(out, "message", message);
  put(out + "}\n");
}

void RequestLog::put(const std::string& line) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (buffer_.size() + line.size() > kMostBuffered) return lost_.add();
    first = buffer_.empty();
    buffer_ += line;
  }
  if (first) changed_.notify_one();
}

void RequestLog::run() {
  std::string taken;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !buffer_.empty(); });
      changed_.wait_for(lock, kGathered, [this] { return ends_; });
      if (buffer_.empty()) return;
      taken.swap(buffer_);
    }
    if (!flush(taken)) return;
    taken.clear();
  }
}

bool RequestLog::flush(std::string_view text) const {
  while (!text.empty()) {
    pollfd ready{descriptor_, POLLOUT, 0};
    if (::poll(&ready, 1, kPatience) == 0) {
      // Nobody reads: wait, unless the server ends.
      const std::lock_guard lock(mutex_);
      if (ends_) return false;
      continue;
    }
    // A pipe takes this many bytes where it takes any, so that the call does not wait.
    constexpr size_t kAtOnce = 4096;
    const ssize_t written = ::write(descriptor_, text.data(), std::min(text.size(), kAtOnce));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return true;  // nobody is there: dropped
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace hone::serve
