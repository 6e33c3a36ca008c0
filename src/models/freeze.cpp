#include "models/freeze.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace hone::models {
namespace {

struct Pattern {
  std::string text;
  bool used = false;
};

std::vector<Pattern> split(std::string_view text) {
  std::vector<Pattern> patterns;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) patterns.push_back({std::string(text.substr(0, comma))});
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return patterns;
}

/// Marks every pattern that matches.
bool matches(std::vector<Pattern>& patterns, const std::string& name) {
  bool any = false;
  for (Pattern& pattern : patterns) {
    if (fnmatch(pattern.text.c_str(), name.c_str(), 0) != 0) continue;
    pattern.used = any = true;
  }
  return any;
}

bool is_frozen(const Family& family, const nn::Parameter& parameter,
               std::vector<Pattern>& patterns) {
  std::string frozen;
  std::string trained;
  for (const std::string& tensor : parameter.tensors) {
    const std::string name = checkpoint_name(family, tensor);
    (matches(patterns, name) ? frozen : trained) = name;
  }
  if (!frozen.empty() && !trained.empty()) {
    fail(ErrorKind::usage, "--freeze: {} cannot be frozen without {}: they are kept in one piece",
         frozen, trained);
  }
  return trained.empty();
}

}  // namespace

std::vector<bool> trainable_slots(const Encoder& encoder, const std::string& freeze) {
  std::vector<Pattern> patterns = split(freeze);
  std::vector<bool> trainable;
  for (const nn::Parameter& parameter : encoder.parameters().list()) {
    trainable.push_back(!is_frozen(encoder.family(), parameter, patterns));
  }
  for (const Pattern& pattern : patterns) {
    if (!pattern.used) {
      fail(ErrorKind::usage, "--freeze: {} matches no weight of the model; one is {}",
           quote(pattern.text),
           checkpoint_name(encoder.family(), encoder.parameters().list().back().tensors.front()));
    }
  }
  if (std::find(trainable.begin(), trainable.end(), true) == trainable.end()) {
    fail(ErrorKind::usage, "--freeze: {} leaves nothing to train", quote(freeze));
  }
  return trainable;
}

}  // namespace hone::models
