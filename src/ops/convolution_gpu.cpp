#include <algorithm>

#include "base/error.h"
#include "ops/accumulate.h"
#include "ops/gpu.h"

namespace hone::ops::gpu {
namespace {

namespace cuda = kernels::cuda;
using cuda::ProductKind;
using cuda::ProductShape;
using kernels::Window;

/// Bytes of patches that are made at one time: about what the second-level cache holds.
constexpr int64_t kPatchBytes = int64_t{64} << 20;

size_t whole(int64_t bytes) { return static_cast<size_t>((bytes + 255) / 256 * 256); }

/// A convolution is a product over the patches of a few images at a time; over the images
/// themselves where the window is a pixel.
struct GpuConvolution {
  Value x;
  Window window;
  Weight weight;
  Weight bias;         ///< in y's dtype
  Weight master_bias;  ///< in fp32
  ConvolutionOptions options;
  Value y;

  int64_t element() const { return static_cast<int64_t>(dtype_size(x.dtype)); }
  /// Halves are multiplied in rows of whole 16 bytes.
  bool pads() const { return x.dtype != DType::f32 && weight.width % 8 != 0; }
  int64_t depth() const { return pads() ? (weight.width + 7) / 8 * 8 : weight.width; }
  bool needs_patches() const { return !window.is_pointwise() || pads(); }
  int64_t images(const Extents& e) const { return e[x.rows] / window.in_pixels(); }
  int64_t images_at_once(int64_t all) const {
    if (!needs_patches()) return all;
    const int64_t own = window.out_pixels() * depth() * element();
    return std::clamp<int64_t>(kPatchBytes / own, 1, std::max<int64_t>(all, 1));
  }
  size_t patch_bytes(const Extents& e) const {
    if (!needs_patches()) return 0;
    return whole(images_at_once(images(e)) * window.out_pixels() * depth() * element());
  }
  size_t weight_bytes(int64_t of_element) const {
    return whole(weight.rows * depth() * of_element);
  }

  ProductShape shape(ProductKind kind, int64_t m) const {
    ProductShape s;
    s.kind = kind;
    s.dtype = x.dtype;
    s.m = m;
    s.n = weight.rows;
    s.k = depth();
    return s;
  }
  cuda::Patches patches(int64_t count) const { return {x.dtype, window, count, depth()}; }
  /// The weight's rows as patches: of one pixel, and padded.
  cuda::Patches weight_rows(DType dtype) const {
    return {dtype, Window{.channels = weight.width}, weight.rows, depth()};
  }
  double flops(const Extents& e) const {
    return 2.0 * static_cast<double>(e[y.rows]) * static_cast<double>(weight.rows * weight.width);
  }
  /// Scratch: what products take, a padded weight, and patches.
  size_t scratch_bytes(const Extents& e) const {
    return kProductScratch + padded_weight_bytes() + patch_bytes(e);
  }
  void add(Plan& plan, Step step) const {
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.product = true;
    plan.add(std::move(step));
  }

  /// Calls body(first image, images) for all images, a few at a time; once where there are none. To
  /// tune, each number of images is met once.
  template <typename Body>
  void for_images(const Frame& frame, const Body& body) const {
    const int64_t all = images(frame.extents()), most = images_at_once(all);
    int64_t first = 0;
    do {
      const int64_t count = std::min(most, all - first);
      if (!frame.gpu().tuning || first == 0 || count < most) body(first, count);
      first += most;
    } while (first < all);
  }

  std::byte* rows_of(const Frame& frame, Value value, int64_t row) const {
    return frame.data<std::byte>(value) +
           static_cast<size_t>(row * value.width) * dtype_size(value.dtype);
  }
  std::byte* images_of_x(const Frame& frame, Value value, int64_t first) const {
    return rows_of(frame, value, first * window.in_pixels());
  }
  std::byte* images_of_y(const Frame& frame, Value value, int64_t first) const {
    return rows_of(frame, value, first * window.out_pixels());
  }
  /// Gives the scratch behind what products take.
  std::byte* scratch(const Frame& frame) const {
    return static_cast<std::byte*>(frame.workspace()) + kProductScratch;
  }
  /// Gives the weight as products read it, padded to `room` where it must be.
  const void* product_weight(const Frame& frame, std::byte* room) const {
    const void* own = frame.weight(weight);
    if (!pads()) return own;
    const GpuFrame& gpu = frame.gpu();
    gpu.check(gpu.api->patches(weight_rows(x.dtype), own, room, gpu.stream));
    return room;
  }
  size_t padded_weight_bytes() const { return pads() ? weight_bytes(element()) : 0; }

  cuda::Convolution fused(const Extents& e) const {
    cuda::Convolution args;
    args.dtype = x.dtype;
    args.window = window;
    args.images = images(e);
    args.out = weight.rows;
    return args;
  }
  /// Says whether a kernel of our own ran, which takes patches from the images by itself, or would
  /// run where products are tuned.
  bool run_whole(const Frame& frame) const {
    const GpuFrame& gpu = frame.gpu();
    if (!needs_patches() || y.dtype != x.dtype) return false;
    cuda::Convolution args = fused(frame.extents());
    args.weight = frame.weight(weight);
    args.x = frame.data<const void>(x);
    args.bias = frame.weight<float>(master_bias);
    args.relu = options.relu && !options.residual;
    args.y = frame.data<void>(y);
    if (!gpu.api->convolution_fits(args)) return false;
    if (gpu.tuning) return true;
    gpu.check(gpu.api->convolution(args, gpu.stream));
    if (options.residual) finish(frame);
    return true;
  }

  void run(const Frame& frame) const {
    if (run_whole(frame)) return;
    const GpuFrame& gpu = frame.gpu();
    std::byte* room = scratch(frame);
    const void* w = product_weight(frame, room);
    std::byte* rows = room + padded_weight_bytes();
    for_images(frame, [&](int64_t first, int64_t count) {
      const void* a = images_of_x(frame, x, first);
      if (needs_patches()) {
        gpu.check(gpu.api->patches(patches(count), a, rows, gpu.stream));
        a = rows;
      }
      ProductShape s = shape(ProductKind::forward, count * window.out_pixels());
      s.out = y.dtype;
      s.bias = bias.present();
      s.lda = s.ldb = depth();
      s.ldc = y.width;
      product(frame, s, {a, w, frame.weight(bias), images_of_y(frame, y, first)});
    });
    if (!gpu.tuning) finish(frame);
  }

  /// Adds the residual and cuts at 0.
  void finish(const Frame& frame) const {
    if (!options.residual && !options.relu) return;
    const GpuFrame& gpu = frame.gpu();
    auto* out = frame.data<void>(y);
    const auto* more = options.residual ? frame.data<const void>(*options.residual) : nullptr;
    const int64_t count = frame.rows(y) * y.width;
    gpu.check(options.relu ? gpu.api->add_relu(y.dtype, out, more, count, out, gpu.stream)
                           : gpu.api->add(y.dtype, out, more, count, out, gpu.stream));
  }

  void emit(Plan& plan) const {
    Step step{"convolution", {x}, {y}, [op = *this](const Frame& frame) { op.run(frame); }};
    if (options.residual) step.reads.push_back(*options.residual);
    step.weights = {weight, bias, master_bias};
    step.workspace = [op = *this](const Extents& e, int) { return op.scratch_bytes(e); };
    add(plan, std::move(step));
  }

  bool run_whole_weight_gradient(const Frame& frame, Value dy, Value input, bool sets) const {
    const GpuFrame& gpu = frame.gpu();
    cuda::Convolution args = fused(frame.extents());
    args.x = frame.data<const void>(input);
    if (!needs_patches() || dy.dtype != x.dtype) return false;
    if (!gpu.api->convolution_weight_gradient_fits(args)) return false;
    if (gpu.tuning) return true;  // the gradient may hold that of an earlier batch
    gpu.check(gpu.api->convolution_weight_gradient(args, frame.data<const void>(dy), !sets,
                                                   static_cast<float*>(frame.gradient(weight)),
                                                   frame.workspace(), gpu.stream));
    return true;
  }

  /// Scratch: room for what a tuned product gives, which is no gradient; a padded gradient;
  /// patches.
  void run_weight_gradient(const Frame& frame, Value dy, Value input, bool sets) const {
    if (run_whole_weight_gradient(frame, dy, input, sets)) return;
    const GpuFrame& gpu = frame.gpu();
    const size_t bytes = weight_bytes(sizeof(float));
    std::byte* padded = scratch(frame) + bytes;
    std::byte* rows = padded + (pads() ? bytes : 0);
    void* own = frame.gradient(weight);
    void* to = pads() ? padded : own;
    for_images(frame, [&](int64_t first, int64_t count) {
      const void* b = images_of_x(frame, input, first);
      if (needs_patches()) {
        gpu.check(gpu.api->patches(patches(count), b, rows, gpu.stream));
        b = rows;
      }
      ProductShape s = shape(ProductKind::weight_gradient, count * window.out_pixels());
      s.out = DType::f32;
      s.add = first > 0 || (!sets && !pads());
      s.lda = dy.width;
      s.ldb = s.ldc = depth();
      product(frame, s, {images_of_y(frame, dy, first), b, nullptr, to});
    });
    if (!pads() || gpu.tuning) return;
    gpu.check(gpu.api->sum_patches(weight_rows(DType::f32), padded, sets ? nullptr : own, own,
                                   gpu.stream));
  }

  void emit_weight_gradient(Tape& tape, Value dy, Value input) const {
    const bool sets = tape.sets_gradient(weight);
    Step step{"convolution_weight_gradient", {dy, input}, {}, [=, op = *this](const Frame& frame) {
                op.run_weight_gradient(frame, dy, input, sets);
              }};
    step.gradients = {weight};
    if (sets) step.sets.push_back(weight);
    step.workspace = [op = *this](const Extents& e, int) {
      const size_t products =
          kProductScratch + op.weight_bytes(sizeof(float)) * (op.pads() ? 2 : 1);
      return std::max(products + op.patch_bytes(e),
                      cuda::kernel_api().convolution_weight_gradient_workspace(op.fused(e)));
    };
    add(tape.plan(), std::move(step));
  }

  /// Says whether a kernel of our own ran; what there was before is added behind it.
  bool run_whole_gradient(const Frame& frame, Value dy, std::optional<Value> before,
                          Value dx) const {
    const GpuFrame& gpu = frame.gpu();
    cuda::Convolution args = fused(frame.extents());
    args.weight = frame.weight(weight);
    auto* to = frame.data<void>(dx);
    if (dy.dtype != dx.dtype || !gpu.api->convolution_gradient_fits(args)) return false;
    if (gpu.tuning) return true;
    gpu.check(gpu.api->convolution_gradient(args, frame.data<const void>(dy), to, gpu.stream));
    if (before) {
      gpu.check(gpu.api->add(dx.dtype, frame.data<const void>(*before), to,
                             frame.rows(dx) * dx.width, to, gpu.stream));
    }
    return true;
  }

  void run_input_gradient(const Frame& frame, Value dy, std::optional<Value> before,
                          Value dx) const {
    if (run_whole_gradient(frame, dy, before, dx)) return;
    const GpuFrame& gpu = frame.gpu();
    std::byte* room = scratch(frame);
    const void* w = product_weight(frame, room);
    std::byte* rows = room + padded_weight_bytes();
    for_images(frame, [&](int64_t first, int64_t count) {
      ProductShape s = shape(ProductKind::input_gradient, count * window.out_pixels());
      s.out = x.dtype;
      s.lda = dy.width;
      s.ldb = s.ldc = depth();
      product(frame, s, {images_of_y(frame, dy, first), w, nullptr, rows});
      if (gpu.tuning) return;
      const void* added = before ? images_of_x(frame, *before, first) : nullptr;
      gpu.check(gpu.api->sum_patches(patches(count), rows, added, images_of_x(frame, dx, first),
                                     gpu.stream));
    });
  }

  /// Adds what a window of one pixel leads back to by the product itself.
  void run_pointwise_gradient(const Frame& frame, Value dy, std::optional<Value> before,
                              Value dx) const {
    const GpuFrame& gpu = frame.gpu();
    if (before && before->id != dx.id) {
      gpu.check(gpu.api->convert(before->dtype, frame.data<const void>(*before), dx.dtype,
                                 frame.data<void>(dx), frame.rows(dx) * dx.width, gpu.stream));
    }
    ProductShape s = shape(ProductKind::input_gradient, frame.rows(dy));
    s.out = dx.dtype;
    s.add = before.has_value();
    s.lda = dy.width;
    s.ldb = s.ldc = dx.width;
    product(frame, s,
            {frame.data<const void>(dy), frame.weight(weight), nullptr, frame.data<void>(dx)});
  }

  void emit_input_gradient(Tape& tape, Value dy) const {
    Plan& plan = tape.plan();
    const std::optional<Value> before = tape.gradient(x);
    const bool in_place = before && !needs_patches() && !tape.gradient_is_shared(x);
    const Value dx = in_place ? *before : plan.temporary(x.dtype, x.rows, x.width);
    Step step{"convolution_input_gradient", {dy}, {dx}, [=, op = *this](const Frame& frame) {
                if (op.needs_patches()) return op.run_input_gradient(frame, dy, before, dx);
                op.run_pointwise_gradient(frame, dy, before, dx);
              }};
    if (before) step.reads.push_back(*before);
    step.weights = {weight};
    step.workspace = [op = *this](const Extents& e, int) { return op.scratch_bytes(e); };
    add(plan, std::move(step));
    tape.set_gradient(x, dx);
  }
};

}  // namespace

Value convolution(Tape& tape, Value x, const Window& window, Axis out_rows, Weight master,
                  Weight bias, const ConvolutionOptions& options) {
  if (master.dtype != DType::f32) {
    fail(ErrorKind::unsupported, "weights in {} have no convolutions on a GPU",
         dtype_name(master.dtype));
  }
  const Weight weight = tape.in_dtype(master, x.dtype);
  const Value y = tape.plan().temporary(options.out, out_rows, weight.rows);
  const GpuConvolution op{x, window, weight, tape.in_dtype(bias, y.dtype), bias, options, y};
  op.emit(tape.plan());
  const bool trains = tape.trainable(weight);
  if (!trains && !tape.needs_gradient(x)) return y;
  if (bias.present() || options.relu || options.residual) {
    fail(ErrorKind::internal, "a convolution in training has neither bias nor residual nor ReLU");
  }
  tape.on_backward(y, [&tape, op, trains] {
    const Value dy = *tape.gradient(op.y);
    if (trains) op.emit_weight_gradient(tape, dy, tape.saved(op.x));
    if (tape.needs_gradient(op.x)) op.emit_input_gradient(tape, dy);
  });
  return y;
}

}  // namespace hone::ops::gpu
