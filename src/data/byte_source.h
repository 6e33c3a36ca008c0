#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hone::data {

/// Where bytes come from: a file, a pipe, standard input, a decompressor, memory.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `capacity` (> 0) bytes; 0 at the end. Blocks until there is one of both.
  virtual size_t read(char* out, size_t capacity) = 0;
  /// Whether read() would return at once.
  virtual bool ready() = 0;
};

/// A file, a named pipe or a device; "-" is standard input. A name that ends in ".xz" is
/// decompressed as it is read.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

/// Of a descriptor that stays the caller's; `name` names it in errors.
std::unique_ptr<ByteSource> bytes_of_descriptor(int descriptor, const std::string& name);

/// Of memory that must outlive the source.
std::unique_ptr<ByteSource> bytes_of_memory(std::string_view bytes);

/// `compressed` decompressed (xz, concatenated streams too), in constant memory.
std::unique_ptr<ByteSource> decompress_xz(std::unique_ptr<ByteSource> compressed,
                                          const std::string& name);

}  // namespace hone::data
