#include <lzma.h>

#include <vector>

#include "base/error.h"
#include "data/byte_source.h"

namespace hone::data {
namespace {

constexpr size_t kBuffer = size_t{64} << 10;
/// xz -9 needs 65 MiB to decompress; a header that asks for more is refused.
constexpr uint64_t kMemoryLimit = uint64_t{80} << 20;

class XzSource : public ByteSource {
 public:
  XzSource(std::unique_ptr<ByteSource> compressed, std::string name)
      : compressed_(std::move(compressed)), name_(std::move(name)), buffer_(kBuffer) {
    if (lzma_stream_decoder(&stream_, kMemoryLimit, LZMA_CONCATENATED) != LZMA_OK) {
      fail(ErrorKind::memory, "{}: cannot start to decompress", name_);
    }
  }
  ~XzSource() override { lzma_end(&stream_); }
  XzSource(const XzSource&) = delete;
  XzSource& operator=(const XzSource&) = delete;

  size_t read(char* out, size_t capacity) override {
    stream_.next_out = reinterpret_cast<uint8_t*>(out);
    stream_.avail_out = capacity;
    // An error is told only when the bytes that came with it have been given.
    while (stream_.avail_out == capacity && !ended()) {
      if (stream_.avail_in == 0 && !input_ended_) {
        stream_.next_in = reinterpret_cast<const uint8_t*>(buffer_.data());
        stream_.avail_in = compressed_->read(buffer_.data(), buffer_.size());
        input_ended_ = stream_.avail_in == 0;
      }
      result_ = lzma_code(&stream_, input_ended_ ? LZMA_FINISH : LZMA_RUN);
    }
    return capacity - stream_.avail_out;
  }

  bool ready() override {
    return result_ != LZMA_OK || stream_.avail_in > 0 || compressed_->ready();
  }
  void interrupt() override { compressed_->interrupt(); }

 private:
  /// Says whether the last call found the end; fails where it found something else than data.
  bool ended() const {
    switch (result_) {
      case LZMA_OK:
        return false;
      case LZMA_STREAM_END:
        return true;
      case LZMA_FORMAT_ERROR:
        fail(ErrorKind::bad_file, "{}: not an xz file", name_);
      case LZMA_MEMLIMIT_ERROR:
        fail(ErrorKind::bad_file, "{}: needs more than {} bytes to decompress", name_,
             kMemoryLimit);
      case LZMA_BUF_ERROR:
        fail(ErrorKind::bad_file, "{}: the xz stream is cut off", name_);
      default:
        fail(ErrorKind::bad_file, "{}: the xz stream is damaged", name_);
    }
  }

  std::unique_ptr<ByteSource> compressed_;
  std::string name_;
  std::vector<char> buffer_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  lzma_ret result_ = LZMA_OK;  ///< result of the last call
  bool input_ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> decompress_xz(std::unique_ptr<ByteSource> compressed,
                                          const std::string& name) {
  return std::make_unique<XzSource>(std::move(compressed), name);
}

}  // namespace hone::data
