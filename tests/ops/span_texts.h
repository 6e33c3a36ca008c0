#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/chart.h"

namespace hone::ops {

/// Texts of so many words; each word has two tokens, and there is one before the first and one
/// behind the last. A text's tree has its first two and its last three words as constituents.
struct SpanTexts {
  explicit SpanTexts(const std::vector<int32_t>& words) {
    for (const int32_t n : words) {
      const int32_t first = offsets.back();
      for (int32_t bound = 0; bound <= n; ++bound) {
        before.push_back(first + 2 * bound);
        behind.push_back(first + 2 * bound + 1);
      }
      offsets.push_back(first + 2 * n + 2);
      bounds.push_back(bounds.back() + n + 1);
      cells.push_back(cells.back() + static_cast<int32_t>(kernels::chart_cells(n)));
      for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = i + 2; j <= n; ++j) {
          gold.push_back((i == 0 && j == 2) || (i == n - 3 && j == n) || j - i == n);
        }
      }
    }
  }

  std::vector<int32_t> offsets = {0}, bounds = {0}, cells = {0}, before = {}, behind = {},
                       gold = {};
};

}  // namespace hone::ops
