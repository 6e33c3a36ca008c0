#include "models/exits.h"

#include <array>

#include "base/error.h"

namespace hone::models {
namespace {

constexpr const char* kEntry = "early_exit";
constexpr std::array kMethodNames = {"none", "pabee", "deebert", "adaptive"};
constexpr int64_t kMostPatience = 1024;

}  // namespace

ExitMethod parse_exit_method(const std::string& name, const std::string& flag) {
  for (size_t i = 0; i < kMethodNames.size(); ++i) {
    if (name == kMethodNames[i]) return static_cast<ExitMethod>(i);
  }
  fail(ErrorKind::usage, "{}: expected none, pabee, deebert or adaptive, got {}", flag,
       quote(name));
}

const char* exit_method_name(ExitMethod method) {
  return kMethodNames[static_cast<size_t>(method)];
}

ExitSettings read_exits(const JsonFields& fields) {
  ExitSettings exits;
  if (!fields.has(kEntry)) return exits;
  const JsonFields own = fields.object(kEntry);
  exits.method = parse_exit_method(own.string("method"), fields.file() + ": early_exit.method");
  exits.patience = own.integer("patience", 1, kMostPatience, exits.patience);
  exits.entropy = own.number("entropy", exits.entropy);
  exits.confidence = own.number("confidence", exits.confidence);
  exits.tolerance = own.number("tolerance", exits.tolerance);
  return exits;
}

void write_exits(const ExitSettings& exits, Json& json) {
  json.erase(kEntry);
  if (exits.method == ExitMethod::none) return;
  json[kEntry] = {{"method", exit_method_name(exits.method)},
                  {"patience", exits.patience},
                  {"entropy", exits.entropy},
                  {"confidence", exits.confidence},
                  {"tolerance", exits.tolerance}};
}

bool is_exit_weight(const std::string& name) {
  return name.starts_with("classifiers.") || name.find(".highway.") != std::string::npos;
}

}  // namespace hone::models
