#include "model.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "api/images.h"
#include "base/error.h"
#include "infer/classify.h"
#include "infer/model_options.h"

namespace hone::python {
namespace {

// A thread that waits for answers looks so often whether Ctrl-C was pressed.
constexpr std::chrono::milliseconds kSignalCheck(50);
// So many images are asked for together: enough for all threads, and little memory beside them.
constexpr size_t kImagesAtOnce = 64;
constexpr size_t kBytesAtOnce = 64 << 20;

/// What a job reads and writes. The job holds it, because a call that is interrupted leaves before
/// the job has ended.
struct Asked {
  Texts texts;
  std::shared_ptr<float[]> rows;
  std::atomic<bool> abandoned = false;
};

/// Asks and waits without the interpreter's lock. Ctrl-C abandons the job and is thrown.
std::vector<infer::Answer> answers_to(infer::RequestQueue& queue,
                                      const std::shared_ptr<Asked>& asked, infer::Job job) {
  const Texts& given = asked->texts;
  for (size_t i = 0; i < given.texts.size(); ++i) {
    infer::Input input{given.texts[i], std::nullopt};
    if (!given.pairs.empty() && given.pairs[i]) input.pair = *given.pairs[i];
    job.inputs.push_back(input);
  }
  job.rows = asked->rows.get();
  job.texts = asked;
  job.abandoned = [asked] { return asked->abandoned.load(); };
  const nb::gil_scoped_release others_run;
  std::future<std::vector<infer::Answer>> answers = queue.submit(std::move(job));
  while (answers.wait_for(kSignalCheck) != std::future_status::ready) {
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) continue;
    asked->abandoned = true;
    throw nb::python_error();
  }
  try {
    return answers.get();
  } catch (const infer::JobUnserved& error) {
    fail(ErrorKind::failed, "the model's device failed: {}", error.what());
  }
}

nb::tuple prediction_of(const models::ModelConfig& config, const infer::Answer& answer) {
  const infer::Prediction found = infer::classify(config, answer.values);
  nb::dict scores;
  for (size_t i = 0; i < found.scores.size(); ++i) {
    scores[config.labels[i].c_str()] = found.scores[i];
  }
  nb::list chosen;
  for (const int64_t id : found.chosen) chosen.append(config.labels[static_cast<size_t>(id)]);
  return nb::make_tuple(found.label, found.score, scores, answer.values, chosen, answer.tokens,
                        answer.truncated(), answer.layers, answer.width, answer.height);
}

}  // namespace

Model::Model(const std::string& folder, const ModelOptions& options) : process_(::getpid()) {
  const nb::gil_scoped_release others_run;
  settings_ = infer::session_options(folder, options);
  queue_ = std::make_shared<infer::RequestQueue>(folder, settings_, nullptr);
}

Model::~Model() {
  if (process_ != ::getpid()) {
    // The threads that would have to end are not in this process, so everything is left as it is.
    new std::shared_ptr<infer::RequestQueue>(std::move(queue_));
    return;
  }
  close();
}

void Model::close() {
  if (!queue_ || process_ != ::getpid()) return;
  const std::shared_ptr<infer::RequestQueue> closed = std::exchange(queue_, nullptr);
  const nb::gil_scoped_release others_run;
  closed->stop();
}

std::shared_ptr<infer::RequestQueue> Model::queue() const {
  if (process_ != ::getpid()) {
    fail(ErrorKind::usage, "model: was loaded before this process was forked; load it in here");
  }
  if (!queue_) fail(ErrorKind::usage, "model: was closed");
  return queue_;
}

std::shared_ptr<infer::RequestQueue> Model::queue_for(models::Output output,
                                                      data::SampleKind samples) const {
  std::shared_ptr<infer::RequestQueue> found = queue();
  const bool images = samples == data::SampleKind::image;
  if (images != found->session().reads_images()) {
    fail(ErrorKind::usage, "{}: is a model of {}", found->session().folder().path,
         images ? "texts; ask it by predict() or embed()"
                : "images; ask it by predict_images() or embed_images()");
  }
  if (output == settings_.output) return found;
  fail(ErrorKind::usage, "{}: was loaded to {}", found->session().folder().path,
       predicts() ? "predict; to embed, load it with use='embed'"
                  : "embed; to predict, load it with use='predict'");
}

nb::list Model::predict(Texts texts, bool truncate) const {
  const auto queue = queue_for(models::Output::logits, data::SampleKind::text);
  const auto asked = std::make_shared<Asked>();
  asked->texts = std::move(texts);
  const auto answers = answers_to(*queue, asked, {.inputs = {}, .truncate = truncate});
  nb::list predictions;
  for (const infer::Answer& answer : answers) {
    predictions.append(prediction_of(queue->session().config(), answer));
  }
  return predictions;
}

Model::Matrix Model::embed(Texts texts, bool truncate) const {
  const auto queue = queue_for(models::Output::embedding, data::SampleKind::text);
  const size_t count = texts.texts.size();
  const auto columns = static_cast<size_t>(queue->session().output_width());
  const auto asked = std::make_shared<Asked>();
  asked->texts = std::move(texts);
  asked->rows = std::make_shared_for_overwrite<float[]>(count * columns);
  answers_to(*queue, asked, {.inputs = {}, .truncate = truncate});
  const auto* held = new std::shared_ptr<float[]>(asked->rows);
  const nb::capsule owner(
      held, [](void* rows) noexcept { delete static_cast<std::shared_ptr<float[]>*>(rows); });
  return {asked->rows.get(), {count, columns}, owner};
}

nb::list Model::embed_tokens(Texts texts, bool truncate) const {
  const auto queue = queue_for(models::Output::embedding, data::SampleKind::text);
  const auto asked = std::make_shared<Asked>();
  asked->texts = std::move(texts);
  auto answers =
      answers_to(*queue, asked, {.inputs = {}, .truncate = truncate, .token_vectors = true});
  nb::list arrays;
  for (infer::Answer& answer : answers) {
    const auto rows = static_cast<size_t>(answer.tokens);
    auto* values = new std::vector<float>(std::move(answer.values));
    const nb::capsule owner(
        values, [](void* held) noexcept { delete static_cast<std::vector<float>*>(held); });
    arrays.append(Matrix(values->data(), {rows, values->size() / rows}, owner));
  }
  return arrays;
}

std::vector<infer::Answer> Model::answers_to_images(infer::RequestQueue& queue,
                                                    const std::vector<Image>& images) const {
  std::vector<infer::Answer> answers;
  while (answers.size() < images.size()) {
    const auto asked = std::make_shared<Asked>();
    std::vector<std::string>& samples = asked->texts.texts;
    size_t bytes = 0;
    for (size_t i = answers.size();
         i < images.size() && samples.size() < kImagesAtOnce && bytes < kBytesAtOnce; ++i) {
      samples.push_back(api::sample_of(images[i], settings_.image_limits));
      bytes += samples.back().size();
    }
    for (infer::Answer& answer : answers_to(queue, asked, {})) answers.push_back(std::move(answer));
  }
  return answers;
}

nb::list Model::predict_images(const std::vector<Image>& images) const {
  const auto queue = queue_for(models::Output::logits, data::SampleKind::image);
  nb::list predictions;
  for (const infer::Answer& answer : answers_to_images(*queue, images)) {
    predictions.append(prediction_of(queue->session().config(), answer));
  }
  return predictions;
}

Model::Matrix Model::embed_images(const std::vector<Image>& images) const {
  const auto queue = queue_for(models::Output::embedding, data::SampleKind::image);
  const std::vector<infer::Answer> answers = answers_to_images(*queue, images);
  const auto columns = static_cast<size_t>(queue->session().output_width());
  auto* const rows = new float[answers.size() * columns];
  const nb::capsule owner(rows, [](void* held) noexcept { delete[] static_cast<float*>(held); });
  for (size_t i = 0; i < answers.size(); ++i) {
    std::ranges::copy(answers[i].values, rows + i * columns);
  }
  return {rows, {answers.size(), columns}, owner};
}

nb::tuple Model::tokenize(const std::string& text, const std::optional<std::string>& pair) const {
  const auto queue = this->queue();
  const text::Tokenizer& tokenizer = queue->session().text_processor().tokenizer();
  const text::Encoding encoding = tokenizer.encode({text, pair});
  nb::list tokens;
  nb::list offsets;
  for (size_t i = 0; i < encoding.size(); ++i) {
    tokens.append(tokenizer.token(encoding, i));
    offsets.append(nb::make_tuple(encoding.offsets[i].begin, encoding.offsets[i].end));
  }
  return nb::make_tuple(encoding.ids, tokens, offsets, encoding.type_ids);
}

std::vector<std::string> Model::labels() const { return queue()->session().config().labels; }
std::string Model::folder() const { return queue()->session().folder().path; }
int64_t Model::max_length() const { return queue()->session().max_units(); }
int64_t Model::width() const { return queue()->session().output_width(); }

}  // namespace hone::python
