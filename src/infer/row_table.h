#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "infer/weight_source.h"

namespace hone::infer {

/// A table of which only the rows that were asked for are in memory, each in its place: addresses
/// are kept for the whole of it, pages come with the rows.
class RowTable {
 public:
  /// `bytes` is the size of the whole table. All arguments must outlive this.
  RowTable(const nn::Parameter& parameter, size_t bytes, WeightSource& source);
  ~RowTable();
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;

  const void* data() const { return data_; }
  /// Reads the rows that are not there.
  void want(std::span<const int32_t> rows);
  /// Forgets all rows where more than `bytes` would be resident with `rows` more.
  void trim(size_t rows, size_t bytes);
  /// Gives the most bytes that so many rows take.
  size_t bytes_for(size_t rows) const;

 private:
  const nn::Parameter& parameter_;
  WeightSource& source_;
  void* data_ = nullptr;
  size_t bytes_;
  std::vector<bool> there_;
  size_t count_ = 0;
};

}  // namespace hone::infer
