#include "models/family.h"

#include "base/error.h"

namespace hone::models {

std::array<const Family*, 5> families() {
  return {&kBert, &kRoberta, &kXlmRoberta, &kDistilBert, &kAlbert};
}

bool is_head(const Family& family, const std::string& name) {
  const auto belongs = [&](std::string_view module) {
    return name.starts_with(std::string(module) + ".");
  };
  return belongs(family.names.head_out) || is_exit_weight(name) ||
         (!family.has_pooler && belongs(family.names.head_dense));
}

std::string checkpoint_name(const Family& family, const std::string& name) {
  const bool beside = is_head(family, name) && name.find(".highway.") == std::string::npos;
  return beside ? name : std::string(family.prefix) + name;
}

const Family& find_family(const JsonFields& fields) {
  const std::string name = fields.string("model_type");
  std::string known;
  for (const Family* family : families()) {
    if (name == family->model_type) return *family;
    known += (known.empty() ? "" : ", ") + std::string(family->model_type);
  }
  fail(ErrorKind::unsupported, "{}: model_type: unknown architecture {}; known are {}",
       fields.file(), quote(name), known);
}

const Family& family_of(const EncoderConfig& config) {
  for (const Family* family : families()) {
    if (config.model_type == family->model_type) return *family;
  }
  fail(ErrorKind::internal, "no family {}", quote(config.model_type));
}

}  // namespace hone::models
