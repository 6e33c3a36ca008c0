#pragma once

namespace hone::nn {

/// Says what a layer drops in training.
struct LayerDropout {
  float probabilities = 0;
  float attention_out = 0;
  float feed_out = 0;
};

}  // namespace hone::nn
