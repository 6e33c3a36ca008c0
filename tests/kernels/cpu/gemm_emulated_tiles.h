#pragma once

#include <cstring>

#include "tensor/dtype.h"

namespace hone::kernels {

/// AMX's eight tiles in plain memory, so that packing, blocking and edges of the AMX kernel are
/// tested on processors without it. Unconfigured tiles hold NaN: a forgotten configure() shows.
struct EmulatedTiles {
  using Element = bf16;
  struct Tile {
    std::byte rows[16][64];
  };
  inline static thread_local Tile tiles[8];

  static void configure() { std::memset(tiles, 0, sizeof tiles); }
  static void release() { std::memset(tiles, 0xff, sizeof tiles); }

  template <int tile>
  static void load(const void* from, int64_t stride) {
    for (int r = 0; r < 16; ++r) {
      std::memcpy(tiles[tile].rows[r], static_cast<const std::byte*>(from) + r * stride, 64);
    }
  }
  template <int tile>
  static void store(void* to, int64_t stride) {
    for (int r = 0; r < 16; ++r) {
      std::memcpy(static_cast<std::byte*>(to) + r * stride, tiles[tile].rows[r], 64);
    }
  }
  template <int tile>
  static void zero() {
    std::memset(&tiles[tile], 0, sizeof(Tile));
  }
  template <int sums, int a, int b>
  static void dot() {
    for (int r = 0; r < 16; ++r) {
      float row[16];
      std::memcpy(row, tiles[sums].rows[r], 64);
      for (int pair = 0; pair < 16; ++pair) {
        bf16 x[2], y[32];
        std::memcpy(x, tiles[a].rows[r] + pair * 4, 4);
        std::memcpy(y, tiles[b].rows[pair], 64);
        for (int column = 0; column < 16; ++column) {
          row[column] += to_float(x[0]) * to_float(y[2 * column]);
          row[column] += to_float(x[1]) * to_float(y[2 * column + 1]);
        }
      }
      std::memcpy(tiles[sums].rows[r], row, 64);
    }
  }
};

struct EmulatedByteTiles : EmulatedTiles {
  using Element = uint8_t;

  template <int sums, int a, int b>
  static void dot() {
    for (int r = 0; r < 16; ++r) {
      int32_t row[16];
      std::memcpy(row, tiles[sums].rows[r], 64);
      for (int k = 0; k < 64; ++k) {
        const auto x = static_cast<uint8_t>(tiles[a].rows[r][k]);
        for (int column = 0; column < 16; ++column) {
          row[column] += x * static_cast<int8_t>(tiles[b].rows[k / 4][4 * column + k % 4]);
        }
      }
      std::memcpy(tiles[sums].rows[r], row, 64);
    }
  }
};

}  // namespace hone::kernels
