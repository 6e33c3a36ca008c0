#include <chrono>
#include <future>
#include <span>

#include "api/images.h"
#include "api/tokens.h"
#include "base/clock.h"
#include "base/error.h"
#include "hone/hone.h"
#include "infer/classify.h"
#include "infer/model_options.h"
#include "infer/request_queue.h"

namespace hone {
namespace {

// So many images are asked for together: enough for all threads, and little memory beside them.
constexpr size_t kImagesAtOnce = 64;
constexpr size_t kBytesAtOnce = 64 << 20;

std::vector<infer::Input> inputs_of(const std::vector<Text>& texts) {
  std::vector<infer::Input> inputs;
  inputs.reserve(texts.size());
  for (const Text& text : texts) inputs.push_back({text.text, text.pair});
  return inputs;
}

Prediction prediction_of(const models::ModelConfig& config, const infer::Answer& answer) {
  infer::Prediction found = infer::classify(config, answer.values);
  Prediction prediction;
  prediction.label = std::move(found.label);
  prediction.score = found.score;
  prediction.scores = std::move(found.scores);
  for (const int64_t id : found.chosen) {
    prediction.chosen.push_back(config.labels[static_cast<size_t>(id)]);
  }
  prediction.tokens = answer.tokens;
  prediction.truncated = answer.truncated();
  prediction.layers = answer.layers;
  prediction.width = answer.width;
  prediction.height = answer.height;
  return prediction;
}

}  // namespace

struct [[gnu::visibility("hidden")]] Model::State {
  State(const std::string& model, const ModelOptions& options)
      : settings(infer::session_options(model, options)),
        queue(model, settings, options.time_ops ? &op_times : nullptr),
        load_seconds(watch.seconds()) {}

  const infer::Session& session() const { return queue.session(); }
  const models::ModelConfig& config() const { return session().config(); }
  void require(models::Output output, data::SampleKind samples) const {
    const bool images = samples == data::SampleKind::image;
    if (images != session().reads_images()) {
      fail(ErrorKind::usage, "{}: is a model of {}", session().folder().path,
           images ? "texts; ask it by predict() or embed()"
                  : "images; ask it by predict_images() or embed_images()");
    }
    if (output == settings.output) return;
    fail(ErrorKind::usage, "{}: was loaded to {}", session().folder().path,
         output == models::Output::logits ? "embed; to predict, load it with Use::predict"
                                          : "predict; to embed, load it with Use::embed");
  }
  std::future<std::vector<infer::Answer>> ask(std::vector<Text> texts) {
    const auto held = std::make_shared<const std::vector<Text>>(std::move(texts));
    return queue.ask(inputs_of(*held), held);
  }
  /// Asks for the first of the images, as many as are worth it, and drops them.
  std::vector<infer::Answer> answers_to_some(std::span<const Image> & images) {
    const auto samples = std::make_shared<std::vector<std::string>>();
    size_t bytes = 0;
    while (!images.empty() && samples->size() < kImagesAtOnce && bytes < kBytesAtOnce) {
      samples->push_back(api::sample_of(images.front(), settings.image_limits));
      bytes += samples->back().size();
      images = images.subspan(1);
    }
    std::vector<infer::Input> inputs;
    for (const std::string& sample : *samples) inputs.push_back({sample, std::nullopt});
    return queue.ask(std::move(inputs), samples).get();
  }
  std::vector<infer::Answer> answers_to(std::span<const Image> images) {
    std::vector<infer::Answer> answers;
    while (!images.empty()) {
      for (infer::Answer& answer : answers_to_some(images)) answers.push_back(std::move(answer));
    }
    return answers;
  }
  Predictions predictions(const std::vector<infer::Answer>& answers) const {
    Predictions predictions;
    predictions.reserve(answers.size());
    for (const infer::Answer& answer : answers) {
      predictions.push_back(prediction_of(config(), answer));
    }
    return predictions;
  }
  static Embeddings embeddings(std::vector<infer::Answer> answers) {
    Embeddings vectors;
    vectors.reserve(answers.size());
    for (infer::Answer& answer : answers) vectors.push_back(std::move(answer.values));
    return vectors;
  }

  Stopwatch watch;
  infer::SessionOptions settings;
  OpTimes op_times;
  infer::RequestQueue queue;
  double load_seconds;
};

template <typename Answers>
struct Pending<Answers>::State {
  std::shared_ptr<Model::State> model;
  std::future<std::vector<infer::Answer>> answers;
};

template <typename Answers>
Pending<Answers>::Pending(State state) : state_(std::make_unique<State>(std::move(state))) {}
template <typename Answers>
Pending<Answers>::Pending(Pending&&) noexcept = default;
template <typename Answers>
Pending<Answers>& Pending<Answers>::operator=(Pending&&) noexcept = default;
template <typename Answers>
Pending<Answers>::~Pending() = default;

template <typename Answers>
Answers Pending<Answers>::get() {
  if (!state_) fail(ErrorKind::usage, "the answers were taken before");
  const std::unique_ptr<State> state = std::move(state_);
  std::vector<infer::Answer> answers = state->answers.get();
  if constexpr (std::is_same_v<Answers, Predictions>) {
    return state->model->predictions(answers);
  } else {
    return Model::State::embeddings(std::move(answers));
  }
}

template <typename Answers>
bool Pending<Answers>::ready() const {
  return !state_ || state_->answers.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

template class Pending<Predictions>;
template class Pending<Embeddings>;

Model::Model(std::shared_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&& other) noexcept {
  if (this == &other) return *this;
  if (state_) state_->queue.stop();
  state_ = std::move(other.state_);
  return *this;
}
Model::~Model() {
  if (state_) state_->queue.stop();
}

Model Model::load(const std::string& model, const ModelOptions& options) {
  return Model(std::make_shared<State>(model, options));
}

Predictions Model::predict(const std::vector<Text>& texts) const {
  state_->require(models::Output::logits, data::SampleKind::text);
  return state_->predictions(state_->queue.ask(inputs_of(texts)).get());
}

Embeddings Model::embed(const std::vector<Text>& texts) const {
  state_->require(models::Output::embedding, data::SampleKind::text);
  return State::embeddings(state_->queue.ask(inputs_of(texts)).get());
}

Predictions Model::predict_images(const std::vector<Image>& images) const {
  state_->require(models::Output::logits, data::SampleKind::image);
  return state_->predictions(state_->answers_to(images));
}

Embeddings Model::embed_images(const std::vector<Image>& images) const {
  state_->require(models::Output::embedding, data::SampleKind::image);
  return State::embeddings(state_->answers_to(images));
}

Pending<Predictions> Model::start_predict(std::vector<Text> texts) const {
  state_->require(models::Output::logits, data::SampleKind::text);
  return Pending<Predictions>({state_, state_->ask(std::move(texts))});
}

Pending<Embeddings> Model::start_embed(std::vector<Text> texts) const {
  state_->require(models::Output::embedding, data::SampleKind::text);
  return Pending<Embeddings>({state_, state_->ask(std::move(texts))});
}

Tokens Model::tokenize(const Text& text) const {
  return api::tokens_of(state_->session().text_processor().tokenizer(), text, true);
}

const std::vector<std::string>& Model::labels() const { return state_->config().labels; }

std::vector<TimeSpent> Model::times() const {
  std::vector<TimeSpent> times;
  state_->queue.while_idle([&](const infer::RequestQueue::Times& spent) {
    times = {{"load", 1, state_->load_seconds, 0}, {"tokenise", spent.requests, spent.encode, 0}};
    double rest = spent.busy - spent.encode;
    for (const OpTime& op : state_->op_times.list()) {
      times.push_back({std::string(op.name), op.calls, op.seconds, op.flops / op.seconds / 1e9});
      rest -= op.seconds;
    }
    times.push_back({"rest", spent.requests, rest, 0});
  });
  return times;
}

}  // namespace hone
