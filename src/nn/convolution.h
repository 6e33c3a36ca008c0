#pragma once

#include <optional>
#include <string>

#include "nn/image_axes.h"
#include "nn/parameters.h"
#include "ops/batch_norm.h"

namespace hone::nn {

/// A batch of images as a layer takes and gives them: [rows, channels] of the size's axis.
struct Images {
  Value value;
  ImageSize size;
};

/// The window of a convolution, which has as much padding as keeps the size where the stride is 1.
struct WindowShape {
  int64_t in;
  int64_t out;
  int64_t kernel = 1;
  int64_t stride = 1;
};

/// A convolution without a bias and the batch norm behind it, in checkpoints two modules. Training
/// updates the norm's running statistics, except where neither weight nor bias of the norm is
/// trained: then it takes them as they are, as inference does.
class ConvolutionNorm {
 public:
  /// Where `folds`, the norm is taken in by the convolution, which then answers alone.
  ConvolutionNorm(Parameters& parameters, const std::string& convolution, const std::string& norm,
                  const WindowShape& shape, DType dtype, bool folds);

  struct Options {
    std::optional<Value> residual = {};  ///< is added before the ReLU; shaped as the output
    bool relu = false;
  };
  Images operator()(Tape& tape, const Images& x, ImageAxes& axes, const Options& options) const;

  const WindowShape& shape() const { return shape_; }
  /// Says whether a slot is the convolution's.
  bool is_weight(const Weight& weight) const { return weight.slot == weight_.slot; }

 private:
  Isa isa_;
  WindowShape shape_;
  Weight weight_;
  bool folds_;
  Weight bias_;  ///< the convolution's, where the norm is folded
  ops::BatchNormParameters norm_ = {};
};

}  // namespace hone::nn
