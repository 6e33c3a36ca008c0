#pragma once

#include <numeric>

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// A run of a flat array of parameters, at most kOptimizerPiece long, that is trained alike. Pieces
/// are in device memory, without overlap; what lies in none is frozen.
constexpr int64_t kOptimizerPiece = 16384;
struct OptimizerPiece {
  int64_t begin;           ///< an index of the arrays of moments
  int64_t shift;           ///< parameter i lies at i + shift
  int64_t gradient_shift;  ///< gradient i lies at i + gradient_shift
  int32_t count;
  int32_t decay;  ///< 0 or 1
  float lr_scale;
  int32_t zero;       ///< 1: the gradient is set to 0 behind itself, for a backward pass that adds
  int32_t row_width;  ///< the table's, where rows are marked: the piece is whole rows
  int32_t quantized;  ///< 1: moments are OptimizerArrays' quantized ones
  /// The marks are in device memory, a byte a row, from the piece's first: 0 where the gradient is
  /// 0, whatever lies there. Set by the backward kernels of tables, cleared by the step. Null: all
  /// of the gradient is read.
  uint8_t* touched;
};

/// Pieces of quantised moments are whole blocks of DynamicMap::kBlock but for a range's last one:
/// this is the least number of rows that are.
constexpr int64_t rows_of_blocks(int64_t width) { return 256 / std::gcd(int64_t{256}, width); }
/// Says whether rows of a table of that width can be marked.
constexpr bool marks_rows(int64_t width, bool quantized = false) {
  return width % 4 == 0 && width * (quantized ? rows_of_blocks(width) : 1) <= kOptimizerPiece;
}

/// The state is one block of device memory that holds what a step reads and what it reports. The
/// host writes the first part before a replay and reads the second behind it.
struct OptimizerState {
  double lr;
  double beta1, beta2, eps;  ///< read by AdamW
  double weight_decay;
  double max_grad_norm;  ///< 0: no clipping
  double loss_scale;     ///< divided out of the gradients
  double momentum;       ///< read by SGD
  int64_t nesterov;      ///< read by SGD with momentum: 1 or 0
  int64_t step;          ///< taken so far; goes up by one unless the step is skipped

  double grad_norm;  ///< norm before clipping, without the loss scale
  int64_t skipped;   ///< 1: a gradient was not finite; nothing was changed but the gradients, to 0
};

/// Moments as kernels/cpu/adamw.h's QuantizedMoments has them.
struct QuantizedMoments {
  uint8_t* codes = nullptr;
  float* scales = nullptr;
};

struct OptimizerArrays {
  float* parameters = nullptr;
  float* gradients = nullptr;
  float* m = nullptr;                 ///< SGD's momentum; null: it has none
  float* v = nullptr;                 ///< AdamW alone
  void* copy = nullptr;               ///< = the new parameters in `copy_dtype`; null: not wanted
  DType copy_dtype = DType::bf16;     ///< bf16 or f16
  QuantizedMoments quantized_m = {};  ///< read by adamw_8bit()
  QuantizedMoments quantized_v = {};
};

/// Bytes of workspace that a step over `pieces` pieces takes.
size_t optimizer_workspace(int64_t pieces);
/// Computes the global norm, clipping and kernels/cpu/adamw.h's update of all pieces, in two
/// launches. The norm is summed in double, in one order. The workspace must be zero before the
/// first use, and is left fit for the next.
Status adamw(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
             OptimizerState* state, void* workspace, Stream stream);
/// Takes a step like adamw(), but by kernels/cpu/sgd.h's update.
Status sgd(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
           OptimizerState* state, void* workspace, Stream stream);
/// Takes a step like adamw(), but by kernels/cpu/adamw.h's adamw_8bit() where a piece is quantised.
Status adamw_8bit(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
                  OptimizerState* state, void* workspace, Stream stream);

}  // namespace hone::kernels::cuda
