#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/records.h"

namespace hone::data {

inline std::unique_ptr<RecordStream> stream_of(std::string_view bytes, Format format,
                                               bool need_label = false) {
  return read_records(bytes_of_memory(bytes), "file", {format, need_label});
}

inline std::vector<Record> records_of(RecordStream& stream) {
  std::vector<Record> records;
  for (Record record; stream.next(record);) records.push_back(record);
  return records;
}

inline std::vector<Record> records_of(std::string_view bytes, Format format,
                                      bool need_label = false) {
  return records_of(*stream_of(bytes, format, need_label));
}

/// The message of the error that `work` must throw; of a kind that is the user's mistake.
template <typename Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal);
    return error.what();
  }
  return "no error";
}

inline std::string error_reading(std::string_view bytes, Format format, bool need_label = false) {
  return error_of([&] { records_of(bytes, format, need_label); });
}

/// A folder of this test's own, gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hone-data-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }

 private:
  std::string path_;
};

}  // namespace hone::data
