#pragma once

#include <cstdint>

#include "base/thread_pool.h"

/// Rows for the spans of packed texts, of what stands around their begins and ends. T is float or
/// double.
namespace hone::kernels {

/// Says where the words of packed texts lie. A text of n words has n + 1 bounds, and a cell for
/// each span of two words or more, in the order of kernels/cpu/chart.h.
struct SpanPlaces {
  int64_t texts;
  const int32_t* tokens;  ///< [texts + 1], where each text's tokens begin
  const int32_t* bounds;  ///< [texts + 1], where its bounds begin
  const int32_t* cells;   ///< [texts + 1], where its cells begin
  const int32_t* before;  ///< [bounds], the row of the last token before a bound
  const int32_t* behind;  ///< [bounds], the row of the first token behind it
};

/// y[cell] = sum of four parts of rows of x, each `width` of the row's 4 * width columns: the first
/// part of the row behind the span's begin, the second of that before it, the third of the row
/// before the span's end, the fourth of that behind it.
template <typename T>
void span_rows(const T* x, const SpanPlaces& places, int64_t width, T* y, ThreadPool& pool);

/// Sets dx (=), [tokens, 4 * width], to the gradient.
template <typename T>
void span_rows_backward(const T* dy, const SpanPlaces& places, int64_t width, T* dx,
                        ThreadPool& pool);

}  // namespace hone::kernels
