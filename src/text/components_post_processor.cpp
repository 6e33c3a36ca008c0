#include <limits>

#include "base/error.h"
#include "text/components.h"

namespace hone::text {
namespace {

using Part = PostProcessor::Part;
constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max() - 1;

/// Reads a special token, as ["[SEP]", 102].
PostProcessor::Special special_of(const JsonFields& fields, const char* field) {
  const Json& pair = fields.at(field);
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() ||
      !pair[1].is_number_unsigned() || pair[1].get<uint64_t>() > kMaxId) {
    fields.fail_field(field, "expected [token, id]");
  }
  return {pair[1].get<int32_t>(), pair[0].get<std::string>()};
}

Part special_part(const PostProcessor::Special& special, int32_t type_id) {
  return {Part::Kind::special, type_id, {special}};
}

void set_bert(const JsonFields& fields, PostProcessor& out) {
  const auto cls = special_of(fields, "cls");
  const auto sep = special_of(fields, "sep");
  out.single = {special_part(cls, 0), {Part::Kind::first, 0, {}}, special_part(sep, 0)};
  out.pair = out.single;
  out.pair.push_back({Part::Kind::second, 1, {}});
  out.pair.push_back(special_part(sep, 1));
}

void set_roberta(const JsonFields& fields, PostProcessor& out) {
  const auto cls = special_of(fields, "cls");
  const auto sep = special_of(fields, "sep");
  out.single = {special_part(cls, 0), {Part::Kind::first, 0, {}}, special_part(sep, 0)};
  out.pair = out.single;
  out.pair.push_back(special_part(sep, 0));
  out.pair.push_back({Part::Kind::second, 0, {}});
  out.pair.push_back(special_part(sep, 0));
  out.trim_offsets = fields.boolean("trim_offsets");
  out.add_prefix_space = fields.boolean("add_prefix_space");
}

/// The ids and spellings of a special token of a template.
std::vector<PostProcessor::Special> specials_of(const JsonFields& tokens, const std::string& name) {
  const JsonFields fields = tokens.object(name.c_str());
  const Json& ids = fields.at("ids");
  const Json& spelled = fields.at("tokens");
  if (!ids.is_array() || !spelled.is_array() || ids.size() != spelled.size()) {
    fields.fail_field("ids", "expected as many ids as tokens");
  }
  std::vector<PostProcessor::Special> out;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!ids[i].is_number_unsigned() || ids[i].get<uint64_t>() > kMaxId ||
        !spelled[i].is_string()) {
      fields.fail_field("ids", "expected ids and tokens");
    }
    out.push_back({ids[i].get<int32_t>(), spelled[i].get<std::string>()});
  }
  return out;
}

std::vector<Part> template_of(const JsonFields& fields, const char* name) {
  const Json& list = fields.at(name);
  if (!list.is_array()) fields.fail_field(name, "expected a list");
  std::vector<Part> out;
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonFields item(list[i], fields.file(), fmt::format("post_processor.{}[{}]", name, i));
    const bool is_text = item.has("Sequence");
    const JsonFields body = item.object(is_text ? "Sequence" : "SpecialToken");
    const std::string id = body.string("id");
    Part part{Part::Kind::special, static_cast<int32_t>(body.integer("type_id", 0, kMaxId)), {}};
    if (!is_text) {
      part.specials = specials_of(fields.object("special_tokens"), id);
    } else if (id == "A" || id == "B") {
      part.kind = id == "A" ? Part::Kind::first : Part::Kind::second;
    } else {
      body.fail_field("id", "expected A or B");
    }
    out.push_back(std::move(part));
  }
  return out;
}

size_t count(const std::vector<Part>& parts, Part::Kind kind) {
  size_t found = 0;
  for (const Part& part : parts) found += part.kind == kind;
  return found;
}

void set_template(const JsonFields& fields, PostProcessor& out) {
  out.single = template_of(fields, "single");
  out.pair = template_of(fields, "pair");
  if (count(out.single, Part::Kind::second) != 0) fields.fail_field("single", "has a second text");
  if (count(out.single, Part::Kind::first) != 1) fields.fail_field("single", "expected A once");
  if (count(out.pair, Part::Kind::first) != 1 || count(out.pair, Part::Kind::second) != 1) {
    fields.fail_field("pair", "expected A and B once each");
  }
}

/// `has_template` says whether an earlier member of a sequence has already put tokens around the
/// texts.
void apply(const Json& json, const std::string& file, const std::string& path, bool& has_template,
           PostProcessor& out) {
  const JsonFields fields(json, file, path);
  const std::string type = fields.string("type");
  if (type == "Sequence") {
    const Json& list = fields.at("processors");
    if (!list.is_array()) fields.fail_field("processors", "expected a list");
    for (size_t i = 0; i < list.size(); ++i) {
      apply(list[i], file, fmt::format("{}.processors[{}]", path, i), has_template, out);
    }
    return;
  }
  if (has_template) fail_unsupported(file, path + ".type (after another one)", type);
  if (type == "ByteLevel") {
    if (out.trim_offsets) fail_unsupported(file, path + ".type (twice)", type);
    out.trim_offsets = fields.boolean("trim_offsets");
    out.add_prefix_space = fields.boolean("add_prefix_space");
    return;
  }
  has_template = true;
  if (type == "TemplateProcessing") {
    set_template(fields, out);
  } else if (type == "BertProcessing") {
    set_bert(fields, out);
  } else if (type == "RobertaProcessing") {
    if (out.trim_offsets) fail_unsupported(file, path + ".type (after ByteLevel)", type);
    set_roberta(fields, out);
  } else {
    fail_unsupported(file, path + ".type", type);
  }
}

}  // namespace

PostProcessor build_post_processor(const Json& json, const std::string& file) {
  PostProcessor out;
  bool has_template = false;
  apply(json, file, "post_processor", has_template, out);
  return out;
}

}  // namespace hone::text
