#include "base/error.h"
#include "text/base64.h"
#include "text/components.h"
#include "text/unicode.h"

namespace hone::text {
namespace {

template <typename T, typename... Args>
std::unique_ptr<Normalizer> make(Args&&... args) {
  return std::make_unique<T>(std::forward<Args>(args)...);
}

std::unique_ptr<Normalizer> make_bert(const JsonFields& fields) {
  BertNormalizer::Options options;
  options.clean_text = fields.boolean("clean_text");
  options.handle_chinese_chars = fields.boolean("handle_chinese_chars");
  options.lowercase = fields.boolean("lowercase");
  options.strip_accents = fields.boolean("strip_accents", options.lowercase);
  return make<BertNormalizer>(options);
}

std::unique_ptr<Normalizer> make_sequence(const JsonFields& fields, const std::string& path) {
  const Json& list = fields.at("normalizers");
  if (!list.is_array()) fields.fail_field("normalizers", "expected a list");
  std::vector<std::unique_ptr<Normalizer>> parts;
  for (size_t i = 0; i < list.size(); ++i) {
    parts.push_back(
        build_normalizer(list[i], fields.file(), fmt::format("{}.normalizers[{}]", path, i)));
  }
  return make<NormalizerSequence>(std::move(parts));
}

}  // namespace

std::unique_ptr<Normalizer> build_normalizer(const Json& json, const std::string& file,
                                             const std::string& path) {
  const JsonFields fields(json, file, path);
  const std::string type = fields.string("type");
  if (type == "BertNormalizer") return make_bert(fields);
  if (type == "NFD") return make<UnicodeNormalizer>(false, false);
  if (type == "NFKD") return make<UnicodeNormalizer>(true, false);
  if (type == "NFC") return make<UnicodeNormalizer>(false, true);
  if (type == "NFKC") return make<UnicodeNormalizer>(true, true);
  if (type == "Lowercase") return make<Lowercase>();
  if (type == "StripAccents") return make<Filter>(kMark, 0);
  if (type == "Nmt") return make<Filter>(kNmtDropped, kNmtSpace);
  if (type == "Strip") {
    return make<StripEnds>(fields.boolean("strip_left"), fields.boolean("strip_right"));
  }
  if (type == "Replace") {
    return make<Replace>(build_pattern(fields, path), fields.string("content"));
  }
  if (type == "Prepend") {
    // `tokenizers` loses the first character's alignment over an empty one.
    if (fields.string("prepend").empty()) fail_unsupported(file, path + ".prepend", "");
    return make<Prepend>(fields.string("prepend"));
  }
  if (type == "Precompiled") {
    const std::string field = path + ".precompiled_charsmap";
    return make<Precompiled>(
        CharsMap(decode_base64(fields.string("precompiled_charsmap"), file, field), file));
  }
  if (type == "Sequence") return make_sequence(fields, path);
  fail_unsupported(file, path + ".type", type);
}

}  // namespace hone::text
