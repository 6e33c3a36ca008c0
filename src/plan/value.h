#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace hone {

/// A count that is known only when a plan runs: a plan is recorded once and replayed for any batch.
/// A model numbers its axes from 1 and declares how they behave (see Axes).
enum class Axis : uint8_t { one = 0 };
inline constexpr size_t kMaxAxes = 12;

/// The sizes that a run binds to the axes.
struct Extents {
  std::array<int64_t, kMaxAxes> counts = {1};
  int64_t& operator[](Axis axis) { return counts[static_cast<size_t>(axis)]; }
  int64_t operator[](Axis axis) const { return counts[static_cast<size_t>(axis)]; }
  auto operator<=>(const Extents&) const = default;
};

/// Gives the dtype that values of `dtype` are held and computed in. There are no fp16 kernels: fp16
/// lies in fp32, and is rounded (out of range: to infinity) whenever a step has written it; see
/// Plan::on_write().
inline DType held_in(DType dtype) { return dtype == DType::f16 ? DType::f32 : dtype; }

/// A handle, copied freely, of a [count(rows), width] array that a plan's steps read or write.
struct Value {
  int32_t id = -1;
  DType dtype = DType::f32;
  Axis rows = Axis::one;
  int64_t width = 0;
  bool present() const { return id >= 0; }
};

/// A weight slot: [rows, width] of a parameter set. Plans name slots, never addresses, so that one
/// slot can serve several layers, be replaced, or be streamed.
struct Weight {
  int32_t slot = -1;
  DType dtype = DType::f32;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t offset = 0;  ///< elements from the slot's start: the handle names some rows of a slot
                       ///< that lies row by row
  bool present() const { return slot >= 0; }
};

}  // namespace hone
