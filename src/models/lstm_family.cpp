#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "data/entry_records.h"
#include "data/text_processor.h"
#include "models/lstm.h"
#include "models/new_model.h"
#include "text/words.h"

namespace hone::models {
namespace {

constexpr const char* kType = "lstm";
constexpr std::array kLasts = {"text", "padded_row"};

std::unique_ptr<LstmConfig> read_lstm(const JsonFields& fields) {
  auto config = std::make_unique<LstmConfig>();
  config->model_type = kType;
  const auto integer = [&](const char* field, int64_t least, int64_t most, int64_t& value) {
    value = fields.integer(field, least, most, value);
  };
  integer("vocab_size", text::kFirstWord, kMaxVocabulary, config->vocab_size);
  integer("max_length", 1, kMaxPositions, config->max_length);
  integer("embedding_size", 1, kMaxWidth, config->embedding_size);
  integer("hidden_size", 1, kMaxWidth / 4, config->hidden_size);
  integer("num_layers", 1, kMaxLayers, config->layers);
  integer("pad_token_id", text::kPadWord, text::kPadWord, config->pad_id);
  config->dropout = read_dropout(fields, "dropout", config->dropout);
  const std::string last = fields.string("last", std::string(kLasts[0]));
  if (last != kLasts[0] && last != kLasts[1]) {
    fields.fail_field("last", "expected text or padded_row");
  }
  config->padded_rows = last == kLasts[1];
  return config;
}

/// Writes the fields that read_lstm() reads.
Json written(const LstmConfig& config) {
  return {{"model_type", kType},
          {"vocab_size", config.vocab_size},
          {"max_length", config.max_length},
          {"embedding_size", config.embedding_size},
          {"hidden_size", config.hidden_size},
          {"num_layers", config.layers},
          {"dropout", config.dropout},
          {"last", kLasts[config.padded_rows]},
          {"pad_token_id", config.pad_id}};
}

int64_t length_limit(const LstmConfig& config, const ProcessorOptions& options) {
  if (options.max_units > config.max_length && !options.clamps) {
    fail(ErrorKind::usage, "max_length: {} is more than the model's {} words", options.max_units,
         config.max_length);
  }
  return options.max_units > 0 ? std::min(options.max_units, config.max_length) : config.max_length;
}

std::unique_ptr<data::Processor> open_words(const LstmConfig& config,
                                            const ProcessorOptions& options) {
  return std::make_unique<data::TextProcessor>(
      text::Tokenizer::load(options.path, kType), data::TextProcessor::Origin{options.path},
      config.limits(), length_limit(config, options), options.model);
}

/// Gives a vocabulary.txt of the commonest words of the texts.
std::string vocabulary_of(const NewModelOptions& options, int64_t words) {
  if (!options.open) {
    fail(ErrorKind::usage,
         "model.tokenizer: missing; without a training set there are no words to take");
  }
  const std::unique_ptr<data::RecordStream> records = options.open();
  std::string vocabulary;
  const auto append = [&](const std::vector<std::string>& list) {
    for (const std::string& word : list) (vocabulary += word) += '\n';
  };
  // The ids of a store stand for the words that it has.
  if (const auto* entries = dynamic_cast<const data::EntryRecords*>(records.get())) {
    append(entries->store().vocabulary());
    return vocabulary;
  }
  text::WordCounter counter;
  for (data::Record record; records->next(record);) {
    counter.add(record.text);
    if (record.pair) counter.add(*record.pair);
  }
  append(counter.commonest(static_cast<size_t>(words)));
  return vocabulary;
}

/// Gives the text of a vocabulary that is there already.
std::string read_vocabulary(const std::string& path) {
  return read_file(folder_exists(path) ? path + "/" + text::kVocabularyFile : path);
}

NewModel make_new_lstm(const Json& fields, const std::string& file,
                       const NewModelOptions& options) {
  NewModel model;
  const std::unique_ptr<ModelConfig> read = read_model_config(fields, file);
  auto& config = dynamic_cast<LstmConfig&>(*read);
  data::TextProcessor::Origin origin;
  const int64_t most = config.vocab_size - text::kFirstWord;
  origin.files = {{text::kVocabularyFile, options.tokenizer.empty()
                                              ? vocabulary_of(options, most)
                                              : read_vocabulary(options.tokenizer)}};
  text::Tokenizer tokenizer(
      text::build_word_tokenizer(origin.files.front().text, text::kVocabularyFile));
  config.vocab_size = std::max<int64_t>(tokenizer.id_end(), text::kFirstWord);
  ProcessorOptions limit;
  limit.max_units = options.max_units;
  limit.clamps = true;
  config.max_length = length_limit(config, limit);
  model.config_json = fields;
  model.config_json.update(written(config));
  model.processor = std::make_unique<data::TextProcessor>(std::move(tokenizer), std::move(origin),
                                                          config.limits(), config.max_length, file);
  model.config = config.clone();
  return model;
}

}  // namespace

data::TextLimits LstmConfig::limits() const {
  data::TextLimits limits{max_length, vocab_size, 0, pad_id};
  limits.reads_last = true;
  limits.pads = padded_rows;
  return limits;
}

std::string LstmConfig::summary() const {
  return fmt::format("{} {} layers {} hidden {} words, last of the {}", kType, layers, hidden_size,
                     vocab_size, padded_rows ? "padded row" : "text");
}

Family lstm_family() {
  Family family;
  family.model_type = kType;
  family.architecture = "Lstm";
  family.head_dense = "dense";
  family.head_out = "out";
  family.read_config = read_lstm;
  family.make = [](const ModelConfig& config, const MakeOptions& options) {
    return std::make_unique<LstmModel>(dynamic_cast<const LstmConfig&>(config), options);
  };
  family.open_processor = [](const ModelConfig& config, const ProcessorOptions& options) {
    return open_words(dynamic_cast<const LstmConfig&>(config), options);
  };
  family.make_new = make_new_lstm;
  return family;
}

}  // namespace hone::models
