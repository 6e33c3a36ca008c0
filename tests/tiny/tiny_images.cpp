#include "tiny/tiny_images.h"

#include <filesystem>
#include <memory>
#include <vector>

#include "base/file.h"
#include "data/image_processor.h"
#include "image/png_writer.h"
#include "models/model.h"
#include "nn/linear.h"
#include "ops/activation.h"
#include "ops/batch_norm.h"
#include "ops/convert.h"

namespace hone::tiny {
namespace {

constexpr int64_t kPixelsOfImage = kSide * kSide;
constexpr Axis kImages{1};
constexpr Axis kPixels{2};
constexpr int64_t kChannels = 4;  // red, green, blue and 1
constexpr int64_t kHidden = 16;

enum Inputs : size_t { kColours, kFirst, kBrightness };

std::shared_ptr<const data::BatchLayout> tiny_layout() {
  auto layout = std::make_shared<data::BatchLayout>();
  using Role = data::InputSpec::Role;
  layout->inputs = {{"colours", DType::f32, kPixels, kChannels},
                    {"first", DType::i32, kImages, 1, Filler::minus_one, Role::indices, kPixels},
                    {"brightness", DType::f32, kImages}};
  layout->axes = {kImages, kPixels};
  layout->extents = [](int64_t samples, int64_t, int64_t) {
    Extents extents;
    extents[kImages] = samples;
    return extents;
  };
  return layout;
}

/// Inference may run for more images than there are; statistics may not.
std::shared_ptr<const Axes> tiny_axes(bool pads) {
  auto axes = std::make_shared<Axes>();
  const auto round = [](const Extents& batch, const Extents&) {
    return (batch[kImages] + 3) / 4 * 4;
  };
  axes->count(kImages, "images", pads ? Axes::Round(round) : Axes::Round());
  axes->derived(kPixels, "pixels",
                [](const Extents& extents) { return extents[kImages] * kPixelsOfImage; });
  return axes;
}

struct TinyConfig : models::ModelConfig {
  std::unique_ptr<ModelConfig> clone() const override {
    return std::make_unique<TinyConfig>(*this);
  }
  std::string summary() const override { return "tiny images"; }
  std::vector<std::pair<std::string, int64_t>> facts() const override {
    return {{"hidden_size", kHidden}};
  }
  int64_t depth() const override { return 1; }
  int64_t max_units() const override { return kPixelsOfImage; }
};

class TinyProcessor : public data::ImageProcessor {
 public:
  explicit TinyProcessor(const image::DecodeLimits& limits)
      : ImageProcessor(data::square_image_options(kSide), limits, tiny_layout()) {}

  OrderedJson facts() const override { return {{"side", kSide}}; }
  std::vector<data::TextFile> files() const override { return {}; }

  void append(std::span<const std::byte> sample, int64_t, data::Batch& batch) const override {
    const auto first = static_cast<int32_t>(batch.rows(kPixels));
    batch.add(std::array<int64_t, 2>{1, kPixelsOfImage});
    batch.units += kPixelsOfImage;
    const std::span<float> colours = batch.last<float>(kColours);
    float sum = 0;
    for (int64_t pixel = 0; pixel < kPixelsOfImage; ++pixel) {
      for (int64_t c = 0; c < 3; ++c) {
        const auto byte = static_cast<float>(sample[static_cast<size_t>(3 * pixel + c)]);
        colours[static_cast<size_t>(kChannels * pixel + c)] = byte / 255;
        sum += byte / 255;
      }
      colours[static_cast<size_t>(kChannels * pixel + 3)] = 1;
    }
    batch.last<int32_t>(kFirst).front() = first;
    batch.last<float>(kBrightness).front() = sum / (3 * kPixelsOfImage);
  }
};

class TinyModel : public models::Model {
 public:
  TinyModel(const TinyConfig& config, const models::MakeOptions& options)
      : Model(models::family_of(config), options, options.dtype),
        config_(config),
        mix_(parameters_, {"mix"}, kHidden, kChannels, DType::f32),
        norm_{parameters_.vector({"norm.weight"}, kHidden),
              parameters_.vector({"norm.bias"}, kHidden),
              parameters_.state("norm.running_mean", kHidden, 0),
              parameters_.state("norm.running_var", kHidden, 1)},
        brightness_(parameters_, {"brightness"}, 1, kHidden, DType::f32),
        classes_(parameters_, {"classifier"}, std::ssize(config.labels), kHidden, DType::f32) {}

  const TinyConfig& config() const override { return config_; }
  bool has_head() const override { return true; }
  const data::BatchLayout& layout() const override {
    static const auto layout = tiny_layout();
    return *layout;
  }

  models::Pass record(const models::OutputOptions& request) const override {
    models::Pass pass;
    begin(pass, true);
    Tape tape(*pass.plan);
    const Value x = features(tape, pass, DType::f32);
    pass.output =
        request.output == models::Output::logits ? classes_(tape, x, {.out = DType::f32}) : x;
    pass.outputs = {{"brightness", brightness_(tape, x, {.out = DType::f32})}};
    pass.plan->keep(pass.output);
    pass.plan->keep(pass.outputs.front().value);
    pass.shadows = tape.shadows();
    return pass;
  }

  models::Pass record(const models::TrainingRequest& request) const override {
    models::Pass step;
    begin(step, false);
    Tape tape(*step.plan, request.trainable);
    if (request.options.set_gradients) tape.set_gradients();
    const Value x = features(tape, step, request.options.dtype);
    step.output = classes_(tape, x, {.out = DType::f32});
    const Value bright = brightness_(tape, x, {.out = DType::f32});
    models::declare_labels(request.loss, kImages, step);
    models::record_losses(tape, request.options.dtype, step, [&] {
      step.losses = {
          {"class", ops::loss(tape, {step.output, step.labels, step.scale}, request.loss)},
          {"brightness", ops::loss(tape, {bright, step.inputs[kBrightness], step.scale},
                                   {.kind = LossKind::squared_error, .weight = 0.5})}};
    });
    return step;
  }

 private:
  void begin(models::Pass& pass, bool pads) const {
    pass.plan->set_device(parameters_.target().device);
    pass.plan->set_axes(tiny_axes(pads));
    models::declare_inputs(layout(), pass);
    pass.random = pass.plan->input(DType::i64, Axis::one, 2);
  }

  Value features(Tape& tape, const models::Pass& pass, DType dtype) const {
    Value x = ops::convert(tape, pass.inputs[kColours], dtype);
    x = mix_(tape, x, {.out = dtype});
    x = ops::activate(tape, ops::batch_norm(tape, x, norm_), kernels::Activation::relu);
    return ops::convert(tape, ops::gather_rows(tape, x, pass.inputs[kFirst]), DType::f32);
  }

  TinyConfig config_;
  nn::Linear mix_;
  ops::BatchNormParameters norm_;
  nn::Linear brightness_;
  nn::Linear classes_;
};

}  // namespace

void register_tiny_images() {
  models::Family family;
  family.model_type = "tiny-images";
  family.architecture = "TinyImages";
  family.head_class = "ForImageClassification";
  family.head_out = "classifier";
  family.read_config = [](const JsonFields&) { return std::make_unique<TinyConfig>(); };
  family.make = [](const models::ModelConfig& config, const models::MakeOptions& options) {
    return std::make_unique<TinyModel>(dynamic_cast<const TinyConfig&>(config), options);
  };
  family.samples = data::SampleKind::image;
  family.open_processor = [](const models::ModelConfig&, const models::ProcessorOptions& options) {
    return std::make_unique<TinyProcessor>(options.image_limits);
  };
  models::register_family(std::move(family));
}

void write_image(const std::string& path, int red, int green, int blue, unsigned seed) {
  image::Image image(kSide, kSide);
  for (uint8_t& value : image.pixels) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<uint8_t>(seed >> 24);
  }
  const int first[] = {red, green, blue};
  for (size_t c = 0; c < 3; ++c) image.pixels[c] = static_cast<uint8_t>(first[c]);
  write_file(path, image::png_of(image));
}

void write_tiny_config(const std::string& folder) {
  std::filesystem::create_directories(folder);
  write_json(folder + "/config.json", {{"model_type", "tiny-images"}});
}

}  // namespace hone::tiny
