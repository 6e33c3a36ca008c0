#include "study/bench_models.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/random.h"
#include "data/image_batch.h"
#include "data/image_processor.h"
#include "models/config.h"
#include "models/lstm.h"
#include "models/resnet.h"

namespace hone::study {

std::vector<std::string> names_of(std::span<const BenchCase> cases) {
  std::vector<std::string> names;
  for (const BenchCase& known : cases) names.emplace_back(known.name);
  return names;
}

const BenchCase& find_case(std::span<const BenchCase> cases, const std::string& name) {
  for (const BenchCase& known : cases) {
    if (name == known.name) return known;
  }
  fail(ErrorKind::usage, "bench: no case {}; there are {}", quote(name),
       fmt::join(names_of(cases), ", "));
}

namespace {

std::unique_ptr<models::ModelConfig> lstm_config(const BenchShape& shape) {
  auto config = std::make_unique<models::LstmConfig>();
  config->model_type = shape.model;
  config->hidden_size = shape.hidden;
  config->layers = shape.layers;
  config->labels = {"LABEL_0", "LABEL_1"};
  return config;
}

std::unique_ptr<models::ModelConfig> resnet_config(const BenchShape& shape) {
  Json json = models::config_of_type(shape.model);
  json["num_labels"] = json.contains("stem") ? 10 : 1000;
  return models::read_model_config(json, shape.model);
}

data::Batch image_batch(int64_t count, int64_t side) {
  data::Batch batch(data::image_layout(side, side, image::kChannels));
  for (int64_t i = 0; i < count; ++i) {
    batch.add(std::array<int64_t, 2>{1, side * side});
    uint64_t drawn = static_cast<uint64_t>(i) << 32;
    for (uint8_t& byte : batch.last<uint8_t>(data::kPixelInput)) {
      byte = static_cast<uint8_t>(philox(3, 0, drawn++)[0]);
    }
    const std::span<float> levels = batch.last<float>(data::kLevelInput);
    std::fill(levels.begin(), levels.begin() + image::kChannels, 1.f / 64);
    std::fill(levels.begin() + image::kChannels, levels.end(), -2.f);
  }
  return batch;
}

data::TextLimits limits_of(const models::ModelConfig& config) {
  if (const auto* encoder = dynamic_cast<const models::EncoderConfig*>(&config)) {
    return encoder->limits();
  }
  return dynamic_cast<const models::LstmConfig&>(config).limits();
}

}  // namespace

std::unique_ptr<models::ModelConfig> bench_config(const BenchShape& shape, float dropout) {
  if (shape.is_lstm()) return lstm_config(shape);
  if (shape.is_resnet()) return resnet_config(shape);
  models::EncoderConfig config;
  config.embedding_dropout = config.head_dropout = dropout;
  config.layer_dropout = {dropout, dropout, dropout};
  config.model_type = "bert";
  config.vocab_size = 30522;
  config.embedding_size = config.hidden_size = shape.hidden;
  config.intermediate_size = shape.intermediate;
  config.heads = shape.heads;
  config.layers = shape.layers;
  config.positions = 512;
  config.type_vocab_size = 2;
  config.labels = {"LABEL_0", "LABEL_1"};
  if (std::string_view(shape.model).starts_with("roberta")) {
    config.model_type = "roberta";
    config.vocab_size = 50265;
    config.positions = 514;
    config.type_vocab_size = 1;
    config.pad_id = 1;
    config.positions_skip_pad = true;
  }
  return config.clone();
}

std::unique_ptr<data::Processor> bench_processor(const BenchCase& bench) {
  if (!bench.shape.is_resnet() || bench.length <= 1) return nullptr;
  return std::make_unique<data::ImageProcessor>(data::square_image_options(bench.length));
}

/// Draws 872 lengths with SST-2 dev's mean of about 25 tokens and its long tail.
static std::vector<int64_t> drawn_lengths() {
  std::vector<int64_t> lengths;
  for (uint64_t i = 0; i < 872; ++i) {
    const auto words = philox(2, 0, i);
    const double normal = normal_pair(words[0], words[1])[0];
    lengths.push_back(std::clamp<int64_t>(std::lround(23 + 11 * normal), 4, 64));
  }
  return lengths;
}

std::vector<data::Batch> make_bench_batches(int64_t batch, int64_t length,
                                            std::vector<int64_t> lengths,
                                            const models::ModelConfig& config) {
  std::vector<data::Batch> batches;
  if (const auto* images = dynamic_cast<const models::ResNetConfig*>(&config)) {
    batches.push_back(image_batch(batch, length > 1 ? length : images->usual_side()));
    return batches;
  }
  const data::TextLimits limits = limits_of(config);
  if (length > 0) {
    lengths.assign(static_cast<size_t>(batch), length);
  } else if (lengths.empty()) {
    lengths = drawn_lengths();
  }
  uint64_t drawn = 0;
  const auto words = static_cast<uint32_t>(std::min<int64_t>(limits.vocabulary, 30000) - 5);
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (i % static_cast<size_t>(batch) == 0) batches.emplace_back(data::text_layout());
    std::vector<int32_t> ids(static_cast<size_t>(lengths[i]));
    for (int32_t& id : ids) id = static_cast<int32_t>(5 + philox(1, 0, drawn++)[0] % words);
    data::append_tokens(limits, ids, {}, static_cast<int64_t>(i), batches.back());
  }
  return batches;
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace hone::study
