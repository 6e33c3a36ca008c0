#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "explain/concept_writer.h"
#include "infer/session.h"
#include "models/concept_encoder.h"

namespace hone::infer {

/// Makes a folder of the golden self-explaining model, with a tokenizer and a store of concepts.
inline std::string explained_folder(const std::string& path, DType store_dtype = DType::f32) {
  namespace fs = std::filesystem;
  fs::create_directories(path);
  const auto take = [&](const std::string& from, const char* name) {
    fs::copy_file(HONE_TEST_DIR "/../" + from + "/" + name, path + "/" + name,
                  fs::copy_options::overwrite_existing);
  };
  for (const char* name : {"config.json", "model.safetensors"}) {
    take("train/goldens/explain-bert", name);
  }
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "vocab.txt"}) {
    take("models/goldens/bert-words", name);
  }
  SessionOptions options;
  options.threads = 1;
  options.concepts = false;
  Session session(path, options);
  auto& model = dynamic_cast<models::Explainer&>(session.model());
  explain::ConceptSet concepts(model.config().hidden_size, 2);
  std::vector<Input> rows;
  for (const char* text : {"the film", "very good", "not great", "a dull plot", "the best actor",
                           "the movie was bad", "of the time", "a story"}) {
    concepts.add(text, std::ssize(rows) % 2, std::ssize(rows));
    rows.push_back({text, {}});
  }
  models::ConceptEncoder encoder(model,
                                 dynamic_cast<const data::ExplainProcessor&>(session.processor()),
                                 session.pool(), false);
  const explain::SearchVectors vectors = encoder.encode(concepts, session.encode(rows));
  explain::write_concept_store(
      path + "/" + explain::kConceptFile, concepts,
      {.model = models::hash_weights(path), .dtype = store_dtype, .vectors = vectors});
  return path;
}

}  // namespace hone::infer
