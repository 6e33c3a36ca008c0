#include "models/explainer.h"

#include "base/error.h"
#include "ops/by_dtype.h"

namespace hone::models {
namespace {

constexpr int64_t kMostNeighbours = 1024;
constexpr int64_t kMostHeads = 256;
constexpr int64_t kMostWords = 64;

std::string module(std::string_view part) {
  return std::string(kExplainModule) + "." + std::string(part);
}

void check_family(const ModelConfig& config) {
  const auto* encoder = dynamic_cast<const EncoderConfig*>(&config);
  if (!encoder || config.model_type == kElectra.model_type) {
    fail(ErrorKind::unsupported,
         "explain: bert, roberta, xlm-roberta, distilbert and albert explain themselves, not a "
         "model of type {}",
         quote(config.model_type));
  }
}

}  // namespace

bool is_explain_weight(std::string_view name) {
  return name.size() > kExplainModule.size() && name.starts_with(kExplainModule) &&
         name[kExplainModule.size()] == '.';
}

const ExplainSettings* explain_settings(const ModelConfig& config) {
  const auto* encoder = dynamic_cast<const EncoderConfig*>(&config);
  return encoder && encoder->explains ? &*encoder->explains : nullptr;
}

std::optional<ExplainSettings> read_explain_settings(const JsonFields& fields,
                                                     const EncoderConfig& config) {
  if (!fields.has(kExplainField)) return {};
  const JsonFields own = fields.object(kExplainField);
  ExplainSettings settings;
  settings.neighbours = own.integer("neighbours", 1, kMostNeighbours, settings.neighbours);
  settings.heads = own.integer("heads", 1, kMostHeads, settings.heads);
  settings.concept_words = own.integer("concept_words", 2, kMostWords, settings.concept_words);
  const auto weight = [&](const char* field, double fallback) {
    const double value = own.number(field, fallback);
    if (!(value >= 0 && value <= 1e6)) own.fail_field(field, "expected a weight from 0");
    return value;
  };
  settings.local_weight = weight("local_weight", settings.local_weight);
  settings.global_weight = weight("global_weight", settings.global_weight);
  if (config.hidden_size % settings.heads != 0) {
    fail(ErrorKind::bad_file, "{}: {}.heads: {} do not divide the hidden size of {}", fields.file(),
         kExplainField, settings.heads, config.hidden_size);
  }
  check_family(config);
  return settings;
}

void set_explainer(const ExplainSettings* settings, ModelConfig& config, Json& json) {
  auto* encoder = dynamic_cast<EncoderConfig*>(&config);
  json.erase(kExplainField);
  if (!settings) {
    if (encoder) encoder->explains.reset();
    return;
  }
  check_family(config);
  ExplainSettings own = *settings;
  while (encoder->hidden_size % own.heads != 0) --own.heads;
  encoder->explains = own;
  json[kExplainField] = {{"neighbours", own.neighbours},
                         {"heads", own.heads},
                         {"concept_words", own.concept_words},
                         {"local_weight", own.local_weight},
                         {"global_weight", own.global_weight}};
}

Explainer::Explainer(EncoderConfig config, const MakeOptions& options)
    : Encoder(std::move(config), options) {
  if (!options.with_head) return;
  if (this->config().exits.method != ExitMethod::none) {
    fail(ErrorKind::unsupported, "model.exits: a self-explaining model has none");
  }
  if (this->config().problem != ProblemType::single_label) {
    fail(ErrorKind::unsupported, "explain: takes classes, of which a text has one");
  }
  const int64_t hidden = this->config().hidden_size;
  const auto labels = static_cast<int64_t>(this->config().labels.size());
  const DType dtype = ops::accumulator_dtype(options.dtype);
  const auto linear = [&](std::vector<std::string> parts, int64_t out) {
    for (std::string& part : parts) part = module(part);
    return nn::Linear(parameters_, parts, out, hidden, dtype);
  };
  explain_.emplace(Head{nn::SpanScorer(parameters_, "parser", hidden, dtype),
                        linear({"local"}, labels), linear({"attention.query"}, hidden),
                        linear({"attention.key", "attention.value"}, 2 * hidden),
                        linear({"attention.out"}, hidden), linear({"global"}, labels)});
}

std::vector<Part> Explainer::record_parts(const OutputOptions& request) const {
  if (request.output != Output::logits) return Encoder::record_parts(request);
  // NOLINTNEXTLINE(bugprone-parent-virtual-call): its parts are not an encoder's.
  return Model::record_parts(request);
}

}  // namespace hone::models
