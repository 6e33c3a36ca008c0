#pragma once

#include <array>
#include <cstdint>

#include "tensor/dtype.h"

namespace hone {

/// Row counts that are known only when a plan runs: a CPU plan is recorded once and replayed for
/// any batch.
enum class Axis : uint8_t {
  one,
  tokens,     ///< all tokens of the packed batch
  sequences,  ///< sequences of the batch
  reads,      ///< token rows of the last layer that somebody reads
};

/// The sizes that a run binds to the axes.
struct Extents {
  std::array<int64_t, 4> counts = {1, 0, 0, 0};
  int64_t longest = 0;  ///< no sequence has more tokens; read by plans for a GPU alone
  int64_t& operator[](Axis axis) { return counts[static_cast<size_t>(axis)]; }
  int64_t operator[](Axis axis) const { return counts[static_cast<size_t>(axis)]; }
  bool operator==(const Extents&) const = default;
};

/// What values of `dtype` are held and computed in. There are no fp16 kernels: fp16 lies in fp32,
/// and is rounded (out of range: to infinity) whenever a step has written it; see Plan::on_write().
inline DType held_in(DType dtype) { return dtype == DType::f16 ? DType::f32 : dtype; }

/// A [count(rows), width] array that a plan's steps read or write. A handle: copied freely.
struct Value {
  int32_t id = -1;
  DType dtype = DType::f32;
  Axis rows = Axis::one;
  int64_t width = 0;
};

/// A weight slot: [rows, width] of a parameter set. Plans name slots, never addresses, so that one
/// slot can serve several layers, be replaced, or be streamed.
struct Weight {
  int32_t slot = -1;
  DType dtype = DType::f32;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t offset = 0;  ///< elements from the slot's start: some rows of a slot that lies row by row
  bool present() const { return slot >= 0; }
};

}  // namespace hone
