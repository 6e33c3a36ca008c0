#pragma once

#include <cstdint>

#include "base/thread_pool.h"

/// Phrases of packed texts: rows for them, and means over them. T is float or double.
namespace hone::kernels {

/// Says where the phrases of packed texts lie. A text has places for phrases, of which some may be
/// empty.
struct PhrasePlaces {
  int64_t texts;
  const int32_t* tokens;   ///< [texts + 1], where each text's tokens begin
  const int32_t* phrases;  ///< [texts + 1], where its places for phrases begin
  const int32_t* spans;    ///< [phrases, 2], the token rows [begin, end); begin = end: empty
};

/// y[phrase] = max(0, mean of the phrase's rows of x) - u[text], [phrases, width]; zeros in an
/// empty place. Sums are in the order of the rows.
template <typename T>
void phrase_rows(const T* x, const T* u, const PhrasePlaces& places, int64_t width, T* y,
                 ThreadPool& pool);

/// Sets (=) dx [tokens, width] and du [texts, width] to the gradients; either may be null.
template <typename T>
void phrase_rows_backward(const T* dy, const T* x, const PhrasePlaces& places, int64_t width, T* dx,
                          T* du, ThreadPool& pool);

/// y[text] = mean of x over the text's phrases, [texts, width]; zeros where it has none.
template <typename T>
void phrase_means(const T* x, const PhrasePlaces& places, int64_t width, T* y, ThreadPool& pool);

/// Sets (=) dx [phrases, width] to the gradient.
template <typename T>
void phrase_means_backward(const T* dy, const PhrasePlaces& places, int64_t width, T* dx,
                           ThreadPool& pool);

}  // namespace hone::kernels
