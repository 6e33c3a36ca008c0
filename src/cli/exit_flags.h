#pragma once

#include "cli/arguments.h"
#include "infer/session.h"

namespace hone::cli {

/// Says how a model with early exits is run.
struct ExitFlags {
  int64_t patience = 0;
  double entropy = -1;
  double confidence = -1;
  double deadline_ms = 0;
  bool all_layers = false;
};

inline void declare(Arguments& arguments, ExitFlags& flags) {
  arguments.integer("--patience", 1, 1024, flags.patience,
                    "of PABEE's exits; default: the model's");
  arguments.real("--entropy", 0, 1e3, flags.entropy, "of DeeBERT's exits; default: the model's");
  arguments.real("--confidence", 0, 1, flags.confidence, "of adaptive exits; default: the model's");
  arguments.real("--deadline-ms", 0, 1e9, flags.deadline_ms, "for one text, of a model with exits");
  arguments.flag("--no-exits", flags.all_layers, "run all layers of a model with exits");
}

inline void apply(const ExitFlags& flags, infer::SessionOptions& options) {
  options.exits = !flags.all_layers;
  if (flags.patience > 0) options.patience = flags.patience;
  if (flags.entropy >= 0) options.entropy = flags.entropy;
  if (flags.confidence >= 0) options.confidence = flags.confidence;
  options.deadline = flags.deadline_ms / 1e3;
}

}  // namespace hone::cli
