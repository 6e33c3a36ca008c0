#include "models/folder.h"

#include <array>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "io/folder.h"
#include "models/explainer.h"
#include "models/family.h"
#include "models/parser.h"

namespace hone::models {
namespace {

constexpr uint64_t kMaxConfigBytes = 16 << 20;

Json load_json(const std::string& path) {
  return parse_json(read_file(path, kMaxConfigBytes), path);
}

ops::Pooling read_pooling(const std::string& file) {
  struct Row {
    const char* field;
    std::optional<ops::Pooling> pooling;
  };
  static constexpr std::array<Row, 6> kRows = {{{"pooling_mode_cls_token", ops::Pooling::cls},
                                                {"pooling_mode_mean_tokens", ops::Pooling::mean},
                                                {"pooling_mode_max_tokens", ops::Pooling::max},
                                                {"pooling_mode_mean_sqrt_len_tokens", {}},
                                                {"pooling_mode_weightedmean_tokens", {}},
                                                {"pooling_mode_lasttoken", {}}}};
  const Json json = load_json(file);
  const JsonFields fields(json, file);
  std::optional<ops::Pooling> found;
  for (const Row& row : kRows) {
    if (!fields.boolean(row.field, false)) continue;
    if (!row.pooling) fields.fail_field(row.field, "this pooling is not supported");
    if (found) fields.fail_field(row.field, "several poolings side by side are not supported");
    found = row.pooling;
  }
  if (fields.has("pooling_mode")) {
    const std::string mode = fields.string("pooling_mode");
    if (mode == "cls") return ops::Pooling::cls;
    if (mode == "mean") return ops::Pooling::mean;
    if (mode == "max") return ops::Pooling::max;
    fields.fail_field("pooling_mode", "expected cls, mean or max");
  }
  if (!found) fail(ErrorKind::bad_file, "{}: names no pooling", file);
  return *found;
}

/// Gives a path of modules.json, which has to stay inside its folder.
std::string inside(const std::string& folder, const std::string& path, const std::string& file) {
  if (path.empty()) return folder;
  if (path.front() == '/' || path.find("..") != std::string::npos) {
    fail(ErrorKind::bad_file, "{}: path: leaves the folder, got {}", file, quote(path));
  }
  return folder + "/" + path;
}

void read_sentence_modules(const std::string& folder, ModelFolder& model) {
  const std::string file = folder + "/modules.json";
  const Json modules = load_json(file);
  if (!modules.is_array()) fail(ErrorKind::bad_file, "{}: expected a list of modules", file);
  SentencePooling sentence;
  bool pooled = false;
  for (size_t i = 0; i < modules.size(); ++i) {
    const JsonFields module(modules[i], file, std::to_string(i));
    const std::string type = module.string("type");
    const std::string path = inside(folder, module.string("path", std::string()), file);
    if (type.ends_with(".Transformer")) {
      model.path = path;
    } else if (type.ends_with(".Pooling")) {
      sentence.pooling = read_pooling(path + "/config.json");
      pooled = true;
    } else if (type.ends_with(".Normalize")) {
      sentence.normalize = true;
    } else {
      module.fail_field("type", "this module is not supported");
    }
  }
  if (pooled) model.sentence = sentence;
}

void read_sentence_length(const std::string& folder, ModelFolder& model) {
  static constexpr std::array kLengthFiles = {
      "sentence_bert_config.json", "sentence_roberta_config.json",
      "sentence_distilbert_config.json", "sentence_albert_config.json",
      "sentence_xlm-roberta_config.json"};
  for (const char* name : kLengthFiles) {
    const std::string file = folder + "/" + name;
    if (!file_exists(file)) continue;
    const Json json = load_json(file);
    const JsonFields fields(json, file);
    if (fields.has("max_seq_length")) {
      model.sentence_length = fields.integer("max_seq_length", 1, 1 << 20);
    }
    if (fields.boolean("do_lower_case", false)) {
      fields.fail_field("do_lower_case", "lower-casing outside the tokenizer is not supported");
    }
    return;
  }
}

/// Gives the only file of weights in a folder, or the file itself; empty where there is none, or
/// more than one.
std::string find_state_dict(const std::string& path) {
  if (!folder_exists(path)) return path;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (io::is_weights_name(entry.path().string())) found.push_back(entry.path().string());
  }
  return found.size() == 1 ? found.front() : "";
}

ModelFolder open_state_dict(const std::string& path) {
  ModelFolder model;
  model.path = path;
  const auto weights = io::Weights::open(path);
  for (const Family& family : families()) {
    if (!family.guess_config) continue;
    const std::optional<Json> guess = family.guess_config(family, *weights);
    if (!guess) continue;
    model.config_json = *guess;
    model.config = read_model_config(*guess, path);
    return model;
  }
  fail(ErrorKind::bad_file,
       "{}: has no config.json beside it, and its tensors are of no model that is known without",
       path);
}

ModelFolder open_plain_folder(const std::string& path) {
  if (!file_exists(path + "/config.json") && !file_exists(path + "/modules.json")) {
    const std::string file = find_state_dict(path);
    if (!file.empty()) return open_state_dict(file);
  }
  ModelFolder model;
  model.path = path;
  if (file_exists(path + "/modules.json")) {
    read_sentence_modules(path, model);
    read_sentence_length(model.path, model);
  }
  const std::string file = model.path + "/config.json";
  model.config_json = load_json(file);
  model.config = read_model_config(model.config_json, file);
  return model;
}

void set_label_count(int64_t count, ModelConfig& config) {
  if (count == static_cast<int64_t>(config.labels.size())) return;
  config.labels.clear();
  for (int64_t i = 0; i < count; ++i) config.labels.push_back("LABEL_" + std::to_string(i));
  config.labels_named = false;
  if (config.problem == ProblemType::multi_label) return;
  config.problem = count == 1 ? ProblemType::regression : ProblemType::single_label;
}

/// Reads what an adapter's folder says of its head.
void read_adapter_head(const Adapter& adapter, const std::string& path, ModelFolder& model) {
  const std::string file = path + "/config.json";
  ModelConfig& config = *model.config;
  if (file_exists(file)) {
    const std::unique_ptr<ModelConfig> own = read_model_config(load_json(file), file);
    config.labels = own->labels;
    config.labels_named = own->labels_named;
    config.problem = own->problem;
    set_parser(is_parser(*own), config, model.config_json);
    set_explainer(explain_settings(*own), config, model.config_json);
    return;
  }
  const Family& family = family_of(config);
  const io::TensorInfo* out = adapter.find(family, family.head_out + ".weight");
  // A head that is not empty cannot claim more labels than its file has bytes.
  if (!out || out->shape.size() != 2 || out->shape[1] < 1) return;
  if (out->shape[0] > 0) set_label_count(out->shape[0], config);
}

ModelFolder open_adapter_folder(const std::string& path) {
  const Adapter adapter(path);
  const std::string field = path + "/adapter_config.json: base_model_name_or_path";
  const std::string base = io::resolve_model(adapter.base(), field);
  if (is_adapter_folder(base)) {
    fail(ErrorKind::unsupported, "{}: {} is an adapter itself", field, quote(base));
  }
  ModelFolder model = open_plain_folder(base);
  model.adapter = path;
  read_adapter_head(adapter, path, model);
  write_labels(*model.config, model.config_json);
  return model;
}

}  // namespace

bool is_bare(const ModelFolder& folder) { return !folder_exists(folder.path); }

ModelFolder open_model_folder(const std::string& path) {
  return is_adapter_folder(path) ? open_adapter_folder(path) : open_plain_folder(path);
}

data::SampleKind samples_of(const std::string& model) {
  return family_of(*open_model_folder(io::resolve_model(model)).config).samples;
}

std::unique_ptr<Adapter> open_adapter(const ModelFolder& folder) {
  return folder.adapter.empty() ? nullptr : std::make_unique<Adapter>(folder.adapter);
}

}  // namespace hone::models
