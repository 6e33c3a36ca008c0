#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/mapped_window.h"
#include "base/read_ahead.h"
#include "base/thread_pool.h"
#include "models/load.h"
#include "models/model.h"

/// All of a model's weights in one file, in the very layout that the kernels read: what is streamed
/// under a memory budget. Behind the weights lies an index (JSON), behind that a trailer:
///   magic "HONEPACK", offset, size and checksum of the index, 8 bytes each, little-endian.
/// Tables come first, then vectors, then matrices, which start on a page and are checked in pieces
/// of 1 MiB; a row of a table lies beside its checksum, and its scale where it is of bytes, so that
/// it can be read alone.
namespace hone::models {

inline constexpr const char* kPackedName = "hone_stream.bin";

/// One slot of the model. Everything but the checksums is what the encoder says.
struct PackedSlot {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::vector<uint64_t> checksums;  ///< one for each piece; a table has none
};

class PackedFile {
 public:
  /// Reads the index. A file packed for other instructions than this machine's is an error that
  /// says so.
  explicit PackedFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  DType dtype() const { return dtype_; }
  bool has_head() const { return has_head_; }
  /// Fails unless the file has the encoder's slots; an encoder without its head may leave that.
  void check(const Model& model);

  /// Maps a matrix; every piece is compared with its checksum.
  MappedWindow map(const nn::Parameter& parameter, bool huge_pages, ThreadPool& pool);
  /// Gives the bytes that a mapped matrix may have resident on huge pages.
  uint64_t huge_page_bytes(const nn::Parameter& parameter) const;
  /// Reads a matrix or a vector, laid out as its kind says.
  void read(const nn::Parameter& parameter, void* out) const;
  /// Reads a row into its place in a whole table at `table`.
  void read_row(const nn::Parameter& parameter, int64_t row, void* table) const;
  /// Announces that this matrix is mapped soon; returns at once.
  void will_need(const nn::Parameter& parameter);
  /// Announces that this row is read soon; returns at once.
  void will_need_row(const nn::Parameter& parameter, int64_t row) const;
  /// Brings all of the file into the page cache, and returns when it is there or on its way.
  void will_need_all() const;
  /// Ends a pass: fails where the file has been written to since it was opened. What was to be
  /// mapped soon and was not is no longer expected.
  void finish();

 private:
  const PackedSlot& slot(const nn::Parameter& parameter) const {
    return slots_[static_cast<size_t>(parameter.weight.slot)];
  }
  void read_index();
  void check_piece(const nn::Parameter& parameter, size_t piece, const std::byte* data) const;

  InputFile file_;
  ReadAhead ahead_{file_};
  std::map<int32_t, uint64_t> asked_;  ///< by slot: the number of the part that ahead_ brings
  DType dtype_ = DType::f32;
  bool has_head_ = false;
  Json index_;  ///< dropped by check()
  uint64_t weights_end_ = 0;
  std::vector<PackedSlot> slots_;
};

/// Gives the bytes that the file holds for a row of a table.
size_t packed_row_bytes(const nn::Parameter& table);

/// Writes an encoder's weights; gives the file's size. One slot at a time is in memory.
uint64_t write_packed(const std::string& path, const Model& model, const WeightSources& sources);

/// Fills all of the encoder's parameters.
void load_packed(Model& model, const PackedFile& file, ThreadPool& pool);

}  // namespace hone::models
