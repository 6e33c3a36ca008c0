#include "models/resnet.h"

#include <cmath>

#include "base/error.h"
#include "data/image_batch.h"
#include "data/image_processor.h"
#include "models/plain_family.h"
#include "ops/by_dtype.h"
#include "ops/convert.h"
#include "ops/padded_shortcut.h"
#include "ops/pixels.h"
#include "ops/pooling2d.h"

namespace hone::models {
namespace {

constexpr const char* kHead = "classifier.1";

nn::ImageSize size_of_images(const ResNetConfig& config, const MakeOptions& options) {
  if (!options.processor) return {config.usual_side(), config.usual_side()};
  const auto& images = dynamic_cast<const data::ImageProcessor&>(*options.processor).options();
  return {images.height, images.width};
}

nn::WindowShape stem_shape(const ResNetConfig& config) {
  const bool small = config.stem == ResNetConfig::Stem::cifar;
  return {image::kChannels, config.embedding_size, small ? 3 : 7, small ? 1 : 2};
}

/// Gives the convolutions of a block.
std::vector<nn::WindowShape> shapes_of(const ResNetConfig& config, const nn::WindowShape& block) {
  constexpr int64_t kReduction = 4;
  if (!config.bottleneck) {
    return {{block.in, block.out, 3, block.stride}, {block.out, block.out, 3}};
  }
  const int64_t inner = block.out / kReduction;
  const bool early = config.downsample_in_bottleneck;
  return {{block.in, inner, 1, early ? block.stride : 1},
          {inner, inner, 3, early ? 1 : block.stride},
          {inner, block.out}};
}

nn::ConvolutionNorm make_layer(nn::Parameters& parameters, const MakeOptions& options,
                               const std::string& module, const nn::WindowShape& shape) {
  return {parameters, module + ".convolution",   module + ".normalization",
          shape,      dtype_of_weights(options), options.folds_norms};
}

ResidualBlock make_block(nn::Parameters& parameters, const ResNetConfig& config,
                         const MakeOptions& options, const std::string& name,
                         const nn::WindowShape& shape) {
  ResidualBlock block{name, {}, {}, false, shape};
  if (shape.in != shape.out || shape.stride != 1) {
    block.pads = config.shortcut == ResNetConfig::Shortcut::padding;
    if (!block.pads) block.projection = make_layer(parameters, options, name + ".shortcut", shape);
  }
  for (const nn::WindowShape& layer : shapes_of(config, shape)) {
    const std::string module = fmt::format("{}.layer.{}", name, block.layers.size());
    block.layers.push_back(make_layer(parameters, options, module, layer));
  }
  return block;
}

std::vector<ResidualBlock> make_blocks(nn::Parameters& parameters, const ResNetConfig& config,
                                       const MakeOptions& options) {
  std::vector<ResidualBlock> blocks;
  int64_t in = config.embedding_size;
  for (size_t stage = 0; stage < config.depths.size(); ++stage) {
    const int64_t out = config.hidden_sizes[stage];
    for (int64_t layer = 0; layer < config.depths[stage]; ++layer) {
      const bool halves = layer == 0 && (stage > 0 || config.downsample_in_first_stage);
      const std::string name = fmt::format("encoder.stages.{}.layers.{}", stage, layer);
      blocks.push_back(make_block(parameters, config, options, name, {in, out, 1, halves ? 2 : 1}));
      in = out;
    }
  }
  return blocks;
}

}  // namespace

ResNetModel::ResNetModel(const ResNetConfig& config, const MakeOptions& options)
    : Model(family_of(config), plain_options("a resnet", config, options), options.dtype),
      config_(config),
      size_(size_of_images(config, options)),
      layout_(data::image_layout(size_.height, size_.width, image::kChannels)),
      stem_(make_layer(parameters_, options, "embedder.embedder", stem_shape(config))),
      blocks_(make_blocks(parameters_, config, options)) {
  if (!options.with_head) return;
  head_.emplace(parameters_, std::vector<std::string>{kHead}, std::ssize(config.labels),
                config.width(), ops::accumulator_dtype(options.dtype));
}

std::optional<Initial> ResNetModel::initial(const nn::Parameter& parameter) const {
  if (parameter.kernel > 0) {
    const int64_t taps = parameter.kernel * parameter.kernel;
    const auto fan_out = static_cast<float>(parameter.weight.rows * taps);
    return Initial{.uniform = false, .scale = std::sqrt(2 / fan_out)};
  }
  if (!parameter.tensors.front().starts_with(kHead)) return {};
  return Initial{.uniform = true, .scale = 1 / std::sqrt(static_cast<float>(config_.width()))};
}

void ResNetModel::begin(Pass& pass) const {
  pass.plan->set_device(parameters_.target().device);
  declare_inputs(layout(), pass);
  pass.random = pass.plan->input(DType::i64, Axis::one, 2);
}

nn::ImageAxes ResNetModel::axes() const { return {data::kImages, data::kPixels, size_}; }

nn::Images ResNetModel::stem(Tape& tape, const Pass& pass, nn::ImageAxes& axes, DType dtype) const {
  tape.plan().set_scope("embedder");
  const Value pixels = ops::pixels(tape, pass.inputs[data::kPixelInput],
                                   pass.inputs[data::kLevelInput], size_.pixels(), dtype);
  const nn::Images x = stem_(tape, {pixels, size_}, axes, {.relu = true});
  if (config_.stem == ResNetConfig::Stem::cifar) return x;
  const kernels::Window window = nn::window_of(x.size, config_.embedding_size, 3, 2);
  const nn::ImageSize size{window.out_height(), window.out_width()};
  return {ops::max_pool(tape, x.value, window, axes.of(size)), size};
}

nn::Images ResNetModel::block(Tape& tape, const ResidualBlock& block, const nn::Images& x,
                              nn::ImageAxes& axes) const {
  tape.plan().set_scope(block.scope);
  Value shortcut = x.value;
  if (block.projection) shortcut = (*block.projection)(tape, x, axes, {}).value;
  if (block.pads) {
    const kernels::Window window = nn::window_of(x.size, block.shape.in, 1, block.shape.stride);
    const Axis rows = axes.of({window.out_height(), window.out_width()});
    shortcut = ops::padded_shortcut(tape, x.value, window, rows, block.shape.out);
  }
  nn::Images y = x;
  for (const nn::ConvolutionNorm& layer : block.layers) {
    const bool last = &layer == &block.layers.back();
    y = layer(tape, y, axes, {last ? std::optional(shortcut) : std::nullopt, true});
  }
  return y;
}

Value ResNetModel::pooled(Tape& tape, const Pass& pass, nn::ImageAxes& axes, DType dtype) const {
  nn::Images x = stem(tape, pass, axes, dtype);
  for (const ResidualBlock& each : blocks_) x = block(tape, each, x, axes);
  tape.plan().set_scope("head");
  const Value mean = ops::global_average(tape, x.value, x.size.pixels(), axes.images());
  return ops::convert(tape, mean, ops::accumulator_dtype(dtype));
}

Value ResNetModel::logits(Tape& tape, Value pooled) const {
  if (!head_) fail(ErrorKind::internal, "logits of a resnet without a head");
  return (*head_)(tape, pooled, {.out = pooled.dtype});
}

Pass ResNetModel::record(const OutputOptions& request) const {
  if (request.output == Output::hidden) {
    fail(ErrorKind::unsupported, "output: a resnet gives no states of tokens");
  }
  if (request.output == Output::embedding && request.pooling != ops::Pooling::mean) {
    fail(ErrorKind::unsupported, "pooling: a resnet's vector is the mean over the image's pixels");
  }
  Pass pass;
  begin(pass);
  Tape tape(*pass.plan);
  nn::ImageAxes sizes = axes();
  pass.output = pooled(tape, pass, sizes, activations_);
  if (request.output == Output::logits) {
    pass.output = logits(tape, pass.output);
  } else if (request.normalize) {
    pass.output = ops::normalize_rows(tape, pass.output);
  }
  pass.plan->set_axes(sizes.rules(true));
  pass.plan->keep(pass.output);
  pass.shadows = tape.shadows();
  return pass;
}

Pass ResNetModel::record(const TrainingRequest& request) const {
  const TrainingOptions& options = request.options;
  if (options.checkpoint_segments > 0) {
    fail(ErrorKind::unsupported, "checkpoint_segments: a resnet keeps all its activations");
  }
  Pass step;
  begin(step);
  Tape tape(*step.plan, request.trainable);
  if (options.set_gradients) tape.set_gradients();
  nn::ImageAxes sizes = axes();
  step.output = logits(tape, pooled(tape, step, sizes, options.dtype));
  declare_labels(request.loss, sizes.images(), step);
  step.plan->set_axes(sizes.rules(false));
  record_losses(tape, options.dtype, step, [&] {
    const ops::LossInputs inputs = loss_inputs(step.output, request.loss, step);
    step.losses = {{"logits", ops::loss(tape, inputs, request.loss)}};
  });
  return step;
}

}  // namespace hone::models
