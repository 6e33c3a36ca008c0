#include "base/error.h"
#include "base/utf8.h"
#include "text/components.h"
#include "text/unicode.h"

namespace hone::text {
namespace {

SplitBehavior behavior_of(const JsonFields& fields, std::optional<std::string> fallback) {
  const std::string name = fields.string("behavior", std::move(fallback));
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  fields.fail_field("behavior", "not a behaviour of splits");
}

std::string one_character(const JsonFields& fields, const char* field) {
  const std::string text = fields.string(field);
  if (count_code_points(text) != 1) fields.fail_field(field, "expected one character");
  return text;
}

std::unique_ptr<PreTokenizer> make_metaspace(const JsonFields& fields) {
  Metaspace metaspace;
  metaspace.replacement = one_character(fields, "replacement");
  const std::string scheme = fields.string("prepend_scheme", "always");
  if (scheme == "always") {
    metaspace.prepend = Metaspace::Prepend::always;
  } else if (scheme == "first") {
    metaspace.prepend = Metaspace::Prepend::first;
  } else if (scheme == "never") {
    metaspace.prepend = Metaspace::Prepend::never;
  } else {
    fields.fail_field("prepend_scheme", "expected always, first or never");
  }
  if (!fields.boolean("add_prefix_space", true)) {
    if (fields.has("prepend_scheme") && scheme != "never") {
      fields.fail_field("prepend_scheme", "does not agree with add_prefix_space");
    }
    metaspace.prepend = Metaspace::Prepend::never;
  }
  metaspace.split = fields.boolean("split", true);
  return std::make_unique<MetaspacePreTokenizer>(metaspace);
}

std::unique_ptr<PreTokenizer> make_split(const JsonFields& fields, const std::string& path) {
  const Json& pattern = fields.at("pattern");
  if (pattern.is_object() && pattern.value("String", Json()) == "") {
    fail_unsupported(fields.file(), path + ".pattern", "");
  }
  return std::make_unique<Split>(build_pattern(fields, path), behavior_of(fields, std::nullopt),
                                 fields.boolean("invert", false));
}

}  // namespace

Pattern build_pattern(const JsonFields& fields, const std::string& path) {
  const JsonFields pattern = fields.object("pattern");
  if (pattern.has("String")) return Pattern::string(pattern.string("String"));
  if (pattern.has("Regex")) {
    return Pattern::regex(pattern.string("Regex"), fields.file(), path + ".pattern.Regex");
  }
  fields.fail_field("pattern", "expected String or Regex");
}

void build_pre_tokenizers(const Json& json, const std::string& file, const std::string& path,
                          std::vector<std::unique_ptr<PreTokenizer>>& out) {
  const JsonFields fields(json, file, path);
  const std::string type = fields.string("type");
  if (type == "Sequence") {
    const Json& list = fields.at("pretokenizers");
    if (!list.is_array()) fields.fail_field("pretokenizers", "expected a list");
    for (size_t i = 0; i < list.size(); ++i) {
      build_pre_tokenizers(list[i], file, fmt::format("{}.pretokenizers[{}]", path, i), out);
    }
  } else if (type == "BertPreTokenizer") {
    out.push_back(std::make_unique<BertPreTokenizer>());
  } else if (type == "Whitespace") {
    out.push_back(std::make_unique<WordOrOther>());
  } else if (type == "WhitespaceSplit") {
    out.push_back(std::make_unique<ClassSplit>(kWhitespace, SplitBehavior::removed));
  } else if (type == "Punctuation") {
    out.push_back(std::make_unique<ClassSplit>(kPunctuation, behavior_of(fields, "Isolated")));
  } else if (type == "Digits") {
    const bool alone = fields.boolean("individual_digits");
    out.push_back(std::make_unique<ClassSplit>(
        kNumeric, alone ? SplitBehavior::isolated : SplitBehavior::contiguous));
  } else if (type == "Split") {
    out.push_back(make_split(fields, path));
  } else if (type == "CharDelimiterSplit") {
    out.push_back(std::make_unique<Split>(Pattern::string(one_character(fields, "delimiter")),
                                          SplitBehavior::removed, false));
  } else if (type == "ByteLevel") {
    out.push_back(std::make_unique<ByteLevelPreTokenizer>(fields.boolean("add_prefix_space"),
                                                          fields.boolean("use_regex", true)));
  } else if (type == "Metaspace") {
    out.push_back(make_metaspace(fields));
  } else {
    fail_unsupported(file, path + ".type", type);
  }
}

}  // namespace hone::text
