#include "infer/session.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu_info.h"
#include "io/folder.h"
#include "io/weights.h"

namespace hone::infer {
namespace {

// A forward pass takes sequences until it has this many tokens: enough to read each weight once
// for many rows, few enough that the activations of a layer stay in the cache.
constexpr int64_t kBatchTokens = 1024;

int threads_of(const SessionOptions& options) {
  return options.threads > 0 ? options.threads : usable_cores();
}

/// The first of: asked for, sentence-transformers', the tokenizer file's truncation,
/// model_max_length, the positions; never more than the positions.
int64_t length_limit(const SessionOptions& options, const models::ModelFolder& folder,
                     const text::Tokenizer& tokenizer) {
  const int64_t positions = folder.config.max_tokens();
  if (options.max_length > positions) {
    fail(ErrorKind::usage, "--max_seq_length: {} is more than the model's {} positions",
         options.max_length, positions);
  }
  if (options.max_length > 0) return options.max_length;
  if (folder.sentence_length) return std::min(*folder.sentence_length, positions);
  if (tokenizer.truncation()) {
    return std::min(static_cast<int64_t>(tokenizer.truncation()->max_length), positions);
  }
  if (tokenizer.model_max_length()) return std::min(*tokenizer.model_max_length(), positions);
  return positions;
}

models::OutputOptions output_of(const SessionOptions& options, const models::ModelFolder& folder) {
  const models::SentencePooling said = folder.sentence.value_or(models::SentencePooling{});
  return {.output = options.output,
          .pooling = options.pooling.value_or(said.pooling),
          .normalize = options.normalize.value_or(said.normalize)};
}

void check_vocabulary(const models::ModelFolder& folder, const text::Tokenizer& tokenizer) {
  if (tokenizer.id_end() <= folder.config.vocab_size) return;
  fail(ErrorKind::bad_file, "{}: the tokenizer has ids up to {}, the model {} embeddings",
       folder.path, tokenizer.id_end() - 1, folder.config.vocab_size);
}

}  // namespace

Session::Session(const std::string& model, const SessionOptions& options)
    : truncate_(options.truncate),
      pool_(threads_of(options)),
      folder_(models::open_model_folder(io::resolve_model(model))),
      tokenizer_(text::Tokenizer::load(folder_.path, folder_.config.model_type)),
      max_length_(length_limit(options, folder_, tokenizer_)),
      batch_(folder_.config) {
  check_vocabulary(folder_, tokenizer_);
  const auto weights = io::Weights::open(folder_.path);
  const bool head = options.output == models::Output::logits;
  if (options.kept) folder_.config.quantization.kept = *options.kept;
  const DType stored = folder_.config.quantization.stored ? DType::i8 : DType::f32;
  encoder_ = std::make_unique<models::Encoder>(folder_.config, options.dtype.value_or(stored),
                                               chosen_isa(), head);
  const auto adapter = models::open_adapter(folder_);
  if (head && !models::has_head_weights(encoder_->family(), *weights, adapter.get())) {
    fail(ErrorKind::bad_file,
         "{}: has no classification head ({}.weight); it can embed, not predict", weights->path(),
         encoder_->family().names.head_out);
  }
  report_ = models::load_weights(*encoder_, *weights, pool_, {.adapter = adapter.get()});
  forward_ = encoder_->record(output_of(options, folder_));
  execution_ = std::make_unique<Execution>(forward_.plan, encoder_->parameters().pointers(), pool_);
  open_exits(options);
}

void Session::open_exits(const SessionOptions& options) {
  models::ExitSettings settings = folder_.config.exits;
  const bool has = settings.method != models::ExitMethod::none && encoder_->has_head();
  if (!has && options.exits && (options.patience || options.entropy || options.deadline > 0)) {
    fail(ErrorKind::usage,
         "{}: has no early exits; --patience, --entropy and --deadline-ms need them", folder_.path);
  }
  if (!has || !options.exits) return;
  if (options.patience) settings.patience = *options.patience;
  if (options.entropy) settings.entropy = *options.entropy;
  deadline_ = options.deadline;
  exits_ = std::make_unique<ExitPass>(*encoder_, settings, pool_);
}

const float* Session::forward(const models::Batch& batch) {
  execution_->resize(batch.extents());
  batch.bind(forward_.inputs, *execution_);
  execution_->run();
  return execution_->output<float>(forward_.output);
}

std::vector<Answer> Session::run(std::span<const Input> inputs) {
  if (deadline_ <= 0) return run_together(inputs, 0);
  std::vector<Answer> answers;
  for (const Input& input : inputs) {
    const Stopwatch watch;
    answers.push_back(std::move(run_together({&input, 1}, deadline_).front()));
    answers.back().seconds = watch.seconds();
  }
  return answers;
}

std::vector<Answer> Session::run_together(std::span<const Input> inputs, double deadline) {
  text::EncodeOptions encode;
  encode.truncation = tokenizer_.truncation().value_or(text::Truncation{});
  encode.truncation->max_length = static_cast<size_t>(max_length_);
  const Stopwatch watch;
  tokenizer_.encode_batch(inputs, encode, pool_, encodings_);
  tokenize_seconds_ += watch.seconds();

  std::vector<Answer> answers(inputs.size());
  for (size_t first = 0; first < inputs.size();) {
    batch_.clear();
    size_t end = first;
    for (; end < inputs.size(); ++end) {
      const text::Encoding& encoding = encodings_[end];
      const auto length = static_cast<int64_t>(encoding.ids.size());
      if (end > first && batch_.tokens() + length > kBatchTokens) break;
      answers[end].tokens = length;
      answers[end].full_tokens = static_cast<int64_t>(encoding.untruncated);
      if (answers[end].truncated() && !truncate_) {
        fail(ErrorKind::usage, "an input of {} tokens is longer than the limit of {}: {}",
             answers[end].full_tokens, max_length_, quote(inputs[end].text, 40));
      }
      batch_.add(encoding.ids, encoding.type_ids);
    }
    const double left = deadline > 0 ? std::max(1e-9, deadline - watch.seconds()) : 0;
    answer_batch(std::span(answers).subspan(first, end - first), left);
    first = end;
  }
  return answers;
}

void Session::answer_batch(std::span<Answer> answers, double deadline) {
  if (exits_) {
    std::vector<ExitAnswer> rows = exits_->run(batch_, deadline);
    for (size_t i = 0; i < answers.size(); ++i) {
      answers[i].values = std::move(rows[i].logits);
      answers[i].layers = rows[i].layers;
    }
    return;
  }
  const auto width = static_cast<size_t>(forward_.output.width);
  const float* rows = forward(batch_);
  for (Answer& answer : answers) {
    answer.values.assign(rows, rows + width);
    rows += width;
  }
}

}  // namespace hone::infer
