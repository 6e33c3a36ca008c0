// What ResNets are made of: convolutions, pooling, norms with ReLU, and the end of a block.
#include <fmt/format.h>

#include "ops/add_relu.h"
#include "ops/batch_norm.h"
#include "ops/case_arrays.h"
#include "ops/convolution.h"
#include "ops/padded_shortcut.h"
#include "ops/pooling2d.h"

namespace hone::ops {
namespace {

using kernels::Window;

struct ImageSetting {
  int64_t images;
  Window window;
  int64_t out = 0;  ///< channels of a convolution's output
  /// Draws the images. Where a ReLU follows, they keep what it cuts further from 0 than halves
  /// round, or a GPU's gradients would be those of another side.
  unsigned seed = 1;
};

std::string image_name(const char* op, const ImageSetting& c) {
  const Window& w = c.window;
  return fmt::format("{}_of_{}_{}x{}x{}_kernel_{}_stride_{}_padding_{}_to_{}", op, c.images,
                     w.height, w.width, w.channels, w.kernel, w.stride, w.padding, c.out);
}

GradientCase image_case(const char* op, const ImageSetting& c) {
  GradientCase made;
  made.name = image_name(op, c);
  made.extents[kInPixels] = c.images * c.window.in_pixels();
  made.extents[kOutPixels] = c.images * c.window.out_pixels();
  made.extents[kImageCount] = c.images;
  made.inputs = {
      {kInPixels, c.window.channels, draw(made.extents[kInPixels] * c.window.channels, c.seed)}};
  return made;
}

GradientCase convolution_gradient(const ImageSetting& c) {
  GradientCase made = image_case("convolution", c);
  made.weights = {matrix(c.out, c.window.covered(), 2)};
  made.record = [c](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
    return convolution(tape, x[0], c.window, kOutPixels, w[0], {}, form.isa, {.out = form.dtype});
  };
  return made;
}

/// A block whose shortcut is a strided convolution: two readers of one input.
GradientCase block_gradient(const ImageSetting& c, bool frozen) {
  GradientCase made = image_case(frozen ? "frozen_block" : "block", c);
  Window shortcut = c.window;
  shortcut.kernel = 1;
  shortcut.padding = 0;
  made.weights = {matrix(c.out, c.window.covered(), 2), matrix(c.out, shortcut.covered(), 3)};
  for (unsigned seed = 4; seed < 8; ++seed) made.weights.push_back(vector_of(c.out, seed));
  for (double& variance : made.weights[5].values) variance = 0.5 + std::abs(variance);
  made.frozen = {4, 5};
  made.record = [c, shortcut, frozen](Tape& tape, const auto& x, const auto& w,
                                      const OpForm& form) {
    const BatchNormParameters norm{w[2], w[3], w[4], w[5], 1e-2f};
    const ConvolutionOptions out{.out = form.dtype};
    const Value a = convolution(tape, x[0], c.window, kOutPixels, w[0], {}, form.isa, out);
    const Value b = convolution(tape, x[0], shortcut, kOutPixels, w[1], {}, form.isa, out);
    const Value left = batch_norm(tape, a, norm, {.relu = true, .frozen = frozen});
    return batch_norm(tape, b, norm, {.residual = left, .relu = true, .frozen = frozen});
  };
  return made;
}

template <typename Pool>
GradientCase pool_gradient(const char* name, const ImageSetting& c, Pool pool) {
  GradientCase made = image_case(name, c);
  made.record = [c, pool](Tape& tape, const auto& x, const auto&, const OpForm&) {
    return pool(tape, x[0], c.window, kOutPixels);
  };
  return made;
}

GradientCase padded_gradient(const ImageSetting& c) {
  GradientCase made = image_case("padded_shortcut", c);
  made.record = [c](Tape& tape, const auto& x, const auto&, const OpForm&) {
    return padded_shortcut(tape, x[0], c.window, kOutPixels, c.out);
  };
  return made;
}

GradientCase global_gradient(const ImageSetting& c) {
  GradientCase made = image_case("global_average", c);
  made.record = [c](Tape& tape, const auto& x, const auto&, const OpForm&) {
    return global_average(tape, relu(tape, x[0]), c.window.in_pixels(), kImageCount);
  };
  return made;
}

}  // namespace

std::vector<GradientCase> image_gradient_cases() {
  std::vector<GradientCase> cases;
  for (const ImageSetting& c : std::vector<ImageSetting>{
           {1, {1, 1, 1, 1, 1, 0}, 1},
           {0, {4, 4, 3, 3, 1, 1}, 2},
           {1, {5, 7, 3, 3, 1, 1}, 4},
           {2, {5, 4, 2, 3, 2, 1}, 5},
           {2, {6, 6, 33, 1, 2, 0}, 3},
           {3, {4, 3, 5, 1, 1, 0}, 34},
           {1, {9, 8, 3, 7, 2, 3}, 4},
           {2, {7, 5, 2, 2, 3, 0}, 3},
           {1, {2, 9, 1, 3, 3, 2}, 2},
           {2, {3, 3, 4, 5, 1, 2}, 2},
           {1, {8, 8, 16, 3, 1, 0}, 40},
           {2, {7, 6, 16, 3, 2, 1}, 8},
           {3, {3, 5, 24, 1, 2, 0}, 16},
           {1, {3, 4, 64, 3, 1, 1}, 64},
           {2, {5, 4, 64, 3, 2, 1}, 72},
       }) {
    cases.push_back(convolution_gradient(c));
    if (c.images > 0) cases.push_back(global_gradient(c));
  }
  for (const ImageSetting& c : std::vector<ImageSetting>{{2, {5, 6, 3, 3, 2, 1}, 4, 300},
                                                         {3, {4, 4, 9, 3, 1, 1}, 5, 231},
                                                         {1, {4, 4, 8, 3, 2, 1}, 8, 387}}) {
    cases.push_back(block_gradient(c, false));
    cases.push_back(block_gradient(c, true));
  }
  for (const ImageSetting& c : std::vector<ImageSetting>{{1, {5, 7, 3, 3, 2, 1}},
                                                         {2, {4, 4, 70, 2, 2, 0}},
                                                         {1, {3, 3, 1, 3, 1, 1}},
                                                         {2, {6, 5, 2, 3, 3, 1}},
                                                         {2, {7, 6, 16, 3, 2, 1}}}) {
    cases.push_back(pool_gradient("max_pool", c, max_pool));
    cases.push_back(pool_gradient("average_pool", c, average_pool));
  }
  for (const ImageSetting& c : std::vector<ImageSetting>{
           {2, {5, 4, 3, 1, 2, 0}, 6}, {1, {4, 7, 4, 1, 3, 0}, 9}, {3, {2, 2, 5, 1, 1, 0}, 5}}) {
    cases.push_back(padded_gradient(c));
  }
  return cases;
}

}  // namespace hone::ops
