#include "kernels/cpu/gemm_amx-inl.h"

namespace hone::kernels {
namespace {

/// The processor's tiles, used by assembler: g++ 12's intrinsics take tile numbers as literal text
/// only.
struct Tiles {
  using Element = bf16;
  /// Palette 1 (eight tiles of 16 rows by 64 bytes), written by hand: some guests leave CPUID's
  /// description of the palettes empty though the tiles work.
  struct alignas(64) Config {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static_assert(sizeof(Config) == 64);

  static void configure() {
    static constexpr Config config;
    __asm__ volatile("ldtilecfg %0" ::"m"(config));
  }
  /// Returns to the initial state: a thread with live tiles costs 8 KB at each context switch.
  static void release() { __asm__ volatile("tilerelease"); }

  template <int tile>
  static void load(const void* from, int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(tile)
                     : "memory");
  }
  template <int tile>
  static void store(void* to, int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(tile) : "memory");
  }
  template <int tile>
  static void zero() {
    __asm__ volatile("tilezero %%tmm%c0" ::"i"(tile));
  }
  template <int sums, int a, int b>
  static void dot() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(b));
  }
};

/// Multiplies bytes from 0 to 255 by bytes from -128 to 127.
struct ByteTiles : Tiles {
  using Element = uint8_t;

  template <int sums, int a, int b>
  static void dot() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(b));
  }
};

}  // namespace

const GemmKernel* gemm_amx_kernel() { return &amx::kKernel<Tiles>; }
const GemmKernel* gemm_amx_int8_kernel() { return &amx::kKernel<ByteTiles>; }
const AmxPanels* amx_panels() { return &amx::kPanels<Tiles>; }

}  // namespace hone::kernels
