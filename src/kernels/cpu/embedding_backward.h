#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/accumulator.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// Bytes of scratch of embedding_backward(), aligned as 64 bytes.
size_t embedding_backward_workspace(int64_t tokens);

/// dtable row ids[t] += dsum row t, for t < tokens with ids[t] != padding; dsum is dense [tokens,
/// width], dtable [entries, width], ids in range (null: all 0). The word, position and type tables
/// have a call each. A row's tokens are added up in their order, then to the table: no bit depends
/// on the threads. T is float, bf16 or double.
template <typename T>
void embedding_backward(const T* dsum, const int32_t* ids, int64_t tokens, int64_t width,
                        Accumulator<T>* dtable, void* workspace, ThreadPool& pool,
                        int64_t padding = -1);

/// Backward of gather_rows(): dx row index[i] += dy row i, or with `set` dx becomes 0 elsewhere.
/// dy is dense [count, width], dx [rows, width]; no index comes twice.
template <typename T>
void scatter_rows(const T* dy, const int32_t* index, int64_t count, int64_t rows, int64_t width,
                  bool set, T* dx, ThreadPool& pool);

}  // namespace hone::kernels
