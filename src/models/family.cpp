#include "models/family.h"

#include <algorithm>

#include "base/error.h"
#include "models/encoder_family.h"
#include "models/explainer.h"
#include "models/lstm.h"
#include "models/parser.h"
#include "models/resnet.h"

namespace hone::models {
namespace {

std::vector<Family>& registry() {
  static std::vector<Family> all = [] {
    std::vector<Family> built_in = encoder_families();
    built_in.push_back(lstm_family());
    built_in.push_back(resnet_family());
    built_in.reserve(64);  // models refer to their families, which therefore stay where they are
    return built_in;
  }();
  return all;
}

}  // namespace

const std::vector<Family>& families() { return registry(); }

void register_family(Family family) {
  for (Family& other : registry()) {
    if (other.model_type != family.model_type) continue;
    other = std::move(family);
    return;
  }
  if (registry().size() == registry().capacity()) fail(ErrorKind::internal, "too many families");
  registry().push_back(std::move(family));
}

bool is_head(const Family& family, const std::string& name) {
  const auto belongs = [&](const std::string& module) {
    return !module.empty() && name.starts_with(module + ".");
  };
  return belongs(family.head_out) || is_exit_weight(name) || is_parser_weight(name) ||
         is_explain_weight(name) || (!family.has_pooler && belongs(family.head_dense));
}

std::string checkpoint_name(const Family& family, const std::string& name) {
  const bool beside = is_head(family, name) && name.find(".highway.") == std::string::npos;
  return beside ? name : family.prefix + name;
}

const Family& find_family(const JsonFields& fields) {
  const std::string name = fields.string("model_type");
  std::string known;
  for (const Family& family : families()) {
    if (name == family.model_type) return family;
    known += (known.empty() ? "" : ", ") + family.model_type;
  }
  fail(ErrorKind::unsupported, "{}: model_type: unknown architecture {}; known are {}",
       fields.file(), quote(name), known);
}

Json config_of_type(const std::string& type) {
  for (const Family& family : families()) {
    for (const auto& [name, fields] : family.named_configs) {
      if (name != type) continue;
      Json json = fields;
      json["model_type"] = family.model_type;
      return json;
    }
  }
  return {{"model_type", type}};
}

const Family& family_of(const ModelConfig& config) {
  for (const Family& family : families()) {
    if (config.model_type == family.model_type) return family;
  }
  fail(ErrorKind::internal, "no family {}", quote(config.model_type));
}

}  // namespace hone::models
