#include "models/concept_encoder.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "explain/hubs.h"
#include "io/folder.h"
#include "models/adapter.h"
#include "plan/backend.h"

namespace hone::models {

ConceptEncoder::ConceptEncoder(Explainer& model, const data::ExplainProcessor& processor,
                               ThreadPool& pool, bool in_training)
    : model_(model),
      processor_(processor),
      pool_(pool),
      pass_(model.record_sentences()),
      runner_(pass_.plan,
              in_training ? model.parameters().arrays_for(DType::f32, pass_.shadows, true)
                          : model.weights_for(pass_.shadows),
              pool) {}

void ConceptEncoder::run(std::span<const data::EncodedSample> texts, const Take& take) {
  model_.parameters().refresh(pool_);
  const Backend& backend = Backend::of(model_.parameters().target().device);
  const int64_t most = processor_.pass_units(backend.efficient_rows());
  data::Batch batch(processor_.layout());
  for (size_t first = 0; first < texts.size();) {
    batch.clear();
    size_t end = first;
    for (; end < texts.size(); ++end) {
      if (end > first && batch.units + texts[end].units > most) break;
      processor_.append(texts[end].bytes, 0, batch);
    }
    runner_.resize(batch.extents());
    pass_.bind(batch, runner_);
    runner_.run();
    const auto* vectors = runner_.output<float>(pass_.output);
    for (size_t i = first; i < end; ++i) {
      take(static_cast<int64_t>(i), vectors + static_cast<int64_t>(i - first) * pass_.output.width);
    }
    first = end;
  }
}

explain::SearchVectors ConceptEncoder::encode(explain::ConceptSet& concepts,
                                              std::span<const data::EncodedSample> sentences) {
  if (samples_.empty()) {
    std::vector<data::RawSample> raw;
    for (int64_t i = 0; i < concepts.size(); ++i) raw.push_back({concepts.text(i), {}});
    processor_.encode(raw, pool_, samples_);
  }
  concepts.clear_vectors();
  run(samples_, [&](int64_t i, const float* vector) { concepts.add_vector(i, vector); });
  explain::SearchVectors vectors = explain::search_vectors(concepts, true);
  std::vector<float> rows;
  run(sentences, [&](int64_t, const float* vector) {
    rows.insert(rows.end(), vector, vector + pass_.output.width);
  });
  explain::correct_hubs(rows, vectors, pool_);
  return vectors;
}

void add_concepts(std::string_view raw, const data::TreeBank& trees, int64_t most_words,
                  int64_t label, int64_t row, explain::ConceptSet& concepts) {
  const std::string text = replace_invalid_utf8(raw);
  const std::optional<trees::Tree> tree = trees.index.find(text);
  if (!tree) return;
  const auto words = trees::locate_words(*tree, text);
  if (!words) return;
  std::vector<size_t> bytes;  // where each code point begins
  for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) bytes.push_back(at);
  bytes.push_back(text.size());
  for (const trees::Constituent& each : tree->constituents) {
    if (each.size() > most_words) continue;
    const size_t begin = bytes[(*words)[static_cast<size_t>(each.begin)].begin];
    const size_t end = bytes[(*words)[static_cast<size_t>(each.end) - 1].end];
    concepts.add(std::string_view(text).substr(begin, end - begin), label, row);
  }
}

namespace {

void hash_file(const std::string& folder, const std::string& name, data::ContentHash& hash) {
  hash.text(name);
  hash.file(folder + "/" + name);
}

/// Hashes all that a model of adapters is made of: their scale, and the weights they are added to.
void hash_adapter(const std::string& folder, data::ContentHash& hash) {
  const std::string file = folder + "/adapter_config.json";
  const Json config = parse_json(read_file(file), file);
  for (const char* field : {"lora_alpha", "alpha_pattern", "rank_pattern", "use_rslora"}) {
    hash.text(config.contains(field) ? config[field].dump() : "");
  }
  hash_file(folder, "adapter_model.safetensors", hash);
  const std::string base =
      io::resolve_model(Adapter(folder).base(), file + ": base_model_name_or_path");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(base)) {
    const std::string extension = entry.path().extension();
    if (extension == ".safetensors" || extension == ".bin")
      names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) hash_file(base, name, hash);
}

}  // namespace

data::Hash128 hash_weights(const std::string& folder) {
  data::ContentHash hash;
  if (is_adapter_folder(folder)) {
    hash_adapter(folder, hash);
  } else if (file_exists(folder + "/model.safetensors")) {
    hash_file(folder, "model.safetensors", hash);
  } else {
    fail(ErrorKind::bad_file, "{}: no model.safetensors, as `hone train` writes it", folder);
  }
  return hash.value();
}

std::shared_ptr<const explain::Concepts> open_concepts(const std::string& folder,
                                                       const Explainer& model, ThreadPool& pool) {
  const std::string file = folder + "/" + explain::kConceptFile;
  if (!file_exists(file)) {
    fail(ErrorKind::bad_file,
         "{}: missing; `hone explain` with `explain.build_store` makes the model's concepts", file);
  }
  auto store = std::make_shared<explain::ConceptStore>(file);
  store->require(hash_weights(folder), model.config().hidden_size,
                 static_cast<int64_t>(model.config().labels.size()));
  return std::make_shared<explain::Concepts>(std::move(store), explain::Scan::bytes, pool);
}

}  // namespace hone::models
