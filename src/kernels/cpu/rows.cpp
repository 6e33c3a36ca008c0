#include "kernels/cpu/rows.h"

#include <cstring>

namespace hone::kernels {

void gather_rows(const void* in, int64_t row_stride, const int32_t* index, int64_t count,
                 int64_t row_bytes, void* out, ThreadPool& pool) {
  const char* from = static_cast<const char*>(in);
  char* to = static_cast<char*>(out);
  for_row_ranges(count, row_bytes / 4, pool, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(to + i * row_bytes, from + index[i] * row_stride, row_bytes);
    }
  });
}

}  // namespace hone::kernels
