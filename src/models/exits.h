#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace hone::models {

/// Says how a classifier may answer before its last layer.
enum class ExitMethod {
  none,
  pabee,     ///< leaves when enough layers in a row agree (Zhou et al., 2020)
  deebert,   ///< leaves when a layer is sure: low entropy (Xin et al., 2020)
  adaptive,  ///< leaves when a layer's own output says that its answer is right
};

/// The settings of a model folder's exits: "early_exit" of config.json.
struct ExitSettings {
  ExitMethod method = ExitMethod::none;
  int64_t patience = 3;     ///< PABEE: layers that agree with the one before them
  double entropy = 0.1;     ///< DeeBERT: below it a layer answers
  double confidence = 0.9;  ///< adaptive: from this probability of being right a layer answers
  double tolerance = 0.1;   ///< PABEE, regression: below it two answers agree
};

/// Reads "none", "pabee", "deebert" or "adaptive"; anything else is a usage error that names
/// `flag`.
ExitMethod parse_exit_method(const std::string& name, const std::string& flag);
const char* exit_method_name(ExitMethod method);

ExitSettings read_exits(const JsonFields& fields);
/// Writes the entry, or removes it where there is no method.
void write_exits(const ExitSettings& exits, Json& json);

/// Gives the columns of an exit's output: an adaptive one's last is the logit of being right.
inline int64_t exit_width(ExitMethod method, int64_t labels) {
  return labels + (method == ExitMethod::adaptive ? 1 : 0);
}

/// Says whether a parameter is part of an exit's own head, by its name without family prefix, as
/// the published code calls them: `classifiers.3.weight` (PABEE) and
/// `encoder.highway.3.classifier.weight` (DeeBERT); adaptive exits have `...highway.3.adaptive`.
bool is_exit_weight(const std::string& name);

}  // namespace hone::models
