#pragma once

#include "autograd/tape.h"
#include "ops/attention.h"
#include "ops/batch_norm.h"
#include "ops/convolution.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/lstm.h"
#include "plan/frame.h"

/// The forms of ops that a plan for a GPU gets; what they mean stands with the ops.
namespace hone::ops::gpu {

/// Bytes that a product of the library may take beside its arrays.
constexpr size_t kProductScratch = size_t{32} << 20;

/// Prepares and starts a product, or looks for its fastest algorithm where the frame is tuning.
void product(const Frame& frame, const kernels::cuda::ProductShape& shape,
             const kernels::cuda::ProductArrays& arrays);

kernels::cuda::Dropout dropout_at(const Frame& frame, const DropoutSite& site);
kernels::cuda::Activation activation_of(kernels::Activation activation);

void activate(const Frame& frame, kernels::Activation activation, Value x, Value y);
/// Starts the activation's backward kernel. `parts` and `sums` may be null where dbias is; y =
/// activation(x) may be x, and is null where it is not wanted.
void activation_backward(const Frame& frame, kernels::Activation activation, Value dy, Value x,
                         Value dx, float* dbias = nullptr, void* parts = nullptr,
                         kernels::cuda::RowSums* sums = nullptr, void* y = nullptr);

/// Declares a value for a norm's sums over rows in parts, and one for other ops' single sum.
Value norm_sums_value(Plan& plan, Axis rows, int64_t width);
Value row_sum_value(Plan& plan, Axis rows, int64_t width);

/// Rows of x, after an activation, as fp8 with a scale a row: bytes [rows, width], then fp32
/// [rows].
struct Fp8Rows {
  std::byte* bytes;
  float* scales;
};
Value fp8_value(Plan& plan, Value x);
Fp8Rows fp8_rows(const Frame& frame, Value bytes, Value x);
/// Emits a linear layer whose weight is fp8; x is quantized where that has not been done.
Value linear_fp8(Tape& tape, Value x, Weight weight, Weight bias, const LinearOptions& options);

Value linear(Tape& tape, Value x, Weight master, Weight bias, const LinearOptions& options);
/// Emits a linear layer of few outputs, at most kernels::cuda::kMaxHeadOutputs, in fp32 with
/// weights in fp32: the last layer of a classifier.
Value head(Tape& tape, Value x, const Weight& weight, const Weight& bias);
Value layer_norm(Tape& tape, Value x, const NormParameters& norm, const LayerNormOptions& options);
Value embed_tokens(Tape& tape, const EmbeddingIds& ids, const EmbeddingWeights& weights, DType out,
                   const DropoutSite& dropout);
Value lstm(Tape& tape, Value x, const LstmWeights& weights, Value offsets);
Value convolution(Tape& tape, Value x, const kernels::Window& window, Axis out_rows, Weight master,
                  Weight bias, const ConvolutionOptions& options);
Value batch_norm(Tape& tape, Value x, const BatchNormParameters& norm,
                 const BatchNormOptions& options);
Value max_pool(Tape& tape, Value x, const kernels::Window& window, Axis out_rows);
Value average_pool(Tape& tape, Value x, const kernels::Window& window, Axis out_rows);
Value global_average(Tape& tape, Value x, int64_t pixels, Axis images);
/// Emits the gradients of the tables that there are; dsum is that of their rows' sum.
void table_gradients(Tape& tape, Value dsum, const EmbeddingIds& ids,
                     const EmbeddingWeights& weights);
Value attention(Tape& tape, const AttentionInputs& inputs, const RelativePositions& relative);

}  // namespace hone::ops::gpu
