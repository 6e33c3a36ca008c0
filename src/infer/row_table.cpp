#include "infer/row_table.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"
#include "base/page_cache.h"

namespace hone::infer {
RowTable::RowTable(const nn::Parameter& parameter, size_t bytes, WeightSource& source)
    : parameter_(parameter),
      source_(source),
      bytes_(bytes),
      there_(static_cast<size_t>(parameter.weight.rows)) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) fail(ErrorKind::memory, "no room for the addresses of {} bytes", bytes);
  data_ = data;
  madvise(data_, bytes, MADV_NOHUGEPAGE);  // a huge page would hold hundreds of rows
}

RowTable::~RowTable() { munmap(data_, bytes_); }

void RowTable::want(std::span<const int32_t> rows) {
  std::vector<int32_t> missing;
  for (const int32_t row : rows) {
    if (!there_[static_cast<size_t>(row)]) missing.push_back(row);
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  for (const int32_t row : missing) source_.announce_row(parameter_, row);
  for (const int32_t row : missing) {
    source_.row(parameter_, row, data_);
    there_[static_cast<size_t>(row)] = true;
    ++count_;
  }
}

void RowTable::trim(size_t rows, size_t bytes) {
  if (bytes_for(count_ + rows) <= bytes) return;
  madvise(data_, bytes_, MADV_DONTNEED);
  there_.assign(there_.size(), false);
  count_ = 0;
}

size_t RowTable::bytes_for(size_t rows) const {
  const Weight& weight = parameter_.weight;
  const size_t row = static_cast<size_t>(weight.width) * dtype_size(weight.dtype);
  // A row reaches into one page more than it fills; scales have pages of their own.
  const size_t page = page_bytes();
  const size_t pages = (row + page - 2) / page + 1 + (weight.dtype == DType::i8 ? 1 : 0);
  return std::min(std::min(rows, there_.size()) * pages * page, bytes_ + page);
}

}  // namespace hone::infer
