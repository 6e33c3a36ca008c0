#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

/// A file open for reading by position. Reads never map: a file that shrinks while it is read is
/// an error of that file, not a bus error.
class InputFile {
 public:
  /// Opens a regular file; anything else is an error that names the path.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  /// Fills `out` with `bytes` bytes at `offset`; fewer is an error. Any thread may call it.
  void read(uint64_t offset, void* out, size_t bytes) const;
  /// Says that these few bytes will be read soon, so that the system may fetch them meanwhile.
  /// (ReadAhead is for more.)
  void will_need(uint64_t offset, uint64_t bytes) const;
  /// Says whether the file has been written to since it was opened.
  bool changed() const;
  /// The descriptor serves to map the file and stays this object's.
  int descriptor() const { return fd_; }

 private:
  /// Gives nanoseconds of the last change, which every write moves.
  int64_t change_time() const;

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  int64_t changed_at_ = 0;
};

/// Reads the whole of a file of at most `limit` bytes.
std::string read_file(const std::string& path, uint64_t limit = uint64_t{1} << 30);

bool file_exists(const std::string& path);
bool folder_exists(const std::string& path);

/// Writes a file beside its final name and renames it there on commit(), after fsync. Without a
/// commit nothing is left. A full disk is an io error that names the path.
class OutputFile {
 public:
  /// The system gets `buffer_bytes` at a time.
  explicit OutputFile(const std::string& path, size_t buffer_bytes = 1 << 20);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  void write(const void* data, size_t bytes) {
    write(std::string_view(static_cast<const char*>(data), bytes));
  }
  void commit();

 private:
  void flush();
  std::string path_;
  std::string partial_;
  std::string buffer_;
  size_t buffer_bytes_;
  int fd_ = -1;
};

/// Writes a whole file, which appears complete or not at all; see OutputFile.
void write_file(const std::string& path, std::string_view contents);

/// Gives a complete file a second name, in place of what had that name. False where the file system
/// cannot, or may not: nothing has changed then.
bool link_file(const std::string& from, const std::string& to);

/// A new folder that appears under its final name only on commit(); see OutputFile. An existing
/// folder at `path` is refused unless it is empty.
class OutputFolder {
 public:
  explicit OutputFolder(const std::string& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// Gives the folder to write files to until commit().
  const std::string& partial() const { return partial_; }
  void commit();

 private:
  std::string path_;
  std::string partial_;
  bool committed_ = false;
};

/// Removes what every OutputFile and OutputFolder of this process has written and not committed: a
/// process that ends without unwinding calls it. Where `for_good`, none can be begun from now on,
/// so that nothing appears between this and the end.
void remove_partial_output(bool for_good = false);

}  // namespace hone
