#include "io/hdf5/builder.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "io/hdf5/handle.h"

namespace hone::io {
namespace {

constexpr size_t kImageStep = size_t{4} << 20;
/// The first level is the fastest one: ids after a shuffle have little that a search would find.
constexpr int kDeflateLevel = 1;
const std::string kBuilding = "an HDF5 file";

hid_t file_type(ColumnType type) {
  switch (type) {
    case ColumnType::i32:
      return H5T_STD_I32LE;
    case ColumnType::f32:
      return H5T_IEEE_F32LE;
    case ColumnType::u64:
      return H5T_STD_U64LE;
  }
  return -1;
}

Handle made(hid_t id, Handle::Close close) { return {id, close, ErrorKind::failed, kBuilding}; }

void check(herr_t result) { check_hdf5(result, ErrorKind::failed, kBuilding); }

Handle space_of(const Column& column, int64_t rows) {
  const hsize_t size[2] = {static_cast<hsize_t>(rows), static_cast<hsize_t>(column.values())};
  // HDF5 takes chunks of more rows than there are only where rows may be added.
  const hsize_t most[2] = {column.chunk_rows > 0 ? H5S_UNLIMITED : size[0], size[1]};
  return made(H5Screate_simple(column.width == 0 ? 1 : 2, size, most), H5Sclose);
}

/// Begins a file in memory. HDF5 tells those that are open by their names.
Handle new_file() {
  static uint64_t count = 0;
  const std::string name = "table" + std::to_string(count++);
  const Handle access = made(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  check(H5Pset_fapl_core(access, kImageStep, false));
  // A file in memory has the oldest superblock: H5Fget_file_image() leaves a wrong checksum in
  // newer ones (1.10.8).
  check(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110));
  return made(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
}

std::string image_of(const Handle& file) {
  check(H5Fflush(file, H5F_SCOPE_GLOBAL));
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  check(size < 0 ? -1 : 0);
  std::string bytes(static_cast<size_t>(size), '\0');
  check(H5Fget_file_image(file, bytes.data(), bytes.size()) < 0 ? -1 : 0);
  return bytes;
}

/// Describes a data set to create. Times are not kept, so that the same rows give the same bytes.
Handle creation_of(const Column& column) {
  Handle creation = made(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(H5Pset_obj_track_times(creation, false));
  if (column.chunk_rows > 0) {
    const hsize_t chunk[2] = {static_cast<hsize_t>(column.chunk_rows),
                              static_cast<hsize_t>(column.values())};
    check(H5Pset_chunk(creation, column.width == 0 ? 1 : 2, chunk));
    if (column.filter == ColumnFilter::deflate) {
      check(H5Pset_shuffle(creation));
      check(H5Pset_deflate(creation, kDeflateLevel));
    }
  }
  return creation;
}

class Hdf5Builder : public TableBuilder {
 public:
  Hdf5Builder(const std::vector<Column>& columns, int64_t rows)
      : columns_(columns),
        rows_(rows),
        pending_(columns.size()),
        compressor_(libdeflate_alloc_compressor(kDeflateLevel)) {
    if (!compressor_) fail(ErrorKind::memory, "not enough memory to compress");
    const std::lock_guard lock(hdf5_mutex());
    file_ = new_file();
    for (const Column& column : columns_) {
      const Handle creation = creation_of(column);
      sets_.push_back(made(H5Dcreate2(file_, column.name.c_str(), file_type(column.type),
                                      space_of(column, rows), H5P_DEFAULT, creation, H5P_DEFAULT),
                           H5Dclose));
    }
  }
  ~Hdf5Builder() override {
    libdeflate_free_compressor(compressor_);
    const std::lock_guard lock(hdf5_mutex());
    sets_.clear();
    file_ = Handle();
  }

  void append(int64_t rows, std::span<const void* const> columns) override {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      std::string& pending = pending_[i];
      pending.append(static_cast<const char*>(columns[i]),
                     static_cast<size_t>(rows) * column.row_bytes());
      if (column.chunk_rows == 0) continue;
      const size_t whole = static_cast<size_t>(column.chunk_rows) * column.row_bytes();
      size_t taken = 0;
      for (; pending.size() - taken >= whole; taken += whole) {
        write_chunk(i, std::string_view(pending).substr(taken, whole));
      }
      pending.erase(0, taken);
    }
    added_ += rows;
  }

  std::string finish() override {
    if (added_ != rows_) {
      fail(ErrorKind::internal, "a table of {} rows was given {}", rows_, added_);
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      std::string& pending = pending_[i];
      if (pending.empty()) continue;
      const Column& column = columns_[i];
      if (column.chunk_rows == 0) {
        const std::lock_guard lock(hdf5_mutex());
        check(H5Dwrite(sets_[i], file_type(column.type), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                       pending.data()));
      } else {
        pending.resize(static_cast<size_t>(column.chunk_rows) * column.row_bytes());
        write_chunk(i, pending);
      }
    }
    const std::lock_guard lock(hdf5_mutex());
    sets_.clear();
    return image_of(file_);
  }

 private:
  /// Puts the n-th bytes of all values together, as HDF5's shuffle does.
  void shuffle(std::string_view bytes, size_t value_bytes) {
    shuffled_.resize(bytes.size());
    const size_t values = bytes.size() / value_bytes;
    for (size_t plane = 0; plane < value_bytes; ++plane) {
      char* to = shuffled_.data() + plane * values;
      const char* from = bytes.data() + plane;
      for (size_t i = 0; i < values; ++i) to[i] = from[i * value_bytes];
    }
  }

  void write_chunk(size_t i, std::string_view bytes) {
    const Column& column = columns_[i];
    if (column.filter == ColumnFilter::deflate) {
      shuffle(bytes, bytes_of(column.type));
      packed_.resize(libdeflate_zlib_compress_bound(compressor_, bytes.size()));
      const size_t size = libdeflate_zlib_compress(compressor_, shuffled_.data(), shuffled_.size(),
                                                   packed_.data(), packed_.size());
      bytes = std::string_view(packed_).substr(0, size);
    }
    const std::lock_guard lock(hdf5_mutex());
    const hsize_t at[2] = {written_[i], 0};
    check(H5Dwrite_chunk(sets_[i], H5P_DEFAULT, 0, at, bytes.size(), bytes.data()));
    written_[i] += static_cast<hsize_t>(column.chunk_rows);
  }

  std::vector<Column> columns_;
  int64_t rows_;
  int64_t added_ = 0;
  std::vector<std::string> pending_;  ///< rows of each column that are not in the file yet
  std::vector<hsize_t> written_ = std::vector<hsize_t>(columns_.size());
  std::string shuffled_;
  std::string packed_;
  libdeflate_compressor* compressor_;
  Handle file_;
  std::vector<Handle> sets_;
};

/// Maps the rows of the parts to those of a virtual data set.
void map_parts(const Handle& creation, const Handle& space, const Column& column,
               std::span<const TablePart> parts) {
  hsize_t at[2] = {0, 0};
  for (const TablePart& part : parts) {
    if (part.rows == 0) continue;
    const hsize_t size[2] = {static_cast<hsize_t>(part.rows),
                             static_cast<hsize_t>(column.values())};
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, at, nullptr, size, nullptr));
    check(H5Pset_virtual(creation, space, part.file.c_str(), column.name.c_str(),
                         space_of(column, part.rows)));
    at[0] += size[0];
  }
  check(H5Sselect_all(space));
}

}  // namespace

TableBuilder* new_builder(const std::vector<Column>& columns, int64_t rows) {
  return new Hdf5Builder(columns, rows);
}

std::string index_bytes(const std::vector<Column>& columns, std::span<const TablePart> parts) {
  int64_t rows = 0;
  for (const TablePart& part : parts) rows += part.rows;
  const std::lock_guard lock(hdf5_mutex());
  const Handle file = new_file();
  for (Column column : columns) {
    column.chunk_rows = 0;
    const Handle creation = made(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_obj_track_times(creation, false));
    const Handle space = space_of(column, rows);
    map_parts(creation, space, column, parts);
    made(H5Dcreate2(file, column.name.c_str(), file_type(column.type), space, H5P_DEFAULT, creation,
                    H5P_DEFAULT),
         H5Dclose);
  }
  return image_of(file);
}

}  // namespace hone::io
