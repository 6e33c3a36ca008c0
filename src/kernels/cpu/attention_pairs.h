#pragma once

#include "kernels/cpu/attention_tile.h"

namespace hone::kernels {

/// The product of 1 to 12 rows by at least `columns` <= 32 columns of a panel where every float of
/// `a` and of the panel is a pair of bf16: sums of both products of each pair, in fp32. Needs
/// Isa::avx512_bf16; null where that cannot be.
PanelProduct* bf16_pair_product(int64_t rows, int64_t columns, bool add);
/// The same, added, with `a` [steps, rows].
PanelProduct* bf16_pair_product_transposed(int64_t rows, int64_t columns);

}  // namespace hone::kernels
