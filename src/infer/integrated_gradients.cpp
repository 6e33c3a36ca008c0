#include "infer/integrated_gradients.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/text_batch.h"
#include "device/target.h"
#include "io/folder.h"
#include "models/load.h"
#include "models/parser.h"
#include "models/stored_weights.h"
#include "nn/packing.h"
#include "plan/backend.h"

namespace hone::infer {

/// Texts whose path is run together, and what the first layer reads at both of its ends.
struct IntegratedGradients::Group {
  data::Batch texts;
  std::vector<float> begin;  ///< the baselines' rows: [tokens, hidden]
  std::vector<float> way;    ///< what leads from there to the texts' rows

  int64_t tokens(int64_t text) const { return texts.rows(nn::kTokens, text); }
  int64_t first(int64_t text) const { return texts.first(nn::kTokens, text); }
};

/// Points of paths that are one batch: point `point` of text `text`, in this order.
struct IntegratedGradients::Steps {
  struct Each {
    int64_t text;
    size_t point;
  };
  std::vector<Each> list;
  data::Batch batch;
};

IntegratedGradients::IntegratedGradients(const std::string& model, ThreadPool& pool,
                                         const IntegratedGradientsOptions& options)
    : pool_(pool),
      options_(options),
      rule_(gauss_legendre(options.steps)),
      folder_(models::open_model_folder(io::resolve_model(model))) {
  auto* config = dynamic_cast<models::EncoderConfig*>(folder_.config.get());
  if (!config || config->parses) {
    fail(ErrorKind::unsupported,
         "{}: integrated gradients take a classifier of the encoders, not {}", folder_.path,
         config ? "a parser" : "a model of type " + quote(folder_.config->model_type));
  }
  models::drop_nothing(*config);
  open_model();
  passes_ = static_cast<models::Encoder&>(*model_).record_gradient();
  forward_ = model_->record(models::OutputOptions{});
  const auto runner = [&](const models::Pass& pass) {
    return std::make_unique<Runner>(pass.plan, model_->weights_for(pass.shadows), pool_,
                                    Runner::Options{});
  };
  answers_ = runner(forward_);
  embeddings_ = runner(passes_.embeddings);
  layers_ = runner(passes_.layers);
  most_tokens_ = processor_->pass_units(Backend::of(DeviceKind::cpu).efficient_rows());
}

void IntegratedGradients::open_model() {
  const models::Family& family = models::family_of(*folder_.config);
  models::StoredWeights stored = models::open_stored(folder_);
  if (!stored.has_head(family)) {
    fail(ErrorKind::bad_file, "{}: has no classification head ({}.weight)", stored.path(),
         family.head_out);
  }
  if (stored.packed) {
    fail(ErrorKind::unsupported,
         "{}: weights packed for streaming have no gradients; explain the folder they are of",
         stored.path());
  }
  std::unique_ptr<data::Processor> opened =
      family.open_processor(*folder_.config, {.path = folder_.path,
                                              .model = folder_.path,
                                              .max_units = options_.max_length,
                                              .sentence_length = folder_.sentence_length});
  processor_.reset(static_cast<data::TextProcessor*>(opened.release()));
  model_ = models::make_model(*folder_.config, {options_.dtype, Target::of(false)});
  models::load_weights(*model_, *stored.checkpoint, pool_, {.adapter = stored.adapter.get()});
}

std::vector<text::Encoding> IntegratedGradients::encode(
    std::span<const std::string_view> texts) const {
  const text::Tokenizer& tokenizer = processor_->tokenizer();
  text::EncodeOptions options;
  options.truncation = tokenizer.truncation().value_or(text::Truncation{});
  options.truncation->max_length = static_cast<size_t>(processor_->max_units());
  std::vector<text::TextInput> inputs;
  for (const std::string_view text : texts) inputs.push_back({text, {}});
  std::vector<text::Encoding> encodings;
  tokenizer.encode_batch(inputs, options, pool_, encodings);
  return encodings;
}

std::vector<TokenShares> IntegratedGradients::explain(std::span<const std::string_view> texts) {
  const std::vector<text::Encoding> encodings = encode(texts);
  std::vector<TokenShares> out(texts.size());
  for (size_t first = 0; first < texts.size();) {
    size_t end = first;
    size_t tokens = 0;
    for (; end < texts.size(); ++end) {
      tokens += encodings[end].size();
      if (end > first && tokens > static_cast<size_t>(most_tokens_)) break;
    }
    explain_group(std::span(encodings).subspan(first, end - first),
                  std::span(out).subspan(first, end - first));
    first = end;
  }
  return out;
}

void IntegratedGradients::append(std::span<const int32_t> ids, const text::Encoding& encoding,
                                 data::Batch& batch) const {
  data::append_tokens(processor_->limits(), ids, encoding.type_ids, 0, batch);
}

void IntegratedGradients::explain_group(std::span<const text::Encoding> encodings,
                                        std::span<TokenShares> out) {
  Group group;
  group.texts.set_layout(processor_->layout());
  data::Batch baselines(processor_->layout());
  std::vector<int32_t> ids;
  for (const text::Encoding& encoding : encodings) {
    append(encoding.ids, encoding, group.texts);
    ids = encoding.ids;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (encoding.special[i] == 0) ids[i] = static_cast<int32_t>(processor_->limits().pad_id);
    }
    append(ids, encoding, baselines);
  }
  group.begin = embeddings_of(baselines);
  group.way = embeddings_of(group.texts);
  for (size_t i = 0; i < group.way.size(); ++i) group.way[i] -= group.begin[i];
  const std::vector<float> logits = logits_of(group.texts);
  const std::vector<float> before = logits_of(baselines);
  const auto labels = static_cast<size_t>(forward_.output.width);
  for (size_t i = 0; i < encodings.size(); ++i) {
    const auto row = logits.begin() + static_cast<ptrdiff_t>(i * labels);
    TokenShares& shares = out[i];
    shares.logits.assign(row, row + static_cast<ptrdiff_t>(labels));
    shares.answer =
        std::max_element(shares.logits.begin(), shares.logits.end()) - shares.logits.begin();
    const auto answer = static_cast<size_t>(shares.answer);
    shares.difference = static_cast<double>(shares.logits[answer]) - before[i * labels + answer];
    shares.offsets = encodings[i].offsets;
    shares.special = encodings[i].special;
    shares.full_tokens = static_cast<int64_t>(encodings[i].untruncated);
    shares.shares.assign(encodings[i].size(), 0);
  }
  run_path(group, out);
}

std::vector<float> IntegratedGradients::embeddings_of(const data::Batch& batch) {
  const models::Pass& pass = passes_.embeddings;
  embeddings_->resize(batch.extents());
  pass.bind(batch, *embeddings_);
  embeddings_->run();
  const auto* rows = embeddings_->output<float>(pass.output);
  return {rows, rows + batch.rows(nn::kTokens) * pass.output.width};
}

std::vector<float> IntegratedGradients::logits_of(const data::Batch& batch) {
  answers_->resize(batch.extents());
  forward_.bind(batch, *answers_);
  answers_->run();
  const auto* rows = answers_->output<float>(forward_.output);
  return {rows, rows + batch.size() * forward_.output.width};
}

void IntegratedGradients::run_path(const Group& group, std::span<TokenShares> out) {
  Steps steps;
  steps.batch.set_layout(processor_->layout());
  const auto flush = [&] {
    if (!steps.list.empty()) run_steps(group, steps, out);
    steps.list.clear();
    steps.batch.clear();
    steps.batch.units = 0;
  };
  const auto ids = group.texts.array<int32_t>(data::kIds);
  const auto types = group.texts.array<int32_t>(data::kTypes);
  for (int64_t text = 0; text < group.texts.size(); ++text) {
    const auto first = static_cast<size_t>(group.first(text));
    const auto count = static_cast<size_t>(group.tokens(text));
    for (size_t point = 0; point < rule_.points.size(); ++point) {
      if (steps.batch.units + group.tokens(text) > most_tokens_) flush();
      steps.list.push_back({text, point});
      data::append_tokens(processor_->limits(), ids.subspan(first, count),
                          types.subspan(first, count), 0, steps.batch);
    }
  }
  flush();
}

void IntegratedGradients::run_steps(const Group& group, const Steps& steps,
                                    std::span<TokenShares> out) {
  const auto width = passes_.rows.width;
  const int64_t labels = passes_.direction.width;
  const auto count = std::ssize(steps.list);
  std::vector<float> rows(static_cast<size_t>(steps.batch.rows(nn::kTokens) * width));
  std::vector<float> direction(static_cast<size_t>(count * labels));
  pool_.run(count, [&](int64_t i, int) {
    const Steps::Each& each = steps.list[static_cast<size_t>(i)];
    const auto share = static_cast<float>(rule_.points[each.point]);
    const float* begin = group.begin.data() + group.first(each.text) * width;
    const float* way = group.way.data() + group.first(each.text) * width;
    float* to = rows.data() + steps.batch.first(nn::kTokens, i) * width;
    for (int64_t k = 0; k < group.tokens(each.text) * width; ++k) to[k] = begin[k] + share * way[k];
    direction[static_cast<size_t>(i * labels + out[static_cast<size_t>(each.text)].answer)] = 1;
  });
  layers_->resize(steps.batch.extents());
  passes_.layers.bind(steps.batch, *layers_);
  layers_->bind(passes_.rows, rows.data());
  layers_->bind(passes_.direction, direction.data());
  layers_->run();
  const auto* gradient = layers_->output<float>(passes_.gradient);
  // Each token's sum is over its points in their order, so that it depends on no batch.
  pool_.run(std::ssize(out), [&](int64_t text, int) {
    for (int64_t i = 0; i < count; ++i) {
      const Steps::Each& each = steps.list[static_cast<size_t>(i)];
      if (each.text != text) continue;
      const float* slope = gradient + steps.batch.first(nn::kTokens, i) * width;
      const float* way = group.way.data() + group.first(text) * width;
      std::vector<double>& shares = out[static_cast<size_t>(text)].shares;
      for (size_t token = 0; token < shares.size(); ++token) {
        double sum = 0;
        for (int64_t k = 0; k < width; ++k) sum += static_cast<double>(*slope++) * *way++;
        shares[token] += rule_.weights[each.point] * sum;
      }
    }
  });
}

}  // namespace hone::infer
