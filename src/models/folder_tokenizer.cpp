#include "models/folder_tokenizer.h"

#include "base/file.h"
#include "io/folder.h"
#include "models/folder.h"

namespace hone::models {

text::Tokenizer load_tokenizer(const std::string& model) {
  if (file_exists(model) && !folder_exists(model)) return text::Tokenizer::load(model);
  const std::string folder = io::resolve_model(model);
  if (!file_exists(folder + "/config.json") && !file_exists(folder + "/modules.json")) {
    return text::Tokenizer::load(folder);
  }
  const ModelFolder opened = open_model_folder(folder);
  return text::Tokenizer::load(opened.path, opened.config->model_type);
}

}  // namespace hone::models
