#include "models/encoder_family.h"

#include <array>

#include "base/error.h"
#include "data/parse_processor.h"
#include "models/encoder.h"
#include "models/explainer.h"
#include "models/int8.h"
#include "models/parser.h"

namespace hone::models {
namespace {

std::string last_part(std::string_view name) {
  return std::string(name.substr(name.rfind('.') + 1));  // npos + 1 is 0
}

/// Gives the first of: asked for, sentence-transformers', the tokenizer file's truncation,
/// model_max_length, the positions; never more than the positions.
int64_t length_limit(const ProcessorOptions& options, int64_t positions,
                     const text::Tokenizer& tokenizer) {
  if (options.max_units > positions && !options.clamps) {
    fail(ErrorKind::usage, "max_length: {} is more than the model's {} positions",
         options.max_units, positions);
  }
  if (options.max_units > 0) return std::min(options.max_units, positions);
  if (options.sentence_length) return std::min(*options.sentence_length, positions);
  if (tokenizer.truncation()) {
    return std::min(static_cast<int64_t>(tokenizer.truncation()->max_length), positions);
  }
  if (tokenizer.model_max_length()) return std::min(*tokenizer.model_max_length(), positions);
  return positions;
}

std::unique_ptr<data::Processor> open_text_processor(const EncoderConfig& config,
                                                     const ProcessorOptions& options) {
  text::Tokenizer tokenizer = text::Tokenizer::load(options.path, config.model_type);
  const int64_t limit = length_limit(options, config.max_tokens(), tokenizer);
  const auto make = [&]<typename Made>() -> std::unique_ptr<data::Processor> {
    return std::make_unique<Made>(std::move(tokenizer), data::TextProcessor::Origin{options.path},
                                  config.limits(), limit, options.model);
  };
  if (config.parses) return make.template operator()<data::ParseProcessor>();
  if (config.explains) return make.template operator()<data::ExplainProcessor>();
  return make.template operator()<data::TextProcessor>();
}

Family entry(const EncoderFamily& encoder) {
  Family family;
  family.model_type = encoder.model_type;
  family.prefix = encoder.prefix;
  family.architecture = encoder.architecture;
  family.head_dense = encoder.names.head_dense;
  family.head_out = encoder.names.head_out;
  family.has_pooler = encoder.has_pooler;
  family.lora_targets = {last_part(encoder.names.query), last_part(encoder.names.value)};
  family.read_config = [&encoder](const JsonFields& fields) {
    auto config = std::make_unique<EncoderConfig>(encoder.read_config(fields));
    config->model_type = encoder.model_type;
    config->parses = fields.boolean(kParserField, false);
    check_encoder(*config, fields);
    config->explains = read_explain_settings(fields, *config);
    return config;
  };
  family.make = [](const ModelConfig& config,
                   const MakeOptions& options) -> std::unique_ptr<Model> {
    const auto& own = static_cast<const EncoderConfig&>(config);
    if (own.parses) return std::make_unique<Parser>(own, options);
    if (own.explains) return std::make_unique<Explainer>(own, options);
    return std::make_unique<Encoder>(own, options);
  };
  family.open_processor = [](const ModelConfig& config, const ProcessorOptions& options) {
    return open_text_processor(static_cast<const EncoderConfig&>(config), options);
  };
  return family;
}

constexpr std::array kEncoders = {&kBert,       &kRoberta, &kXlmRoberta,
                                  &kDistilBert, &kAlbert,  &kElectra};

}  // namespace

std::vector<Family> encoder_families() {
  std::vector<Family> all;
  for (const EncoderFamily* encoder : kEncoders) all.push_back(entry(*encoder));
  return all;
}

const EncoderFamily& encoder_family_of(const EncoderConfig& config) {
  for (const EncoderFamily* encoder : kEncoders) {
    if (config.model_type == encoder->model_type) return *encoder;
  }
  fail(ErrorKind::internal, "no encoder {}", quote(config.model_type));
}

std::vector<std::string> EncoderConfig::parts() const {
  std::vector<std::string> parts = {kEmbeddingsPart};
  const int64_t groups = layer_groups > 0 ? layer_groups : layers;
  for (int64_t layer = 0; layer < groups * layers_a_group; ++layer) {
    parts.push_back(layer_part(static_cast<size_t>(layer)));
  }
  return parts;
}

}  // namespace hone::models
