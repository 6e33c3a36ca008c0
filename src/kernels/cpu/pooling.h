#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/dtype.h"

namespace hone::kernels {

enum class Pooling : uint8_t { first, mean, max };

/// y [sequences, width] from packed x [tokens, width]: sequence s is the rows offsets[s] to
/// offsets[s + 1]; without rows it gives zeros. Sums are fp32, in the order of the rows. Inputs are
/// float or bf16.
template <typename In>
void pool_sequences(Pooling pooling, const In* x, const int32_t* offsets, int64_t sequences,
                    int64_t width, float* y, ThreadPool& pool);

/// y = x / max(|x|, 1e-12) for each row of [rows, width], as torch.nn.functional.normalize.
/// y may be x.
void l2_normalize(const float* x, int64_t rows, int64_t width, float* y, ThreadPool& pool);

}  // namespace hone::kernels
