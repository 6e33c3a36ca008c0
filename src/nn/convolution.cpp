#include "nn/convolution.h"

#include "ops/convolution.h"

namespace hone::nn {

ConvolutionNorm::ConvolutionNorm(Parameters& parameters, const std::string& convolution,
                                 const std::string& norm, const WindowShape& shape, DType dtype,
                                 bool folds)
    : isa_(parameters.isa()),
      shape_(shape),
      weight_(parameters.convolution(convolution + ".weight", shape.out, shape.in, shape.kernel,
                                     dtype)),
      folds_(folds) {
  const Weight bias = parameters.vector({norm + ".bias"}, shape.out);
  if (folds) {
    bias_ = bias;
    parameters.fold_norm(weight_, norm);
    parameters.fold_norm(bias_, norm);
    return;
  }
  norm_ = {parameters.vector({norm + ".weight"}, shape.out), bias,
           parameters.state(norm + ".running_mean", shape.out, 0),
           parameters.state(norm + ".running_var", shape.out, 1)};
}

Images ConvolutionNorm::operator()(Tape& tape, const Images& x, ImageAxes& axes,
                                   const Options& options) const {
  const kernels::Window window = window_of(x.size, shape_.in, shape_.kernel, shape_.stride);
  const ImageSize size{window.out_height(), window.out_width()};
  ops::ConvolutionOptions how{.out = x.value.dtype};
  if (folds_) {
    how.residual = options.residual;
    how.relu = options.relu;
  }
  const Value y = ops::convolution(tape, x.value, window, axes.of(size), weight_, bias_, isa_, how);
  if (folds_) return {y, size};
  const bool frozen =
      tape.training() && !tape.trainable(norm_.weight) && !tape.trainable(norm_.bias);
  return {ops::batch_norm(tape, y, norm_,
                          {.residual = options.residual, .relu = options.relu, .frozen = frozen}),
          size};
}

}  // namespace hone::nn
