#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "profile/trace.h"

namespace hone::profile {
namespace {

/// A file that is compressed on its way.
class GzipFile {
 public:
  explicit GzipFile(const std::string& path) : file_(path), out_(1 << 16, '\0') {
    constexpr int kWindowBits = 15, kGzip = 16, kMemory = 8;
    if (deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kWindowBits + kGzip, kMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      fail(ErrorKind::memory, "{}: there is not enough memory to compress", path);
    }
  }
  ~GzipFile() { deflateEnd(&stream_); }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  void write(std::string_view text) { compress(text, Z_NO_FLUSH); }
  void commit() {
    compress({}, Z_FINISH);
    file_.commit();
  }

 private:
  void compress(std::string_view text, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, flush);
      file_.write(std::string_view(out_).substr(0, out_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

  OutputFile file_;
  std::string out_;
  z_stream stream_{};
};

void append_field(std::string& line, std::string_view name, const auto& value) {
  line += ',';
  append_json(line, name);
  line += ':';
  append_json(line, value);
}

std::string event_line(const Event& event, int64_t pid, int64_t track, const Recorder& recorder) {
  std::string line = R"({"ph":"X","name":)";
  append_json(line, std::string_view(event.name));
  append_field(line, "cat", std::string_view(event.op ? "op" : "span"));
  append_field(line, "pid", pid);
  append_field(line, "tid", track);
  append_field(line, "ts", static_cast<double>(event.begin_ns) * 1e-3);
  append_field(line, "dur", static_cast<double>(event.end_ns - event.begin_ns) * 1e-3);
  if (event.scope >= 0 || event.bytes > 0) {
    line += R"(,"args":{"bytes":)";
    append_json(line, event.bytes);
    append_field(line, "flops", event.flops);
    if (event.scope >= 0)
      append_field(line, "layer", std::string_view(recorder.scope(event.scope)));
    line += '}';
  }
  return line + '}';
}

}  // namespace

void write_json_trace(const std::string& path, const Recorder& recorder) {
  const int64_t pid = ::getpid();
  GzipFile file(path);
  file.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  int64_t number = 0;
  for (const auto& track : recorder.tracks()) {
    std::string line = R"({"ph":"M","name":"thread_name")";
    append_field(line, "pid", pid);
    append_field(line, "tid", number);
    line += R"(,"args":{"name":)";
    append_json(line, std::string_view(track->name));
    line += "}}";
    file.write((number > 0 ? ",\n" : "") + line);
    for (const Event& event : track->events) {
      file.write(",\n" + event_line(event, pid, number, recorder));
    }
    ++number;
  }
  file.write("\n]}\n");
  file.commit();
}

}  // namespace hone::profile
