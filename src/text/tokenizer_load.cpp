#include "base/error.h"
#include "base/file.h"
#include "text/components.h"
#include "text/tokenizer.h"
#include "text/vocab_files.h"
#include "text/words.h"

namespace hone::text {
namespace {

constexpr uint64_t kMaxConfig = uint64_t{1} << 26;

Json read_config(const std::string& folder) {
  const std::string path = folder + "/tokenizer_config.json";
  if (!file_exists(path)) return Json::object();
  Json config = parse_json(read_file(path, kMaxConfig), path);
  if (!config.is_object()) fail(ErrorKind::bad_file, "{}: expected an object", path);
  return config;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

Tokenizer Tokenizer::load(const std::string& path, std::string_view family) {
  const bool is_folder = folder_exists(path);
  const std::string folder = is_folder ? path : folder_of(path);
  const std::string json = is_folder ? path + "/tokenizer.json" : path;
  if (!is_folder && path.ends_with(kVocabularyFile)) {
    return Tokenizer(build_word_tokenizer(read_file(path), path));
  }
  const Json config = read_config(folder);
  TokenizerParts parts = is_folder && !file_exists(json)
                             ? build_from_vocab_files(folder, family, config)
                             : build_tokenizer(read_tokenizer_json(json), json);
  parts.model_max_length = read_model_max_length(config);
  return Tokenizer(std::move(parts));
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& file) {
  return Tokenizer(build_tokenizer(parse_tokenizer_json(json, file), file));
}

}  // namespace hone::text
