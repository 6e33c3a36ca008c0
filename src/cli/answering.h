#pragma once

#include <functional>
#include <string>

#include "cli/arguments.h"
#include "data/records.h"
#include "infer/session.h"

namespace hone::cli {

/// The options that predict and embed have in common: texts in, one JSON object a line out.
struct AnsweringOptions {
  std::string model;
  std::string input = "-";
  std::string format;
  std::string output;
  int64_t max_length = 0;
  bool no_truncate = false;
  std::string memory_budget;  ///< "64MB"; empty: none
  bool skip_bad_images = false;
  image::DecodeLimits image_limits;
  bool no_plan = false;
};

void declare(Arguments& arguments, AnsweringOptions& options);

/// Appends the first fields of an answer's object, without brackets; called by several threads at
/// one time.
using WriteAnswer = std::function<void(const infer::Session& session, const infer::Answer& answer,
                                       std::string& out)>;

/// Answers the whole input. `settings` carries what only one of the subcommands sets.
int answer_input(const CommonOptions& common, const AnsweringOptions& options,
                 infer::SessionOptions settings, const WriteAnswer& write);

/// Answers the whole of an open input.
int answer_records(const CommonOptions& common, const AnsweringOptions& options,
                   infer::SessionOptions settings, data::RecordStream& records,
                   const WriteAnswer& write);

/// Writes the answer of a classifier: label and scores; where `raw`, the logits too.
WriteAnswer write_prediction(bool raw);

/// Warns of weights that the model does not use, when all is done, so that a mistake is told
/// alone.
void warn_unexpected(bool quiet, const infer::Session& session);

}  // namespace hone::cli
