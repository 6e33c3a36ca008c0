#include "train/trained_model.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/training_images.h"
#include "device/cpu_info.h"
#include "io/folder.h"
#include "io/weights.h"
#include "models/built_in.h"
#include "models/concept_encoder.h"
#include "models/freeze.h"
#include "models/init.h"
#include "models/parser.h"
#include "models/save.h"
#include "models/stored_weights.h"

namespace hone::train {
namespace {

constexpr uint64_t kMostConfigBytes = 16 << 20;

/// Sets fields of a config: "NAME=VALUE,...", of which numbers are numbers.
void override_fields(std::string_view overrides, Json& config) {
  while (!overrides.empty()) {
    const size_t comma = std::min(overrides.find(','), overrides.size());
    const std::string_view item = overrides.substr(0, comma);
    overrides.remove_prefix(std::min(comma + 1, overrides.size()));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fail(ErrorKind::usage, "model.overrides: expected NAME=VALUE, got {}", quote(item));
    }
    const std::string value(item.substr(equals + 1));
    Json parsed = Json::parse(value, nullptr, false);
    config[std::string(item.substr(0, equals))] =
        parsed.is_number() || parsed.is_boolean() ? std::move(parsed) : Json(value);
  }
}

}  // namespace

NewConfig new_config(const ModelOptions& options) {
  NewConfig config{{}, options.config};
  if (config.file.empty()) {
    config.file = "new " + options.type;
    config.json = models::config_of_type(options.type);
  } else {
    if (folder_exists(config.file)) config.file += "/config.json";
    config.json = parse_json(read_file(config.file, kMostConfigBytes), config.file);
  }
  override_fields(options.overrides, config.json);
  return config;
}

TrainedModel::TrainedModel(const Options& options, const Corpus& corpus) {
  if (!options.model.model.empty()) {
    open_folder(options, corpus);
  } else if (!options.model.config.empty() || !options.model.type.empty()) {
    open_config(options, corpus);
  } else {
    open_built_in(options);
  }
  check_samples(corpus);
  augmentation_ = options.data.augment.value_or(default_augmentation(corpus));
  if (augmentation_.any()) augment(options);
  adopt_labels(corpus, *folder_.config);
  if (options.model.exits) folder_.config->exits.method = *options.model.exits;
  check_exits();
  if (corpus.parses && !models::is_parser(*folder_.config)) {
    fail(ErrorKind::usage, "model: missing; a parser stands on an encoder");
  }
  if (corpus.parses && folder_.config->exits.method != models::ExitMethod::none) {
    fail(ErrorKind::unsupported, "model.exits: a parser has none");
  }
  if (options.explain.on && !models::explain_settings(*folder_.config)) {
    fail(ErrorKind::usage, "explain: missing a `model`; an encoder learns to explain itself");
  }
  std::optional<nn::LoraOptions> lora = options.model.lora;
  if (!folder_.adapter.empty()) lora = models::open_adapter(folder_)->options();
  if (lora && corpus.parses) {
    fail(ErrorKind::unsupported, "lora: a parser has no adapters, its weights are trained");
  }
  if (lora && !weights_from_) {
    fail(ErrorKind::usage, "lora: adapters need the weights of a `model` to stand beside");
  }
  model_ = models::make_model(*folder_.config, {DType::f32, Target::of(options.gpu), true,
                                                std::move(lora), false, processor_.get()});
  std::vector<bool> added;
  if (weights_from_) {
    const auto adapter = models::open_adapter(folder_);
    const auto weights = models::open_checkpoint(*weights_from_);
    models::LoadReport report = models::preview_load(
        *model_, *weights, {.head_seed = options.seed, .adapter = adapter.get()});
    has_new_head_ = !report.fresh.empty();
    added = std::move(report.added);
  }
  trainable_ = models::trainable_slots(*model_, options.model.freeze, added);
  if (folder_.config->exits.method == models::ExitMethod::deebert) {
    // The second stage leaves the model as it is and trains its exits.
    for (const nn::Parameter& parameter : model_->parameters().list()) {
      trainable_[static_cast<size_t>(parameter.weight.slot)] =
          models::is_exit_weight(parameter.tensors.front());
    }
  }
}

void TrainedModel::augment(const Options& options) {
  const auto* images = dynamic_cast<const data::ImageProcessor*>(processor_.get());
  if (!images) {
    fail(ErrorKind::usage, "data.augment: {} reads {}s, which are not augmented", origin_,
         processor_->sample_name());
  }
  training_processor_ =
      std::make_unique<data::TrainingImages>(*images, augmentation_, options.seed);
}

void TrainedModel::check_samples(const Corpus& corpus) const {
  const auto name = [](data::SampleKind kind) {
    return kind == data::SampleKind::image ? "images" : "texts";
  };
  const data::SampleKind read = models::family_of(*folder_.config).samples;
  if (corpus.samples == read) return;
  fail(ErrorKind::usage, "data.task: {} has {}, and {} reads {}", corpus.name, name(corpus.samples),
       origin_, name(read));
}

void TrainedModel::check_exits() const {
  const models::ModelConfig& config = *folder_.config;
  if (config.exits.method == models::ExitMethod::none) return;
  if (config.depth() < 2) {
    fail(ErrorKind::usage, "model.exits: {} has one layer; there is nothing to leave before",
         origin_);
  }
  if (config.exits.method != models::ExitMethod::pabee &&
      config.problem != ProblemType::single_label) {
    fail(ErrorKind::unsupported, "model.exits: {} is of models that give one label; use pabee",
         models::exit_method_name(config.exits.method));
  }
}

void TrainedModel::open_folder(const Options& options, const Corpus& corpus) {
  folder_ = models::open_model_folder(io::resolve_model(options.model.model));
  origin_ = folder_.path;
  set_kind(options, corpus);
  weights_from_ = std::filesystem::absolute(folder_.path).string();  // adapters name it
  open_processor(options.model.tokenizer.empty() ? folder_.path : options.model.tokenizer, options);
}

void TrainedModel::open_config(const Options& options, const Corpus& corpus) {
  NewConfig config = new_config(options.model);
  folder_.config_json = std::move(config.json);
  const std::string file = origin_ = std::move(config.file);
  const models::Family& family = models::find_family(JsonFields(folder_.config_json, file));
  if (family.make_new) return open_new(family, options, corpus);
  if (options.model.config.empty()) {
    fail(ErrorKind::usage, "model.type: {} needs a `model.config` and a `model.tokenizer`",
         quote(options.model.type));
  }
  folder_.config = models::read_model_config(folder_.config_json, file);
  set_kind(options, corpus);
  if (options.model.tokenizer.empty()) {
    fail(ErrorKind::usage, "model.tokenizer: missing; a model from {} needs one", file);
  }
  open_processor(options.model.tokenizer, options);
}

void TrainedModel::open_new(const models::Family& family, const Options& options,
                            const Corpus& corpus) {
  models::NewModelOptions made{options.model.tokenizer, options.model.max_length, {}};
  if (corpus.training) made.open = corpus.training->split.open;
  models::NewModel model = family.make_new(folder_.config_json, origin_, made);
  folder_.config_json = std::move(model.config_json);
  folder_.config = std::move(model.config);
  processor_ = std::move(model.processor);
}

void TrainedModel::open_built_in(const Options& options) {
  models::NewModel built_in = models::built_in_model(options.model.max_length);
  origin_ = models::kBuiltIn;
  folder_.config_json = std::move(built_in.config_json);
  folder_.config = std::move(built_in.config);
  processor_ = std::move(built_in.processor);
}

std::unique_ptr<data::Processor> TrainedModel::processor_from(const std::string& path,
                                                              const Options& options) const {
  return models::family_of(*folder_.config)
      .open_processor(*folder_.config, {.path = path,
                                        .model = origin_,
                                        .max_units = options.model.max_length,
                                        .clamps = true,
                                        .image_limits = options.data.image_limits});
}

void TrainedModel::open_processor(const std::string& path, const Options& options) {
  processor_path_ = path;
  processor_ = processor_from(path, options);
}

void TrainedModel::set_kind(const Options& options, const Corpus& corpus) {
  models::set_parser(corpus.parses, *folder_.config, folder_.config_json);
  models::set_explainer(options.explain.on ? &options.explain.settings : nullptr, *folder_.config,
                        folder_.config_json);
}

void TrainedModel::set_trees(std::shared_ptr<const data::TreeBank> trees, const Options& options) {
  training_processor_ = processor_from(processor_path_, options);
  auto& processor = dynamic_cast<data::ExplainProcessor&>(*training_processor_);
  processor.set_trees(std::move(trees));
  processor.set_masking(options.explain.mask_phrases, options.seed);
}

void TrainedModel::open_concepts(ThreadPool& pool) {
  auto* const explainer = dynamic_cast<models::Explainer*>(model_.get());
  if (explainer) {
    explainer->set_concepts(models::open_concepts(folder_.trained(), *explainer, pool));
  }
}

TrainedModel::Report TrainedModel::load(uint64_t seed, ThreadPool& pool) {
  if (!weights_from_) {
    models::init_random(*model_, seed, config().initializer_range, pool);
    return {};
  }
  const auto adapter = models::open_adapter(folder_);
  models::LoadReport report = fill(adapter.get(), seed, pool);
  return {std::move(report.fresh), std::move(report.unexpected)};
}

models::LoadReport TrainedModel::fill(const models::Adapter* adapter, std::optional<uint64_t> seed,
                                      ThreadPool& pool) {
  const auto weights = models::open_checkpoint(*weights_from_);
  return models::load_weights(*model_, *weights, pool, {.head_seed = seed, .adapter = adapter});
}

void TrainedModel::restore(const std::string& folder, ThreadPool& pool) {
  model_->parameters().refresh_host();  // some of the host's arrays may stay as they are
  if (model_->lora()) {
    const models::Adapter adapter(folder);
    fill(&adapter, {}, pool);
  } else {
    models::load_weights(*model_, *io::Weights::open(folder), pool);
  }
}

void TrainedModel::save(const std::string& folder, const std::string& checkpoint) const {
  const ModelFiles files = this->files();
  for (const data::TextFile& file : files.texts) write_file(folder + "/" + file.name, file.text);
  const std::string& weights = files.weights.name;
  if (!checkpoint.empty() && link_file(checkpoint + "/" + weights, folder + "/" + weights)) return;
  model_->parameters().refresh_host();
  models::save_arrays(files.weights, models::weights_of(*model_), folder);
}

ModelFiles TrainedModel::files() const {
  ModelFiles files;
  const auto add = [&](const char* name, const Json& json) {
    files.texts.push_back({name, indented_json(json)});
  };
  add("config.json", models::config_for_saving(folder_.config_json, *model_));
  if (model_->lora()) {
    add("adapter_config.json", models::adapter_config(*model_, trainable_, *weights_from_));
    files.weights = models::adapter_file(*model_, trainable_);
  } else {
    files.weights = models::weights_file(*model_);
  }
  for (data::TextFile& file : processor_->files()) files.texts.push_back(std::move(file));
  return files;
}

}  // namespace hone::train
