#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// HDF5 files as tables: data sets with the same number of rows. What implements it (HDF5 and
/// libdeflate) is a library of its own that is opened on use, so that hone runs where it is
/// missing. All of it may be called from any thread; HDF5 itself is used by one at a time.
namespace hone::io {

enum class ColumnType : int32_t { i32, f32, u64 };
enum class ColumnFilter : int32_t { none, deflate };

constexpr size_t bytes_of(ColumnType type) { return type == ColumnType::u64 ? 8 : 4; }

struct Column {
  std::string name;
  ColumnType type = ColumnType::i32;
  int64_t width = 0;       ///< values a row; 0: one, and the data set has one dimension
  int64_t chunk_rows = 0;  ///< 0: the rows lie together, in no chunks and behind no filter
  /// Deflate stands behind a shuffle of bytes.
  ColumnFilter filter = ColumnFilter::none;

  int64_t values() const { return width == 0 ? 1 : width; }
  size_t row_bytes() const { return static_cast<size_t>(values()) * bytes_of(type); }
};

/// Makes the bytes of one file. The same rows give the same bytes, however they come.
class TableBuilder {
 public:
  virtual ~TableBuilder() = default;
  /// Adds rows: `columns` points to the values of each column, in the order of the columns.
  virtual void append(int64_t rows, std::span<const void* const> columns) = 0;
  /// Gives the bytes of the whole file; nothing can be added any more.
  virtual std::string finish() = 0;
};

/// A file that is open for reading. It may be hostile: types, sizes, chunks and the names of other
/// files are checked when it is opened, and nothing is allocated by what it says.
class TableReader {
 public:
  virtual ~TableReader() = default;
  virtual const std::vector<Column>& columns() const = 0;
  virtual int64_t rows() const = 0;
  /// Reads `count` rows of a column from row `first` on; `out` has room for them.
  virtual void read(size_t column, int64_t first, int64_t count, void* out) const = 0;
};

/// A file that an index takes rows from; it lies beside the index.
struct TablePart {
  std::string file;
  int64_t rows = 0;
};

/// Begins a file of `rows` rows.
std::unique_ptr<TableBuilder> build_table(const std::vector<Column>& columns, int64_t rows);
/// Gives the bytes of a file whose data sets are virtual: the rows of all parts, in that order.
std::string build_table_index(const std::vector<Column>& columns, std::span<const TablePart> parts);
/// Opens a file, whose data sets may be virtual ones over files beside it.
std::unique_ptr<TableReader> open_table(const std::string& path,
                                        const std::vector<std::string>& columns);
/// Gives HDF5's version, "1.10.8"; where the library cannot be opened, an Error says why.
std::string hdf5_version();

}  // namespace hone::io
