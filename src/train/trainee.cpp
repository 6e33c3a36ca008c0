#include "train/trainee.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/reviews.h"
#include "data/token_store.h"
#include "device/cpu_info.h"
#include "io/folder.h"
#include "io/weights.h"
#include "models/freeze.h"
#include "models/init.h"
#include "models/save.h"
#include "models/stored_weights.h"

namespace hone::train {
namespace {

constexpr uint64_t kMostConfigBytes = 16 << 20;
constexpr const char* kBuiltIn = "built-in";

/// Of the small model: enough for the reviews' grammar (97.7% after 4 epochs at 3e-4; rates
/// from 7e-4 on fail for some seeds), trained from nothing in about 20 seconds.
Json built_in_config(int64_t vocabulary) {
  return {{"model_type", "bert"},       {"architectures", {"BertForSequenceClassification"}},
          {"vocab_size", vocabulary},   {"hidden_size", 128},
          {"num_hidden_layers", 2},     {"num_attention_heads", 4},
          {"intermediate_size", 256},   {"max_position_embeddings", 128},
          {"type_vocab_size", 2},       {"hidden_act", "gelu"},
          {"hidden_dropout_prob", 0.1}, {"attention_probs_dropout_prob", 0.1},
          {"layer_norm_eps", 1e-12},    {"initializer_range", 0.02},
          {"pad_token_id", 0}};
}

struct NamedText {
  const char* name;
  std::string text;
};

/// Of the built-in tokenizer, in the order of text::kTokenizerFiles.
std::vector<NamedText> built_in_tokenizer(int64_t positions) {
  const Json config = {{"tokenizer_class", "BertTokenizer"},
                       {"do_lower_case", true},
                       {"model_max_length", positions}};
  return {{"tokenizer.json", data::reviews_tokenizer_json()},
          {"tokenizer_config.json", config.dump(2) + "\n"}};
}

}  // namespace

Trainee::Trainee(const Options& options, const Corpus& corpus) {
  if (!options.model.model.empty()) {
    open_folder(options);
  } else if (!options.model.config.empty()) {
    open_config(options);
  } else {
    open_built_in();
  }
  adopt_labels(corpus, folder_.config);
  if (options.model.exits) folder_.config.exits.method = *options.model.exits;
  check_exits();
  const int64_t positions = folder_.config.max_tokens();
  max_length_ = std::min(options.model.max_length, positions);
  if (tokenizer_->id_end() > folder_.config.vocab_size) {
    fail(ErrorKind::bad_file, "{}: the tokenizer has ids up to {}, the model {} embeddings",
         origin_, tokenizer_->id_end() - 1, folder_.config.vocab_size);
  }
  std::optional<nn::LoraOptions> lora = options.model.lora;
  if (!folder_.adapter.empty()) lora = models::open_adapter(folder_)->options();
  if (lora && !weights_from_) {
    fail(ErrorKind::usage, "--lora_rank: adapters need the weights of a --model to stand beside");
  }
  encoder_ = std::make_unique<models::Encoder>(
      folder_.config, DType::f32, options.gpu ? Isa::gpu : chosen_isa(), true, std::move(lora));
  std::vector<bool> added;
  if (weights_from_) {
    const auto adapter = models::open_adapter(folder_);
    const auto weights = models::open_checkpoint(*weights_from_);
    models::LoadReport report = models::preview_load(
        *encoder_, *weights, {.head_seed = options.seed, .adapter = adapter.get()});
    has_new_head_ = !report.fresh.empty();
    added = std::move(report.added);
  }
  trainable_ = models::trainable_slots(*encoder_, options.model.freeze, added);
  if (folder_.config.exits.method == models::ExitMethod::deebert) {
    // The second stage: the model stays as it is, its exits learn.
    for (const nn::Parameter& parameter : encoder_->parameters().list()) {
      trainable_[static_cast<size_t>(parameter.weight.slot)] =
          models::is_exit_weight(parameter.tensors.front());
    }
  }
}

void Trainee::check_exits() const {
  const models::EncoderConfig& config = folder_.config;
  if (config.exits.method == models::ExitMethod::none) return;
  if (config.depth() < 2) {
    fail(ErrorKind::usage, "--early_exit: {} has one layer; there is nothing to leave before",
         origin_);
  }
  if (config.exits.method == models::ExitMethod::deebert &&
      config.problem != models::ProblemType::single_label) {
    fail(ErrorKind::unsupported,
         "--early_exit: deebert measures the entropy of one label's distribution; use pabee");
  }
}

void Trainee::open_folder(const Options& options) {
  folder_ = models::open_model_folder(io::resolve_model(options.model.model));
  origin_ = folder_.path;
  weights_from_ = std::filesystem::absolute(folder_.path).string();  // adapters name it
  open_tokenizer(options.model.tokenizer.empty() ? folder_.path : options.model.tokenizer,
                 folder_.config.model_type);
}

void Trainee::open_config(const Options& options) {
  std::string file = options.model.config;
  if (folder_exists(file)) file += "/config.json";
  folder_.config_json = parse_json(read_file(file, kMostConfigBytes), file);
  folder_.config = models::read_config(folder_.config_json, file);
  origin_ = file;
  if (options.model.tokenizer.empty()) {
    fail(ErrorKind::usage, "--tokenizer_name: missing; a model from {} needs one", file);
  }
  open_tokenizer(options.model.tokenizer, folder_.config.model_type);
}

void Trainee::open_built_in() {
  tokenizer_ = text::Tokenizer::parse(data::reviews_tokenizer_json(), kBuiltIn);
  origin_ = kBuiltIn;
  folder_.config_json = built_in_config(tokenizer_->id_end());
  folder_.config = models::read_config(folder_.config_json, kBuiltIn);
  data::ContentHash hash;  // that of a folder with these files, see hash_tokenizer
  for (const NamedText& file : built_in_tokenizer(folder_.config.positions)) {
    hash.text(file.name);
    hash.text(file.text);
  }
  tokenizer_hash_ = hash.value();
}

void Trainee::open_tokenizer(const std::string& folder, const std::string& family) {
  tokenizer_from_ = folder;
  tokenizer_ = text::Tokenizer::load(folder, family);
  tokenizer_hash_ = data::hash_tokenizer(folder);
}

Trainee::Report Trainee::load(uint64_t seed, ThreadPool& pool) {
  const JsonFields fields(folder_.config_json, origin_);
  const auto std = static_cast<float>(fields.number("initializer_range", 0.02));
  if (!weights_from_) {
    models::init_random(*encoder_, seed, std, pool);
    return {};
  }
  const auto adapter = models::open_adapter(folder_);
  models::LoadReport report = fill(adapter.get(), seed, pool);
  return {std::move(report.fresh), std::move(report.unexpected)};
}

models::LoadReport Trainee::fill(const models::Adapter* adapter, std::optional<uint64_t> seed,
                                 ThreadPool& pool) {
  const auto weights = models::open_checkpoint(*weights_from_);
  return models::load_weights(*encoder_, *weights, pool, {.head_seed = seed, .adapter = adapter});
}

void Trainee::restore(const std::string& folder, ThreadPool& pool) {
  encoder_->parameters().refresh_host();  // of which some may stay
  if (encoder_->lora()) {
    const models::Adapter adapter(folder);
    fill(&adapter, {}, pool);
  } else {
    models::load_weights(*encoder_, *io::Weights::open(folder), pool);
  }
}

void Trainee::save(const std::string& folder) const {
  encoder_->parameters().refresh_host();
  models::save_config(folder_.config_json, *encoder_, folder);
  if (encoder_->lora()) {
    models::save_adapter(*encoder_, trainable_, *weights_from_, folder);
  } else {
    models::save_weights(*encoder_, folder);
  }
  save_tokenizer(folder);
}

void Trainee::save_tokenizer(const std::string& folder) const {
  if (tokenizer_from_.empty()) {
    for (const NamedText& file : built_in_tokenizer(folder_.config.positions)) {
      write_file(folder + "/" + file.name, file.text);
    }
    return;
  }
  if (file_exists(tokenizer_from_)) {
    write_file(folder + "/tokenizer.json", read_file(tokenizer_from_));
    return;
  }
  for (const char* name : text::kTokenizerFiles) {
    const std::string from = tokenizer_from_ + "/" + name;
    if (file_exists(from)) write_file(folder + "/" + name, read_file(from));
  }
}

}  // namespace hone::train
