#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "nn/convolution.h"
#include "nn/linear.h"

namespace hone::models {

/// A residual network over images. The fields are those of transformers' ResNetConfig, with its
/// defaults (ResNet-50), and two of our own for the forms that papers on CIFAR use.
struct ResNetConfig : ModelConfig {
  enum class Stem : uint8_t {
    imagenet,  ///< 7x7 convolution with a stride of 2, then a maximum over 3x3 with a stride of 2
    cifar,     ///< 3x3 convolution alone
  };
  enum class Shortcut : uint8_t {
    projection,  ///< 1x1 convolution and a norm, where a block changes the size
    padding,     ///< pixels are left out and channels of zeros added: no weights ("option A")
  };
  int64_t embedding_size = 64;  ///< channels behind the stem
  std::vector<int64_t> hidden_sizes = {256, 512, 1024, 2048};
  std::vector<int64_t> depths = {3, 4, 6, 3};
  bool bottleneck = true;
  bool downsample_in_first_stage = false;
  bool downsample_in_bottleneck = false;  ///< the stride is in the first 1x1, not in the 3x3
  Stem stem = Stem::imagenet;
  Shortcut shortcut = Shortcut::projection;

  /// Gives the height and width of images where nobody says otherwise.
  int64_t usual_side() const { return stem == Stem::cifar ? 32 : 224; }
  int64_t width() const { return hidden_sizes.back(); }

  std::unique_ptr<ModelConfig> clone() const override {
    return std::make_unique<ResNetConfig>(*this);
  }
  std::string summary() const override;
  std::vector<std::pair<std::string, int64_t>> facts() const override {
    return {{"layers", depth()}, {"hidden_size", width()}};
  }
  /// Gives the convolutions on the way, and the layer of the head: the 50 of a ResNet-50.
  int64_t depth() const override;
  int64_t max_units() const override { return usual_side() * usual_side(); }
};

/// A block of two or three convolutions beside its shortcut.
struct ResidualBlock {
  std::string scope;
  std::vector<nn::ConvolutionNorm> layers;
  std::optional<nn::ConvolutionNorm> projection;
  bool pads = false;  ///< the shortcut is padded
  nn::WindowShape shape;
};

class ResNetModel : public Model {
 public:
  ResNetModel(const ResNetConfig& config, const MakeOptions& options);

  const ResNetConfig& config() const override { return config_; }
  bool has_head() const override { return head_.has_value(); }
  /// Gives what torchvision starts with: He's normal distribution by a convolution's outputs.
  std::optional<Initial> initial(const nn::Parameter& parameter) const override;

  const data::BatchLayout& layout() const override { return *layout_; }
  Pass record(const OutputOptions& request) const override;
  Pass record(const TrainingRequest& request) const override;

 private:
  void begin(Pass& pass) const;
  nn::ImageAxes axes() const;
  nn::Images stem(Tape& tape, const Pass& pass, nn::ImageAxes& axes, DType dtype) const;
  nn::Images block(Tape& tape, const ResidualBlock& block, const nn::Images& x,
                   nn::ImageAxes& axes) const;
  /// Gives the mean over each image's last pixels, in the dtype of accumulators.
  Value pooled(Tape& tape, const Pass& pass, nn::ImageAxes& axes, DType dtype) const;
  Value logits(Tape& tape, Value pooled) const;

  ResNetConfig config_;
  nn::ImageSize size_;  ///< size of the images that come in
  std::shared_ptr<const data::BatchLayout> layout_;
  nn::ConvolutionNorm stem_;
  std::vector<ResidualBlock> blocks_;
  std::optional<nn::Linear> head_;
};

/// Gives the family "resnet", for models/family.cpp.
Family resnet_family();

}  // namespace hone::models
