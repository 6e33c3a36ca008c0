#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"
#include "data/byte_source.h"

namespace hone::data {
namespace {

constexpr size_t kGzipBuffer = size_t{64} << 10;
constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip's header alone

class GzipSource : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> compressed, std::string name)
      : compressed_(std::move(compressed)), name_(std::move(name)), buffer_(kGzipBuffer) {
    if (::inflateInit2(&stream_, kGzipWindow) != Z_OK) {
      fail(ErrorKind::memory, "{}: cannot start to decompress", name_);
    }
  }
  ~GzipSource() override { ::inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  size_t read(char* out, size_t capacity) override {
    const auto room =
        static_cast<uInt>(std::min<size_t>(capacity, std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = room;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0 && !refill()) {
        if (inside_) fail(ErrorKind::bad_file, "{}: the gzip stream is cut off", name_);
        return 0;
      }
      step();
    }
    return room - stream_.avail_out;
  }

  bool ready() override { return ended_ || stream_.avail_in > 0 || compressed_->ready(); }
  void interrupt() override { compressed_->interrupt(); }

 private:
  bool refill() {
    if (ended_) return false;
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(compressed_->read(buffer_.data(), buffer_.size()));
    ended_ = stream_.avail_in == 0;
    any_ = any_ || !ended_;
    if (ended_ && !any_) fail(ErrorKind::bad_file, "{}: not a gzip file", name_);
    return !ended_;
  }

  /// Decompresses some; a file may be several members, one behind the other.
  void step() {
    inside_ = true;
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      inside_ = false;
      ::inflateReset(&stream_);
    } else if (result == Z_DATA_ERROR || result == Z_NEED_DICT) {
      fail(ErrorKind::bad_file, "{}: {}", name_,
           stream_.total_out == 0 ? "not a gzip file" : "the gzip stream is damaged");
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail(ErrorKind::memory, "{}: cannot decompress", name_);
    }
  }

  std::unique_ptr<ByteSource> compressed_;
  std::string name_;
  std::vector<char> buffer_;
  z_stream stream_{};
  bool inside_ = false;  ///< a member has begun and not ended
  bool any_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> decompress_gzip(std::unique_ptr<ByteSource> compressed,
                                            const std::string& name) {
  return std::make_unique<GzipSource>(std::move(compressed), name);
}

}  // namespace hone::data
