#pragma once

#include "kernels/cpu/attention_tile.h"

/// Attention's products by AMX's tiles are internal to the kernels.
namespace hone::kernels {

/// Products of pairs of bf16, as bf16_pair_product() has them, of 16 or 32 whole rows by the 32
/// columns of a panel; steps are a multiple of 16.
struct AmxPanels {
  static constexpr int64_t kUnit = 16;   ///< rows are computed in whole units
  static constexpr int64_t kTerms = 32;  ///< a sum has a multiple of this many terms

  PanelProduct* products[2][2];  ///< [two units of rows][add]
  /// These are called before the first and after the last product of a thread.
  void (*begin)();
  void (*end)();
};
/// Gives the processor's products; null where it has none.
const AmxPanels* amx_panels();

/// Says whether a head's rows can be multiplied by AMX's tiles.
inline bool fits_amx(int64_t head_size) { return head_size % AmxPanels::kTerms == 0; }

/// attention() by panels of the caller's choice, for tests of emulated ones. Needs
/// Isa::avx512_bf16.
template <typename Out>
void attention_with(const AmxPanels& panels, const AttentionShape& shape, HeadRows<bf16> q,
                    HeadRows<bf16> k, HeadRows<bf16> v, const RelativePositions& relative, Out* out,
                    float* log_sums, void* workspace, ThreadPool& pool,
                    const Dropout& dropout = {});

}  // namespace hone::kernels
