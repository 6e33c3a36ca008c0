#include "data/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace hone::data {
namespace {

class DescriptorSource : public ByteSource {
 public:
  DescriptorSource(int descriptor, std::string name, bool owned)
      : descriptor_(descriptor),
        name_(std::move(name)),
        owned_(owned),
        interrupted_(::eventfd(0, EFD_CLOEXEC)) {
    if (interrupted_ >= 0) return;
    const int reason = errno;
    if (owned_) ::close(descriptor_);
    fail(ErrorKind::io, "{}: cannot wait for it: {}", name_, std::strerror(reason));
  }
  ~DescriptorSource() override {
    if (owned_) ::close(descriptor_);
    ::close(interrupted_);
  }
  DescriptorSource(const DescriptorSource&) = delete;
  DescriptorSource& operator=(const DescriptorSource&) = delete;

  size_t read(char* out, size_t capacity) override {
    for (;;) {
      pollfd waited[] = {{descriptor_, POLLIN, 0}, {interrupted_, POLLIN, 0}};
      if (::poll(waited, 2, -1) > 0 && waited[0].revents == 0) return 0;
      const ssize_t got = ::read(descriptor_, out, capacity);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR && errno != EAGAIN) {  // a non-blocking descriptor gives EAGAIN
        fail(ErrorKind::io, "{}: cannot read: {}", name_, std::strerror(errno));
      }
    }
  }

  bool ready() override {
    pollfd asked{descriptor_, POLLIN, 0};
    return ::poll(&asked, 1, 0) > 0;
  }

  void interrupt() override {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = ::write(interrupted_, &one, sizeof one);
  }

 private:
  int descriptor_;
  std::string name_;
  bool owned_;
  int interrupted_;  ///< an event; never read, so that it stays
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  size_t read(char* out, size_t capacity) override {
    const size_t got = bytes_.copy(out, capacity);
    bytes_.remove_prefix(got);
    return got;
  }
  bool ready() override { return true; }

 private:
  std::string_view bytes_;
};

}  // namespace

std::unique_ptr<ByteSource> bytes_of_descriptor(int descriptor, const std::string& name) {
  return std::make_unique<DescriptorSource>(descriptor, name, false);
}

std::unique_ptr<ByteSource> bytes_of_memory(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  if (path == "-") return bytes_of_descriptor(STDIN_FILENO, "standard input");
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail(ErrorKind::bad_file, "{}: cannot open: {}", path, std::strerror(errno));
  }
  auto file = std::make_unique<DescriptorSource>(descriptor, path, true);
  struct stat info {};
  if (::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
    fail(ErrorKind::bad_file, "{}: a folder, expected a file", path);
  }
  if (path.ends_with(".xz")) return decompress_xz(std::move(file), path);
  if (path.ends_with(".gz")) return decompress_gzip(std::move(file), path);
  return file;
}

}  // namespace hone::data
