#pragma once

#include "kernels/cpu/attention_tile.h"

/// Attention's products by AMX's tiles. Internal.
namespace hone::kernels {

/// Products of pairs of bf16, as bf16_pair_product() has them, of 16 or 32 whole rows by the 32
/// columns of a panel; steps are a multiple of 16.
struct AmxPanels {
  static constexpr int64_t kUnit = 16;   ///< of rows
  static constexpr int64_t kTerms = 32;  ///< of a sum: a multiple of this

  PanelProduct* products[2][2];  ///< [two units of rows][add]
  /// Around all that one thread does with them.
  void (*begin)();
  void (*end)();
};
/// The processor's; null where that cannot be.
const AmxPanels* amx_panels();

/// Whether a head's rows can be multiplied so.
inline bool fits_amx(int64_t head_size) { return head_size % AmxPanels::kTerms == 0; }

/// attention() by panels of the caller's choice, for tests of emulated ones. Needs
/// Isa::avx512_bf16.
template <typename Out>
void attention_with(const AmxPanels& panels, const AttentionShape& shape, HeadRows<bf16> q,
                    HeadRows<bf16> k, HeadRows<bf16> v, const RelativePositions& relative, Out* out,
                    float* log_sums, void* workspace, ThreadPool& pool,
                    const Dropout& dropout = {});

}  // namespace hone::kernels
