#pragma once

#include "device/cpu_info.h"
#include "kernels/cpu/attention_tile.h"

namespace hone::kernels {

/// Says whether attention multiplies pairs of bf16. (With AMX it has tiles instead.)
inline bool has_bf16_pairs(Isa isa) { return isa == Isa::avx512_bf16 || isa == Isa::neon_bf16; }

/// Gives the product of 1 to 12 rows by at least `columns` <= 32 columns of a panel where every
/// float of `a` and of the panel is a pair of bf16: sums of both products of each pair, in fp32.
/// Needs has_bf16_pairs().
PanelProduct* bf16_pair_product(int64_t rows, int64_t columns, bool add);
/// Gives the product that adds (+=) and takes `a` as [steps, rows].
PanelProduct* bf16_pair_product_transposed(int64_t rows, int64_t columns);

}  // namespace hone::kernels
