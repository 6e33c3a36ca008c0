#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hone::data {

/// Gives bytes from a file, a pipe, standard input, a decompressor or memory.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads up to `capacity` (> 0) bytes; 0 at the end. Blocks until there is one of both.
  virtual size_t read(char* out, size_t capacity) = 0;
  /// Says whether read() would return at once.
  virtual bool ready() = 0;
  /// Makes a read() that waits for bytes return 0, now and from now on. Any thread may call it. A
  /// source that never waits takes no notice.
  virtual void interrupt() {}
};

/// Opens a file, a named pipe or a device; "-" is standard input. A name that ends in ".xz" or
/// ".gz" is decompressed as it is read.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

/// Gives the bytes of a descriptor that stays the caller's; `name` names it in errors.
std::unique_ptr<ByteSource> bytes_of_descriptor(int descriptor, const std::string& name);

/// Gives the bytes of memory that must outlive the source.
std::unique_ptr<ByteSource> bytes_of_memory(std::string_view bytes);

/// Decompresses `compressed` (xz, concatenated streams too), in constant memory.
std::unique_ptr<ByteSource> decompress_xz(std::unique_ptr<ByteSource> compressed,
                                          const std::string& name);

/// Decompresses `compressed` (gzip, several members too), in constant memory.
std::unique_ptr<ByteSource> decompress_gzip(std::unique_ptr<ByteSource> compressed,
                                            const std::string& name);

}  // namespace hone::data
