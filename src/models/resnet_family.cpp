#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "data/image_processor.h"
#include "models/new_model.h"
#include "models/resnet.h"
#include "models/resnet_names.h"

namespace hone::models {
namespace {

using Stem = ResNetConfig::Stem;
using Shortcut = ResNetConfig::Shortcut;

constexpr const char* kResNet = "resnet";
constexpr size_t kMostStages = 8;

std::vector<int64_t> read_list(const JsonFields& fields, const char* field, int64_t most,
                               std::vector<int64_t> fallback) {
  if (!fields.has(field)) return fallback;
  const Json& list = fields.at(field);
  const auto fits = [most](const Json& item) {
    return item.is_number_integer() && item.get<int64_t>() >= 1 && item.get<int64_t>() <= most;
  };
  if (!list.is_array() || list.empty() || list.size() > kMostStages ||
      !std::all_of(list.begin(), list.end(), fits)) {
    fields.fail_field(field,
                      fmt::format("expected 1 to {} numbers from 1 to {}", kMostStages, most));
  }
  return list.get<std::vector<int64_t>>();
}

/// Reads a field that names one of two things; says whether it is the second.
bool read_choice(const JsonFields& fields, const char* field, const char* first, const char* second,
                 const char* fallback) {
  const std::string name = fields.string(field, std::string(fallback));
  if (name != first && name != second) {
    fields.fail_field(field, fmt::format("expected {} or {}", first, second));
  }
  return name == second;
}

void check_sizes(const ResNetConfig& config, const JsonFields& fields) {
  if (config.depths.size() != config.hidden_sizes.size()) {
    fields.fail_field("depths", "expected one a stage, as many as hidden_sizes");
  }
  constexpr int64_t kReduction = 4;
  int64_t in = config.embedding_size;
  for (const int64_t out : config.hidden_sizes) {
    if (config.bottleneck && out < kReduction) {
      fields.fail_field("hidden_sizes", "a bottleneck needs at least 4 channels");
    }
    if (config.shortcut == Shortcut::padding && out < in) {
      fields.fail_field("hidden_sizes", "a padded shortcut cannot lead to fewer channels");
    }
    in = out;
  }
}

std::unique_ptr<ResNetConfig> read_resnet(const JsonFields& fields) {
  auto config = std::make_unique<ResNetConfig>();
  fields.integer("num_channels", image::kChannels, image::kChannels, image::kChannels);
  config->embedding_size = fields.integer("embedding_size", 1, kMaxWidth, config->embedding_size);
  config->hidden_sizes = read_list(fields, "hidden_sizes", kMaxWidth, config->hidden_sizes);
  config->depths = read_list(fields, "depths", kMaxLayers, config->depths);
  config->bottleneck = read_choice(fields, "layer_type", "basic", "bottleneck", "bottleneck");
  config->downsample_in_first_stage = fields.boolean("downsample_in_first_stage", false);
  config->downsample_in_bottleneck = fields.boolean("downsample_in_bottleneck", false);
  if (read_choice(fields, "stem", "imagenet", "cifar", "imagenet")) config->stem = Stem::cifar;
  if (read_choice(fields, "shortcut", "projection", "padding", "projection")) {
    config->shortcut = Shortcut::padding;
  }
  if (fields.string("hidden_act", std::string("relu")) != "relu") {
    fields.fail_field("hidden_act", "expected relu");
  }
  check_sizes(*config, fields);
  return config;
}

/// Says how images become what a model from nothing reads: the short side to 256 and the middle
/// 224 x 224, or 32 x 32, with ImageNet's mean and deviation.
data::ImageOptions usual_images(const ResNetConfig& config) {
  const int64_t side = config.usual_side();
  Json json = {{"do_resize", true},
               {"resample", static_cast<int>(image::Filter::bilinear)},
               {"do_rescale", true},
               {"rescale_factor", 1. / 255.},
               {"do_normalize", true},
               {"image_mean", {0.485, 0.456, 0.406}},
               {"image_std", {0.229, 0.224, 0.225}}};
  const Json square = {{"height", side}, {"width", side}};
  if (config.stem == Stem::cifar) {
    json["image_processor_type"] = "ViTImageProcessor";
    json["size"] = square;
  } else {
    json["image_processor_type"] = "CLIPImageProcessor";
    json["size"] = {{"shortest_edge", 256}};
    json["do_center_crop"] = true;
    json["crop_size"] = square;
  }
  return data::parse_image_options(indented_json(json), data::kImageOptionsFile);
}

/// Reads the options of a folder or file. A bare state dict has them beside it, or says nothing of
/// images.
data::ImageOptions read_images(const ModelConfig& config, const std::string& path) {
  if (folder_exists(path) || path.ends_with(".json")) return data::read_image_options(path);
  const std::filesystem::path beside =
      std::filesystem::path(path).parent_path() / data::kImageOptionsFile;
  if (file_exists(beside.string())) return data::read_image_options(beside.string());
  return usual_images(dynamic_cast<const ResNetConfig&>(config));
}

/// Gives the sizes of the ResNets that are known by name.
std::vector<std::pair<std::string, Json>> named_resnets() {
  const Json basic = {{"layer_type", "basic"}, {"hidden_sizes", {64, 128, 256, 512}}};
  const auto with = [](Json json, const Json& more) {
    json.update(more);
    return json;
  };
  return {{"resnet18", with(basic, {{"depths", {2, 2, 2, 2}}})},
          {"resnet34", with(basic, {{"depths", {3, 4, 6, 3}}})},
          {"resnet50", Json::object()},
          {"resnet18-cifar", with(basic, {{"depths", {2, 2, 2, 2}}, {"stem", "cifar"}})},
          {"resnet34-cifar", with(basic, {{"depths", {3, 4, 6, 3}}, {"stem", "cifar"}})},
          {"resnet50-cifar", {{"stem", "cifar"}}}};
}

NewModel make_new_resnet(const Json& fields, const std::string& file,
                         const NewModelOptions& options) {
  NewModel model;
  model.config_json = fields;
  model.config = read_model_config(fields, file);
  const auto& config = dynamic_cast<const ResNetConfig&>(*model.config);
  model.processor = std::make_unique<data::ImageProcessor>(
      options.tokenizer.empty() ? usual_images(config)
                                : data::read_image_options(options.tokenizer));
  return model;
}

}  // namespace

std::string ResNetConfig::summary() const {
  return fmt::format("{} {} of {}, {} stages to {} channels", model_type, depth(),
                     bottleneck ? "bottlenecks" : "basic blocks", depths.size(), width());
}

int64_t ResNetConfig::depth() const {
  return 2 + (bottleneck ? 3 : 2) * std::accumulate(depths.begin(), depths.end(), int64_t{0});
}

Family resnet_family() {
  Family family;
  family.model_type = kResNet;
  family.prefix = "resnet.";
  family.architecture = "ResNet";
  family.head_class = "ForImageClassification";
  family.head_out = "classifier.1";
  family.samples = data::SampleKind::image;
  family.read_config = read_resnet;
  family.make = [](const ModelConfig& config, const MakeOptions& options) {
    return std::make_unique<ResNetModel>(dynamic_cast<const ResNetConfig&>(config), options);
  };
  family.open_processor = [](const ModelConfig& config, const ProcessorOptions& options) {
    return std::make_unique<data::ImageProcessor>(read_images(config, options.path),
                                                  options.image_limits);
  };
  family.make_new = make_new_resnet;
  family.named_configs = named_resnets();
  family.other_names = resnet_names;
  family.guess_config = guess_resnet;
  return family;
}

}  // namespace hone::models
