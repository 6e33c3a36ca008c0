#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "hone/hone.h"
#include "infer/classify.h"
#include "infer/session.h"
#include "io/folder.h"
#include "models/family.h"
#include "models/stored_weights.h"

namespace hone {
namespace {

bool has_head(const std::string& model) {
  const models::ModelFolder folder = models::open_model_folder(io::resolve_model(model));
  if (folder.sentence) return false;
  return models::open_stored(folder).has_head(models::family_of(folder.config));
}

infer::SessionOptions session_options(const std::string& model, const ModelOptions& options) {
  infer::SessionOptions settings;
  if (options.dtype == "fp32") {
    settings.dtype = DType::f32;
  } else if (options.dtype == "bf16") {
    settings.dtype = DType::bf16;
  } else if (options.dtype == "int8") {
    settings.dtype = DType::i8;
  } else if (options.dtype == "fp8") {
    settings.dtype = DType::f8;
  } else if (!options.dtype.empty()) {
    fail(ErrorKind::usage, "dtype: expected fp32, bf16, int8 or fp8, got {}", quote(options.dtype));
  }
  settings.threads = options.threads;
  settings.max_length = options.max_length;
  const bool predicts =
      options.use == Use::automatic ? has_head(model) : options.use == Use::predict;
  settings.output = predicts ? models::Output::logits : models::Output::embedding;
  return settings;
}

}  // namespace

struct Model::State {
  State(const std::string& model, const ModelOptions& options)
      : settings(session_options(model, options)), session(model, settings) {
    load_seconds = watch.seconds();
    session.execution().time_ops(options.time_ops);
  }

  std::vector<infer::Answer> run(const std::vector<Text>& texts, models::Output output) {
    if (output != settings.output) {
      fail(ErrorKind::usage, "{}: was loaded to {}", session.folder().path,
           output == models::Output::logits ? "embed; to predict, load it with Use::predict"
                                            : "predict; to embed, load it with Use::embed");
    }
    std::vector<infer::Input> inputs;
    for (const Text& text : texts) inputs.push_back({text.text, text.pair});
    const Stopwatch running;
    std::vector<infer::Answer> answers = session.run(inputs);
    run_seconds += running.seconds();
    ++runs;
    return answers;
  }

  Stopwatch watch;
  infer::SessionOptions settings;
  infer::Session session;
  double load_seconds = 0;
  double run_seconds = 0;
  int64_t runs = 0;
};

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::load(const std::string& model, const ModelOptions& options) {
  return Model(std::make_unique<State>(model, options));
}

std::vector<Prediction> Model::predict(const std::vector<Text>& texts) {
  const models::EncoderConfig& config = state_->session.config();
  std::vector<Prediction> predictions;
  for (const infer::Answer& answer : state_->run(texts, models::Output::logits)) {
    infer::Prediction found = infer::classify(config, answer.values);
    Prediction& prediction = predictions.emplace_back();
    prediction.label = std::move(found.label);
    prediction.score = found.score;
    prediction.scores = std::move(found.scores);
    for (const int64_t id : found.chosen) {
      prediction.chosen.push_back(config.labels[static_cast<size_t>(id)]);
    }
    prediction.tokens = answer.tokens;
    prediction.truncated = answer.truncated();
  }
  return predictions;
}

std::vector<std::vector<float>> Model::embed(const std::vector<Text>& texts) {
  std::vector<std::vector<float>> vectors;
  for (infer::Answer& answer : state_->run(texts, models::Output::embedding)) {
    vectors.push_back(std::move(answer.values));
  }
  return vectors;
}

Tokens Model::tokenize(const Text& text) const {
  const text::Tokenizer& tokenizer = state_->session.tokenizer();
  text::Encoding encoding = tokenizer.encode({text.text, text.pair});
  Tokens tokens;
  for (size_t i = 0; i < encoding.size(); ++i) {
    tokens.tokens.push_back(tokenizer.token(encoding, i));
    tokens.offsets.emplace_back(encoding.offsets[i].begin, encoding.offsets[i].end);
  }
  tokens.ids = std::move(encoding.ids);
  tokens.type_ids = std::move(encoding.type_ids);
  return tokens;
}

const std::vector<std::string>& Model::labels() const { return state_->session.config().labels; }

std::vector<TimeSpent> Model::times() const {
  std::vector<TimeSpent> times = {
      {"load", 1, state_->load_seconds, 0},
      {"tokenise", state_->runs, state_->session.tokenize_seconds(), 0}};
  double rest = state_->run_seconds - state_->session.tokenize_seconds();
  for (const OpTime& op : state_->session.execution().op_times()) {
    times.push_back({std::string(op.name), op.calls, op.seconds, op.flops / op.seconds / 1e9});
    rest -= op.seconds;
  }
  times.push_back({"rest", state_->runs, rest, 0});
  return times;
}

}  // namespace hone
