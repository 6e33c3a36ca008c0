#include "infer/integrated_gradients.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data/explain_processor.h"
#include "device/target.h"
#include "io/folder.h"
#include "models/concept_encoder.h"
#include "models/load.h"
#include "models/parser.h"
#include "models/stored_weights.h"
#include "nn/packing.h"
#include "plan/backend.h"

namespace hone::infer {

/// A text as the model reads it, and where its tokens are.
struct IntegratedGradients::Text {
  text::Encoding encoding;
  data::EncodedSample sample;

  /// Gives the sample with the padding token in place of those that are not special.
  std::vector<std::byte> baseline(int64_t padding) const {
    std::vector<std::byte> bytes = sample.bytes;
    const auto pad = static_cast<int32_t>(padding);
    for (size_t i = 0; i < encoding.size(); ++i) {
      if (encoding.special[i] == 0) std::memcpy(bytes.data() + i * sizeof pad, &pad, sizeof pad);
    }
    return bytes;
  }
};

/// Texts whose path is run together, and what the first layer reads at both of its ends.
struct IntegratedGradients::Group {
  std::span<const Text> texts;
  data::Batch batch;
  std::vector<float> begin;  ///< the baselines' rows: [tokens, hidden]
  std::vector<float> way;    ///< what leads from there to the texts' rows
  // What a self-explaining model's texts keep along their paths.
  std::vector<int32_t> spans = {};  ///< [phrases, 2], token rows of the batch
  std::vector<int32_t> found = {};  ///< [texts, neighbours]

  int64_t tokens(int64_t text) const { return batch.rows(nn::kTokens, text); }
  int64_t first(int64_t text) const { return batch.first(nn::kTokens, text); }
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
  const auto* explainer = dynamic_cast<models::Explainer*>(model_.get());
  forward_ = explainer ? explainer->record_explained() : model_->record(models::OutputOptions{});
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
  if (auto* const explainer = dynamic_cast<models::Explainer*>(model_.get())) {
    explainer->set_concepts(models::open_concepts(folder_.trained(), *explainer, pool_));
  }
}

std::vector<IntegratedGradients::Text> IntegratedGradients::encode(
    std::span<const std::string_view> texts) const {
  const text::Tokenizer& tokenizer = processor_->tokenizer();
  text::EncodeOptions options;
  options.truncation = tokenizer.truncation().value_or(text::Truncation{});
  options.truncation->max_length = static_cast<size_t>(processor_->max_units());
  std::vector<text::TextInput> inputs;
  std::vector<data::RawSample> raw;
  for (const std::string_view text : texts) {
    inputs.push_back({text, {}});
    raw.push_back({text, {}});
  }
  std::vector<text::Encoding> encodings;
  tokenizer.encode_batch(inputs, options, pool_, encodings);
  std::vector<data::EncodedSample> samples;
  processor_->encode(raw, pool_, samples);
  std::vector<Text> encoded;
  for (size_t i = 0; i < texts.size(); ++i) {
    encoded.push_back({std::move(encodings[i]), std::move(samples[i])});
  }
  return encoded;
}

std::vector<TokenShares> IntegratedGradients::explain(std::span<const std::string_view> raw) {
  const std::vector<Text> texts = encode(raw);
  std::vector<TokenShares> out(texts.size());
  for (size_t first = 0; first < texts.size();) {
    size_t end = first;
    size_t tokens = 0;
    for (; end < texts.size(); ++end) {
      tokens += texts[end].encoding.size();
      if (end > first && tokens > static_cast<size_t>(most_tokens_)) break;
    }
    explain_group(std::span(texts).subspan(first, end - first),
                  std::span(out).subspan(first, end - first));
    first = end;
  }
  return out;
}

void IntegratedGradients::append(const Group& group, int64_t text, data::Batch& batch) const {
  processor_->append(group.texts[static_cast<size_t>(text)].sample.bytes, 0, batch);
  if (!passes_.found) return;
  const auto first = static_cast<size_t>(2 * group.batch.first(data::kPhrases, text));
  const std::span<int32_t> spans = batch.last<int32_t>(data::kPhraseSpans);
  const auto moved =
      static_cast<int32_t>(batch.first(nn::kTokens, batch.size() - 1) - group.first(text));
  for (size_t i = 0; i < spans.size(); ++i) spans[i] = group.spans[first + i] + moved;
}

void IntegratedGradients::explain_group(std::span<const Text> texts, std::span<TokenShares> out) {
  Group group{texts, data::Batch(processor_->layout()), {}, {}};
  data::Batch baselines(processor_->layout());
  for (const Text& text : texts) {
    processor_->append(text.sample.bytes, 0, group.batch);
    processor_->append(text.baseline(processor_->limits().pad_id), 0, baselines);
  }
  group.begin = embeddings_of(baselines);
  group.way = embeddings_of(group.batch);
  const std::vector<float> logits = answer(group);
  const std::vector<float> first = logits_at(group.begin, group),
                           last = logits_at(group.way, group);
  for (size_t i = 0; i < group.way.size(); ++i) group.way[i] -= group.begin[i];
  const auto labels = static_cast<size_t>(forward_.output.width);
  for (size_t i = 0; i < texts.size(); ++i) {
    const text::Encoding& encoding = texts[i].encoding;
    const auto row = logits.begin() + static_cast<ptrdiff_t>(i * labels);
    TokenShares& shares = out[i];
    shares.logits.assign(row, row + static_cast<ptrdiff_t>(labels));
    shares.answer =
        std::max_element(shares.logits.begin(), shares.logits.end()) - shares.logits.begin();
    const auto answer = static_cast<size_t>(shares.answer);
    shares.difference = double{last[i * labels + answer]} - double{first[i * labels + answer]};
    shares.offsets = encoding.offsets;
    shares.special = encoding.special;
    shares.full_tokens = static_cast<int64_t>(encoding.untruncated);
    shares.shares.assign(encoding.size(), 0);
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

std::vector<float> IntegratedGradients::answer(Group& group) {
  answers_->resize(group.batch.extents());
  forward_.bind(group.batch, *answers_);
  answers_->run();
  const int64_t texts = group.batch.size();
  if (passes_.found) {
    const auto* spans =
        answers_->output<int32_t>(models::explained::value(forward_, models::explained::kSpans));
    group.spans.assign(spans, spans + 2 * group.batch.rows(data::kPhrases));
    const auto* found =
        answers_->output<int32_t>(models::explained::value(forward_, models::explained::kFound));
    group.found.assign(found, found + texts * passes_.found->width);
  }
  const auto* rows = answers_->output<float>(forward_.output);
  return {rows, rows + texts * forward_.output.width};
}

std::vector<float> IntegratedGradients::logits_at(const std::vector<float>& rows,
                                                  const Group& group) {
  data::Batch batch(processor_->layout());
  for (int64_t text = 0; text < group.batch.size(); ++text) append(group, text, batch);
  const models::Pass& pass = passes_.layers;
  const std::vector<float> nothing(static_cast<size_t>(batch.size() * pass.output.width));
  bind_layers(batch, rows, nothing, group.found);
  layers_->run(0, pass.forward_steps);
  const auto* logits = layers_->output<float>(pass.output);
  return {logits, logits + nothing.size()};
}

void IntegratedGradients::run_path(const Group& group, std::span<TokenShares> out) {
  Steps steps;
  steps.batch.set_layout(processor_->layout());
  const auto flush = [&] {
    if (!steps.list.empty()) run_steps(group, steps, out);
    steps.list.clear();
    steps.batch.clear();
  };
  for (int64_t text = 0; text < group.batch.size(); ++text) {
    for (size_t point = 0; point < rule_.points.size(); ++point) {
      if (steps.batch.units + group.tokens(text) > most_tokens_) flush();
      steps.list.push_back({text, point});
      append(group, text, steps.batch);
    }
  }
  flush();
}

void IntegratedGradients::bind_layers(const data::Batch& batch, const std::vector<float>& rows,
                                      const std::vector<float>& direction,
                                      const std::vector<int32_t>& found) {
  layers_->resize(batch.extents());
  passes_.layers.bind(batch, *layers_);
  layers_->bind(passes_.rows, rows.data());
  layers_->bind(passes_.direction, direction.data());
  if (passes_.found) layers_->bind(*passes_.found, found.data());
}

void IntegratedGradients::run_steps(const Group& group, const Steps& steps,
                                    std::span<TokenShares> out) {
  const auto width = passes_.rows.width;
  const int64_t labels = passes_.direction.width;
  const auto count = std::ssize(steps.list);
  std::vector<float> rows(static_cast<size_t>(steps.batch.rows(nn::kTokens) * width));
  std::vector<float> direction(static_cast<size_t>(count * labels));
  std::vector<int32_t> found;
  for (const Steps::Each& each : steps.list) {
    const int64_t neighbours = std::ssize(group.found) / group.batch.size();
    const auto begin = group.found.begin() + each.text * neighbours;
    found.insert(found.end(), begin, begin + neighbours);
  }
  pool_.run(count, [&](int64_t i, int) {
    const Steps::Each& each = steps.list[static_cast<size_t>(i)];
    const auto share = static_cast<float>(rule_.points[each.point]);
    const float* begin = group.begin.data() + group.first(each.text) * width;
    const float* way = group.way.data() + group.first(each.text) * width;
    float* to = rows.data() + steps.batch.first(nn::kTokens, i) * width;
    for (int64_t k = 0; k < group.tokens(each.text) * width; ++k) to[k] = begin[k] + share * way[k];
    direction[static_cast<size_t>(i * labels + out[static_cast<size_t>(each.text)].answer)] = 1;
  });
  bind_layers(steps.batch, rows, direction, found);
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
