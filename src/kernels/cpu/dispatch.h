#pragma once

/// This header says which of Highway's targets are compiled, and which of them runs. Every file
/// that uses Highway includes it before any header of Highway.
///
/// A kernel's source is compiled once a target, by foreach_target.h; what it exports is called as
///   HONE_TARGET_FUNCTION(LayerNormRows<float, bf16>)(arguments)
/// from the same source, in namespace hone::kernels, under `#if HWY_ONCE`. The choice follows
/// chosen_isa() at each call, so that tests can run one kernel on every instruction set.

#include "device/cpu_info.h"

// AVX2 with FMA is the least that hone runs on (device/cpu_info.h), so nothing below it is
// compiled. A file that is compiled for more by its flags keeps what they say.
#if defined(__x86_64__) && !defined(__AVX2__)
#define HWY_BASELINE_TARGETS HWY_AVX2
#endif
// Vectors of unknown length cannot be held in arrays, as the tile kernels do.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#include <hwy/detect_targets.h>

namespace hone::kernels {

template <typename Function>
inline Function* choose(Function* avx2, Function* avx512) {
  return chosen_isa() < Isa::avx512 ? avx2 : avx512;
}

}  // namespace hone::kernels

#if (HWY_TARGETS & HWY_AVX2) && (HWY_TARGETS & HWY_AVX3)
#define HONE_TARGET_FUNCTION(...) \
  ::hone::kernels::choose(&N_AVX2::__VA_ARGS__, &N_AVX3::__VA_ARGS__)
#else
#define HONE_TARGET_FUNCTION(...) (&HWY_NAMESPACE::__VA_ARGS__)
#endif
