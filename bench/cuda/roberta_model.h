#pragma once

#include <map>
#include <random>

#include "base/error.h"
#include "cuda/roberta_step.h"

namespace hone::bench {

using namespace kernels::cuda;  // NOLINT: a program, not a library

constexpr int64_t kHidden = 768, kHeads = 12, kLayers = 12, kWords = 50265, kPositions = 514;
constexpr int64_t kInner = 4 * kHidden, kClasses = 2;
constexpr float kDropout = 0.1f;
constexpr DType kType = DType::bf16;
constexpr size_t kProductScratch = size_t{64} << 20;

inline void ok(Status status, const char* what) { cuda_check(status, what); }

/// Device memory handed out once and never given back.
class Arena {
 public:
  void* bytes(size_t count) {
    buffers_.emplace_back(count + 256);
    total_ += count;
    return buffers_.back().data();
  }
  template <typename T>
  T* of(int64_t count) {
    return static_cast<T*>(bytes(static_cast<size_t>(count) * sizeof(T)));
  }
  /// Values of kType.
  void* values(int64_t count) { return bytes(static_cast<size_t>(count) * 2); }
  size_t total() const { return total_; }

 private:
  std::vector<CudaBuffer> buffers_;
  size_t total_ = 0;
};

/// A parameter's place in the flat arrays.
struct Place {
  int64_t begin = 0;
  int64_t count = 0;
};

struct LayerPlaces {
  Place qkv, qkv_bias, o, o_bias, norm1, norm1_bias, f1, f1_bias, f2, f2_bias, norm2, norm2_bias;
};

/// All parameters: fp32 masters, gradients and moments, and the copy in kType.
struct Parameters {
  Parameters(Arena& arena, CudaStream& stream, bool training);
  float* master(Place p) const { return p_ + p.begin; }
  float* gradient(Place p) const { return g_ + p.begin; }
  /// Rows from `row` on of a matrix of rows of `width`, in kType.
  const void* copy(Place p, int64_t row = 0, int64_t width = kHidden) const {
    return static_cast<const char*>(copy_) + (p.begin + row * width) * 2;
  }
  void optimizer_ops(std::vector<StepOp>& ops);

  Place word, position, type, norm, norm_bias, pooler, pooler_bias, head, head_bias;
  LayerPlaces layers[kLayers];
  int64_t count = 0;
  OptimizerState* state = nullptr;
  uint8_t* touched = nullptr;  ///< words' rows with a gradient
  float* p_ = nullptr;

 private:
  void add(Place& place, int64_t rows, int64_t width, bool matrix, bool zero);
  void fill(CudaStream& stream);

  std::vector<OptimizerRange> ranges_;
  std::vector<OptimizerPiece> pieces_;
  OptimizerPiece* gpu_pieces_ = nullptr;
  void* scratch_ = nullptr;
  float *g_ = nullptr, *m_ = nullptr, *v_ = nullptr;
  void* copy_ = nullptr;
};

/// What a layer keeps between the passes. The last layer's rows behind attention are the read ones.
struct LayerValues {
  void *x, *read_x, *qkv, *q, *attended, *o, *xhat1, *y1, *z, *g, *f, *xhat2, *y2;
  float *sums, *rstd1, *rstd2;
  uint32_t* kept;
};

/// Gradients of one layer in flight; two sets take turns.
struct LayerGradients {
  void *dsum2, *df, *dg, *dsum1, *do_, *dattended, *dqkv, *dq;
  void *norm2, *gelu, *norm1, *column;  ///< partial sums
};

/// The step: its arrays and its calls.
struct StepModel {
  StepModel(const StepShape& shape_, CudaStream& stream_);
  void inputs();
  Dropout drop(bool last, uint64_t site) const {
    Dropout d = last ? read_rows : token_rows;
    d.site = site;
    return d;
  }

  void product(const char* name, ProductKind kind, int64_t m, int64_t n, int64_t k, const void* a,
               int64_t lda, const void* b, const void* bias, void* c, int64_t ldc, bool add);
  /// y = activation(x w^T + bias), the bias from row `bias_row` of its array on; null: none. By one
  /// kernel for few rows in inference; otherwise z, the activation's input, is kept.
  void linear(const char* name, int64_t m, int64_t n, int64_t k, const void* x, const void* w,
              const Place* bias, int64_t bias_row, void* y, int64_t ldy,
              Activation activation = Activation::none, void* z = nullptr);
  void input_gradient(const char* name, int64_t m, int64_t n, int64_t k, const void* dy,
                      int64_t lddy, const void* w, void* dx, bool add) {
    product(name, ProductKind::input_gradient, m, n, k, dy, lddy, w, nullptr, dx, k, add);
  }
  void weight_gradient(const char* name, int64_t m, int64_t n, int64_t k, const void* dy,
                       int64_t lddy, const void* x, float* dw) {
    product(name, ProductKind::weight_gradient, m, n, k, dy, lddy, x, nullptr, dw, k, false);
  }
  void op(const char* name, double flops, double bytes, std::function<void(Stream)> run) {
    ops.push_back({.name = name, .flops = flops, .bytes = bytes, .run = std::move(run)});
  }

  void forward();
  void layer_forward(int64_t l, void* x);
  void feed_forward(int64_t rows, const LayerPlaces& w, const LayerValues& v);
  void norm(const char* name, NormForward f);
  void activate(const char* name, Activation activation, int64_t count, const void* z, void* y);
  AttentionShape attention_shape(bool last) const;
  double attention_flops(bool last) const;
  void backward();
  void head_backward();
  void layer_backward(int64_t l, void*& dy);
  void gelu_backward(int64_t rows, const LayerPlaces& w, const LayerValues& v,
                     const LayerGradients& g);
  void embedding_backward(void* dy);
  NormBackward norm_backward_args(int64_t rows, const void* dy, const void* xhat, const float* rstd,
                                  Place weight, Place bias) const;
  void norm_backward(const char* name, const NormBackward& b, void* partials);

  StepShape shape;
  CudaStream& stream;
  Arena arena;
  Parameters parameters;
  int64_t tokens = 0, sequences = 0, longest = 0;
  int32_t *k_offsets, *q_offsets, *word_ids, *place_ids, *index, *label_ids;
  RandomState* random;
  LossScale* loss_scale;
  double* loss_value;
  Dropout token_rows, read_rows;
  void* scratch;
  void* attention_scratch;
  void *embedding_xhat, *pooled_z, *pooled;
  float *embedding_rstd, *logits, *dlogits;
  HeadForward head;
  LayerValues values[kLayers];
  LayerGradients gradients[2];
  std::vector<StepOp> ops;
  std::vector<RowSums> sums;  ///< left by the backward pass, one a call
  std::vector<std::pair<ProductShape, ProductArrays>> products;
};

}  // namespace hone::bench
