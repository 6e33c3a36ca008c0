#include <algorithm>
#include <array>

#include "io/hdf5/builder.h"
#include "io/hdf5/handle.h"

namespace hone::io {
namespace {

constexpr hsize_t kMostRows = hsize_t{1} << 48;
constexpr hsize_t kMostValues = hsize_t{1} << 24;      // a row
constexpr hsize_t kMostChunkBytes = hsize_t{1} << 26;  // HDF5 holds a whole chunk
constexpr size_t kLongestName = 255;

class Hdf5Reader : public TableReader {
 public:
  Hdf5Reader(std::string path, const std::vector<std::string>& names) : path_(std::move(path)) {
    const std::lock_guard lock(hdf5_mutex());
    file_ = held(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    for (const std::string& name : names) open_column(name);
  }
  ~Hdf5Reader() override {
    const std::lock_guard lock(hdf5_mutex());
    sets_.clear();
    file_ = Handle();
  }

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t rows() const override { return rows_; }

  void read(size_t column, int64_t first, int64_t count, void* out) const override {
    if (first < 0 || count < 0 || first > rows_ - count) {
      fail(ErrorKind::usage, "{}: rows {} to {} of {} asked for", path_, first, first + count,
           rows_);
    }
    if (count == 0) return;
    const std::lock_guard lock(hdf5_mutex());
    const int rank = columns_[column].width == 0 ? 1 : 2;
    const hsize_t at[2] = {static_cast<hsize_t>(first), 0};
    const hsize_t size[2] = {static_cast<hsize_t>(count),
                             static_cast<hsize_t>(columns_[column].values())};
    const Handle from = held(H5Dget_space(sets_[column]), H5Sclose);
    check(H5Sselect_hyperslab(from, H5S_SELECT_SET, at, nullptr, size, nullptr));
    const Handle to = held(H5Screate_simple(rank, size, nullptr), H5Sclose);
    check(H5Dread(sets_[column], memory_type(columns_[column].type), to, from, H5P_DEFAULT, out));
  }

 private:
  static hid_t memory_type(ColumnType type) {
    return type == ColumnType::i32   ? H5T_NATIVE_INT32
           : type == ColumnType::f32 ? H5T_NATIVE_FLOAT
                                     : H5T_NATIVE_UINT64;
  }
  Handle held(hid_t id, Handle::Close close) const {
    return {id, close, ErrorKind::bad_file, path_};
  }
  void check(herr_t result) const { check_hdf5(result, ErrorKind::bad_file, path_); }
  [[noreturn]] void refuse(const std::string& name, std::string_view problem) const {
    fail(ErrorKind::bad_file, "{}: data set {}: {}", path_, quote(name), problem);
  }

  ColumnType type_of(const std::string& name, hid_t set) const {
    const Handle type = held(H5Dget_type(set), H5Tclose);
    if (H5Tequal(type, H5T_STD_I32LE) > 0) return ColumnType::i32;
    if (H5Tequal(type, H5T_IEEE_F32LE) > 0) return ColumnType::f32;
    if (H5Tequal(type, H5T_STD_U64LE) > 0) return ColumnType::u64;
    refuse(name, "expected numbers of int32, float32 or uint64");
  }

  void open_column(const std::string& name) {
    const std::string what = path_ + ": data set " + quote(name);
    Handle set(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose, ErrorKind::bad_file, what);
    Column column{name, type_of(name, set)};
    const Handle space = held(H5Dget_space(set), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space);
    std::array<hsize_t, 2> size = {0, 1};
    if (rank != 1 && rank != 2) refuse(name, "expected one or two dimensions");
    check(H5Sget_simple_extent_dims(space, size.data(), nullptr));
    if (size[0] > kMostRows || size[1] == 0 || size[1] > kMostValues) {
      refuse(name, fmt::format("{} rows of {} values are too many or none", size[0], size[1]));
    }
    const auto rows = static_cast<int64_t>(size[0]);
    if (!columns_.empty() && rows != rows_) {
      refuse(name, fmt::format("{} rows, but {} has {}", rows, quote(columns_[0].name), rows_));
    }
    rows_ = rows;
    if (rank == 2) column.width = static_cast<int64_t>(size[1]);
    check_storage(set, column);
    columns_.push_back(std::move(column));
    sets_.push_back(std::move(set));
  }

  /// Refuses chunks that are huge, filters that need a plugin of HDF5, and rows that come from
  /// files elsewhere.
  void check_storage(hid_t set, Column& column) const {
    const Handle creation = held(H5Dget_create_plist(set), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(creation);
    if (H5Pget_external_count(creation) != 0) refuse(column.name, "its rows lie in other files");
    if (layout == H5D_CHUNKED) check_chunks(creation, column);
    if (layout == H5D_VIRTUAL) check_sources(creation, column.name);
  }

  void check_chunks(hid_t creation, Column& column) const {
    std::array<hsize_t, 2> chunk = {0, 1};
    const int rank = H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
    if (rank < 1 || rank > 2 || chunk[0] > kMostChunkBytes || chunk[1] > kMostChunkBytes ||
        chunk[0] * chunk[1] > kMostChunkBytes / bytes_of(column.type)) {
      refuse(column.name, "its chunks are too large");
    }
    column.chunk_rows = static_cast<int64_t>(chunk[0]);
    const int filters = H5Pget_nfilters(creation);
    for (int i = 0; i < filters; ++i) {
      unsigned flags = 0;
      size_t values = 0;
      unsigned config = 0;
      const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags,
                                                 &values, nullptr, 0, nullptr, &config);
      if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_DEFLATE) {
        refuse(column.name, fmt::format("filter {} is not known here", filter));
      }
      if (filter == H5Z_FILTER_DEFLATE) column.filter = ColumnFilter::deflate;
    }
  }

  void check_sources(hid_t creation, const std::string& name) const {
    size_t count = 0;
    check(H5Pget_virtual_count(creation, &count));
    for (size_t i = 0; i < count; ++i) {
      std::array<char, kLongestName + 1> file{};
      const ssize_t size = H5Pget_virtual_filename(creation, i, file.data(), file.size());
      const std::string_view source(file.data());
      if (size <= 0 || static_cast<size_t>(size) > kLongestName || source == "." ||
          source.find('/') != source.npos || source.find('%') != source.npos) {
        refuse(name, "its rows come from files that do not lie beside it: " + quote(source));
      }
    }
  }

  std::string path_;
  Handle file_;
  std::vector<Column> columns_;
  std::vector<Handle> sets_;
  int64_t rows_ = 0;
};

}  // namespace

TableReader* new_reader(const std::string& path, const std::vector<std::string>& columns) {
  return new Hdf5Reader(path, columns);
}

}  // namespace hone::io
