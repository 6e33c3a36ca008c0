#include "serve/explaining.h"

#include <fmt/format.h>

#include "base/error.h"
#include "device/cpu_info.h"
#include "infer/model_facts.h"
#include "io/folder.h"
#include "models/folder.h"
#include "serve/errors.h"

namespace hone::serve {
namespace {

constexpr int64_t kMostSteps = 1000;
constexpr int64_t kMostPhrases = 10'000;

ExplainAsk::Method read_method(const RequestFields& fields) {
  const auto name = fields.text_if("method");
  if (!name) return ExplainAsk::Method::best;
  if (*name == "ig") return ExplainAsk::Method::gradients;
  fail_field(fields.path_of("method"), "expected ig");
}

}  // namespace

ExplainAsk read_explain(const RequestFields& fields, const ReadLimits& limits) {
  WorkReader reader(limits.body_bytes, limits.inputs);
  const JsonValue inputs = fields.at("inputs");
  reader.set_single(inputs.is_string());
  reader.add_texts(inputs, "inputs");
  reader.read_truncation(fields);
  ExplainAsk ask{.work = reader.take("inputs"), .method = read_method(fields)};
  if (ask.work.truncate_left) {
    fail_field("truncation_direction", "texts that are explained are cut on the right");
  }
  const auto number = [&](std::string_view name, int64_t low, int64_t high, int64_t fallback) {
    return fields.integer_if(name, low, high).value_or(fallback);
  };
  ask.steps = number("steps", 1, kMostSteps, ask.steps);
  ask.own.ablate = number("ablate", 0, kMostPhrases, ask.own.ablate);
  ask.own.concepts = number("concepts", 0, kMostPhrases, ask.own.concepts);
  return ask;
}

std::string write_explanations(bool single, std::span<const explain::Explanation> explanations) {
  std::string out = single ? "" : "[";
  for (const explain::Explanation& one : explanations) {
    if (out.size() > 1) out += ',';
    explain::append_json(one, out);
  }
  return single ? out : out + ']';
}

ModelExplainer::ModelExplainer(const ModelSettings& settings)
    : session_(settings.session),
      folder_(io::resolve_model(settings.folder)),
      pool_(settings.session.threads > 0 ? settings.session.threads : usable_cores()),
      explains_itself_(models::explain_settings(*models::open_model_folder(folder_).config)) {
  if (session_.memory_budget > 0) {
    throw RequestError(Failure::model_type,
                       "the model is served under a memory budget, and explanations need it whole");
  }
  session_.device = "cpu";
  session_.output = models::Output::logits;
  // The dtypes of a GPU's products, and int8, explain in fp32.
  if (session_.dtype != DType::bf16) session_.dtype = DType::f32;
}

void ModelExplainer::require_memory() const {
  const std::string missing = infer::missing_memory(folder_, {session_.dtype, pool_.size()});
  if (missing.empty()) return;
  throw RequestError(Failure::backend,
                     fmt::format("{}: opened once more to explain, it {}", folder_, missing));
}

infer::TextExplainer& ModelExplainer::explainer_for(const ExplainAsk& ask) {
  if (explains_itself_ && ask.method == ExplainAsk::Method::best) {
    if (!own_) {
      require_memory();
      own_ = std::make_unique<infer::SelfExplainer>(folder_, session_, ask.own);
    }
    own_->set_options(ask.own);
    return *own_;
  }
  if (!gradients_) {
    require_memory();
    gradients_ = std::make_unique<infer::GradientExplainer>(
        folder_, pool_,
        infer::IntegratedGradientsOptions{.max_length = session_.max_length,
                                          .dtype = *session_.dtype});
  }
  gradients_->set_steps(ask.steps);
  return *gradients_;
}

std::vector<explain::Explanation> ModelExplainer::explain(const ExplainAsk& ask, bool truncate) {
  std::vector<std::string_view> texts;
  for (const infer::Input& input : ask.work.inputs) texts.push_back(input.text);
  infer::TextExplainer* explainer = nullptr;
  std::vector<explain::Explanation> found;
  try {
    explainer = &explainer_for(ask);
    found = explainer->explain(texts);
  } catch (const Error& error) {
    // The model's files are bad, or give answers that are no numbers: no fault of the request.
    if (error.kind() != ErrorKind::bad_file) throw;
    throw RequestError(Failure::backend, error.what());
  }
  for (const explain::Explanation& one : found) {
    if (!one.truncated || ask.work.truncate.value_or(truncate)) continue;
    fail(ErrorKind::usage, "`inputs`: {} tokens are more than the limit of {}", one.original_tokens,
         explainer->max_tokens());
  }
  return found;
}

}  // namespace hone::serve
