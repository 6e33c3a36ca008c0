#include "models/resnet_names.h"
#include "base/error.h"
#include "models/load.h"

namespace hone::models {
namespace {

constexpr const char* kStemModule = "embedder.embedder";
constexpr const char* kConvolutionPart = "convolution.";
constexpr const char* kNormPart = "normalization.";
constexpr const char* kHeadModule = "classifier.1.";

/// Takes `prefix` off the front of `text`; says whether it was there.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Takes the digits and the point behind them; a name of ours always has them.
size_t take_number(std::string_view& text) {
  size_t number = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    number = 10 * number + static_cast<size_t>(text.front() - '0');
    text.remove_prefix(1);
  }
  take(text, ".");
  return number;
}

/// Gives torchvision's name of a layer's tensor: "conv2.weight", "bn2.bias".
std::string layer_name(std::string_view rest, size_t number) {
  const char* kind = take(rest, kConvolutionPart) ? "conv" : "bn";
  take(rest, kNormPart);
  return fmt::format("{}{}.{}", kind, number, rest);
}

/// Gives the names of a tensor in state dicts of torchvision and of those who follow it.
std::vector<std::string> module_names(std::string_view name) {
  if (take(name, kHeadModule)) return {fmt::format("fc.{}", name), fmt::format("linear.{}", name)};
  if (take(name, "embedder.embedder.")) return {layer_name(name, 1)};
  if (!take(name, "encoder.stages.")) return {};
  const size_t stage = take_number(name) + 1;
  take(name, "layers.");
  const std::string block = fmt::format("layer{}.{}.", stage, take_number(name));
  if (take(name, "layer.")) {
    const size_t layer = take_number(name) + 1;
    return {block + layer_name(name, layer)};
  }
  take(name, "shortcut.");
  const char* number = take(name, kConvolutionPart) ? "0" : "1";
  take(name, kNormPart);
  return {fmt::format("{}downsample.{}.{}", block, number, name),
          fmt::format("{}shortcut.{}.{}", block, number, name)};
}

class Guess {
 public:
  Guess(const Family& family, const io::Weights& weights) : family_(family), weights_(weights) {}

  std::optional<Json> config() const {
    const io::TensorInfo* stem = convolution(kStemModule);
    if (!stem || !convolution(layer(0, 0, 0))) return {};
    Json json = {{"model_type", family_.model_type},
                 {"num_channels", stem->shape[1]},
                 {"embedding_size", stem->shape[0]}};
    if (is_small(*stem)) json["stem"] = "cifar";
    const bool bottleneck = convolution(layer(0, 0, 2)) != nullptr;
    json["layer_type"] = bottleneck ? "bottleneck" : "basic";
    add_stages(bottleneck ? 2 : 1, json);
    const std::string out = std::string(kHeadModule) + "weight";
    if (const io::TensorInfo* head = find_tensor(family_, weights_, out)) {
      if (head->shape.size() == 2) json["num_labels"] = head->shape[0];
    }
    return json;
  }

 private:
  static std::string block(size_t stage, size_t number) {
    return fmt::format("encoder.stages.{}.layers.{}", stage, number);
  }
  static std::string layer(size_t stage, size_t number, size_t layer) {
    return fmt::format("{}.layer.{}", block(stage, number), layer);
  }
  /// Gives a module's convolution; null where there is none.
  const io::TensorInfo* convolution(const std::string& module) const {
    const io::TensorInfo* found = find_tensor(family_, weights_, module + ".convolution.weight");
    return found && found->shape.size() == 4 ? found : nullptr;
  }

  bool is_small(const io::TensorInfo& stem) const {
    if (stem.shape[2] == 7) return false;
    if (stem.shape[2] == 3) return true;
    fail(ErrorKind::unsupported, "{}: {}: a stem of {} x {} pixels; known are 7 x 7 and 3 x 3",
         weights_.path(), stem.name, stem.shape[2], stem.shape[3]);
  }

  void add_stages(size_t last, Json& json) const {
    Json depths = Json::array(), sizes = Json::array();
    for (size_t stage = 0; convolution(layer(stage, 0, last)); ++stage) {
      sizes.push_back(convolution(layer(stage, 0, last))->shape[0]);
      int64_t depth = 1;
      while (convolution(layer(stage, static_cast<size_t>(depth), last))) ++depth;
      depths.push_back(depth);
      // Only the first stage's first block may have nothing to change.
      const bool projects = convolution(block(stage, 0) + ".shortcut") != nullptr;
      if (stage > 0 && !projects) json["shortcut"] = "padding";
      if (stage == 0 && projects && json["embedding_size"] == sizes[0]) {
        json["downsample_in_first_stage"] = true;
      }
    }
    json["depths"] = std::move(depths);
    json["hidden_sizes"] = std::move(sizes);
  }

  const Family& family_;
  const io::Weights& weights_;
};

}  // namespace

std::vector<std::string> resnet_names(const std::string& name) {
  std::vector<std::string> names = module_names(name);
  for (size_t i = names.size(); i-- > 0;) names.push_back("module." + names[i]);
  return names;
}

std::optional<Json> guess_resnet(const Family& family, const io::Weights& weights) {
  return Guess(family, weights).config();
}

}  // namespace hone::models
