#include "infer/session.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "device/memory.h"
#include "infer/memory_budget.h"
#include "io/folder.h"
#include "models/stored_weights.h"

namespace hone::infer {
namespace {

// A forward pass takes sequences until it has this many tokens: enough to read each weight once
// for many rows, few enough that the activations of a layer stay in the cache.
constexpr int64_t kBatchTokens = 1024;
// Enough for a GPU's products to be at their best.
constexpr int64_t kGpuBatchTokens = 16384;
// Under a budget: of the texts that are tokenised together.
constexpr size_t kBudgetTextBytes = 1 << 16;

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
      batch_(folder_.config),
      batch_tokens_(kBatchTokens) {
  if (options.kept) folder_.config.quantization.kept = *options.kept;
  const bool streams = options.memory_budget > 0;
  if (streams) open_weights(options);  // they come while the tokenizer is made
  tokenizer_ = text::Tokenizer::load(folder_.path, folder_.config.model_type);
  max_length_ = length_limit(options, folder_, *tokenizer_);
  check_vocabulary(folder_, *tokenizer_);
  if (!streams) open_weights(options);
  open_exits(options);
  if (streamed_) {
    fit_to(options);
  } else {
    open_execution();
  }
}

bool Session::wants_gpu(const SessionOptions& options) const {
  if (options.device == "cpu") return false;
  const DType dtype =
      options.dtype.value_or(folder_.config.quantization.stored ? DType::i8 : DType::f32);
  const char* own = options.memory_budget > 0 ? "--memory-budget"
                    : dtype == DType::i8      ? "int8"
                    : file_exists(folder_.path + "/" + models::kPackedName)
                        ? "weights packed for streaming"
                        : nullptr;
  if (!own) return select_device(options.device);
  if (options.device != "auto" && select_device(options.device)) {
    fail(ErrorKind::unsupported, "--device: {}: {} run on the CPU alone", quote(options.device),
         own);
  }
  return false;
}

void Session::open_weights(const SessionOptions& options) {
  gpu_ = wants_gpu(options);
  if (gpu_) tuning_.emplace(options.tuning);
  const bool head = options.output == models::Output::logits;
  models::StoredWeights stored = models::open_stored(folder_);
  const DType dtype = stored.dtype(folder_.config, options.dtype);
  if (dtype == DType::f16 && !gpu_) {
    fail(ErrorKind::unsupported, "--dtype: 'fp16' is not there on the CPU; use fp32, bf16 or int8");
  }
  encoder_ = std::make_unique<models::Encoder>(folder_.config, dtype,
                                               gpu_ ? Isa::gpu : chosen_isa(), head);
  if (head && !stored.has_head(encoder_->family())) {
    fail(ErrorKind::bad_file,
         "{}: has no classification head ({}.weight); it can embed, not predict", stored.path(),
         encoder_->family().names.head_out);
  }
  if (stored.packed) stored.packed->check(*encoder_);
  forward_ = encoder_->record(output_of(options, folder_));
  if (options.memory_budget > 0) {
    give_freed_memory_back();
    auto source = stored.packed ? packed_source(std::move(stored.packed))
                                : checkpoint_source(*encoder_, std::move(stored.checkpoint),
                                                    std::move(stored.adapter), report_);
    streamed_ = std::make_unique<StreamedWeights>(*encoder_, std::move(source), pool_);
    return;
  }
  if (stored.packed) {
    models::load_packed(*encoder_, *stored.packed, pool_);
  } else {
    report_ = models::load_weights(*encoder_, *stored.checkpoint, pool_,
                                   {.adapter = stored.adapter.get()});
  }
}

/// Behind open_exits(): on a GPU exits read all that a whole pass does, and more.
void Session::open_execution() {
  execution_ =
      std::make_unique<Execution>(forward_.plan, encoder_->weights_for(forward_.shadows), pool_);
  if (!gpu_) return;
  encoder_->parameters().refresh(pool_);
  batch_tokens_ = kGpuBatchTokens;
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
  exits_ = streamed_ ? std::make_unique<ExitPass>(*encoder_, settings, *streamed_, pool_)
                     : std::make_unique<ExitPass>(*encoder_, settings, pool_);
}

void Session::fit_to(const SessionOptions& options) {
  if (!exits_) {
    layered_ = std::make_unique<Layered>(*encoder_, output_of(options, folder_), *streamed_, pool_);
  }
  batch_tokens_ =
      fit_budget(*streamed_, layered(), options.memory_budget, max_length_, kBatchTokens);
}

const float* Session::forward(const models::Batch& batch) {
  if (streamed_) {
    const auto width = static_cast<size_t>(forward_.output.width);
    rows_.resize(static_cast<size_t>(batch.sequences()) * width);
    Layered::Hooks hooks;
    hooks.finish = [&](int64_t sequence, std::span<const float> row) {
      std::copy(row.begin(), row.end(), rows_.begin() + sequence * static_cast<int64_t>(width));
    };
    layered().run(batch, hooks);
    return rows_.data();
  }
  execution_->resize(batch.extents());
  batch.bind(forward_.inputs, *execution_);
  execution_->run();
  return execution_->output<float>(forward_.output);
}

std::vector<Answer> Session::run(std::span<const Input> inputs) {
  if (deadline_ <= 0) return streamed_ ? run_in_lots(inputs) : run_together(inputs, 0);
  std::vector<Answer> answers;
  for (const Input& input : inputs) {
    const Stopwatch watch;
    answers.push_back(std::move(run_together({&input, 1}, deadline_).front()));
    answers.back().seconds = watch.seconds();
  }
  return answers;
}

std::vector<Answer> Session::run_in_lots(std::span<const Input> inputs) {
  std::vector<Answer> answers;
  while (!inputs.empty()) {
    size_t count = 0;
    for (size_t bytes = 0; count < inputs.size() && count < kBudgetSequences; ++count) {
      bytes += inputs[count].text.size() + (inputs[count].pair ? inputs[count].pair->size() : 0);
      if (count > 0 && bytes > kBudgetTextBytes) break;
    }
    std::vector<Answer> some = run_together(inputs.first(count), 0);
    std::move(some.begin(), some.end(), std::back_inserter(answers));
    inputs = inputs.subspan(count);
  }
  return answers;
}

std::vector<Answer> Session::run_together(std::span<const Input> inputs, double deadline) {
  text::EncodeOptions encode;
  encode.truncation = tokenizer_->truncation().value_or(text::Truncation{});
  encode.truncation->max_length = static_cast<size_t>(max_length_);
  const Stopwatch watch;
  tokenizer_->encode_batch(inputs, encode, pool_, encodings_);
  tokenize_seconds_ += watch.seconds();

  std::vector<Answer> answers(inputs.size());
  for (size_t first = 0; first < inputs.size();) {
    batch_.clear();
    size_t end = first;
    for (; end < inputs.size(); ++end) {
      const text::Encoding& encoding = encodings_[end];
      const auto length = static_cast<int64_t>(encoding.ids.size());
      if (end > first && batch_.tokens() + length > batch_tokens_) break;
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
