#include "infer/bench_models.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/random.h"

namespace hone::infer {

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

models::EncoderConfig bench_config(const BenchShape& shape) {
  models::EncoderConfig config;
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
  return config;
}

/// 872 lengths with SST-2 dev's mean of about 25 tokens and its long tail.
static std::vector<int64_t> drawn_lengths() {
  std::vector<int64_t> lengths;
  for (uint64_t i = 0; i < 872; ++i) {
    const auto words = philox(2, 0, i);
    const double normal = normal_pair(words[0], words[1])[0];
    lengths.push_back(std::clamp<int64_t>(std::lround(23 + 11 * normal), 4, 64));
  }
  return lengths;
}

std::vector<models::Batch> make_bench_batches(int64_t batch, int64_t length,
                                              std::vector<int64_t> lengths,
                                              const models::EncoderConfig& config) {
  if (length > 0) {
    lengths.assign(static_cast<size_t>(batch), length);
  } else if (lengths.empty()) {
    lengths = drawn_lengths();
  }
  std::vector<models::Batch> batches;
  uint64_t drawn = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (i % static_cast<size_t>(batch) == 0) batches.emplace_back(config);
    std::vector<int32_t> ids(static_cast<size_t>(lengths[i]));
    for (int32_t& id : ids) id = static_cast<int32_t>(5 + philox(1, 0, drawn++)[0] % 29995);
    batches.back().add(ids, {}, static_cast<int64_t>(i));
  }
  return batches;
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace hone::infer
