#include "base/json_text.h"
#include "cli/answering.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/exit_flags.h"
#include "cli/output.h"
#include "cli/trees.h"
#include "infer/classify.h"
#include "models/tree_parser.h"

namespace hone::cli {
namespace {

void append_prediction(const models::ModelConfig& config, const infer::Answer& answer, bool raw,
                       std::string& out) {
  const infer::Prediction prediction = infer::classify(config, answer.values);
  out += "\"label\":";
  append_json(out, prediction.label);
  out += ",\"score\":";
  append_json(out, prediction.score);
  out += ",\"scores\":";
  for (size_t i = 0; i < prediction.scores.size(); ++i) {
    out += i == 0 ? '{' : ',';
    append_json(out, config.labels[i]);
    out += ':';
    append_json(out, prediction.scores[i]);
  }
  out += '}';
  if (config.problem == ProblemType::multi_label) {
    std::vector<std::string_view> chosen;
    for (const int64_t i : prediction.chosen)
      chosen.push_back(config.labels[static_cast<size_t>(i)]);
    out += ",\"labels\":";
    append_json_list(out, chosen);
  }
  if (answer.layers > 0) {
    out += ",\"layers\":";
    append_json(out, answer.layers);
  }
  if (raw) {
    out += ",\"logits\":";
    append_json_list(out, answer.values);
  }
}

}  // namespace

WriteAnswer write_prediction(bool raw) {
  return [raw](const infer::Session& session, const infer::Answer& given, std::string& out) {
    append_prediction(session.config(), given, raw, out);
  };
}

int predict(const Words& words) {
  Arguments arguments("predict",
                      "Labels texts or images: one JSON object a line, in the order of the input.");
  AnsweringOptions options;
  bool raw = false;
  declare(arguments, options);
  ExitFlags exits;
  declare(arguments, exits);
  arguments.flag("--raw", raw, "write the logits too");
  arguments.example(
      "printf 'a great film\\n' | hone predict --model DIR\nExample: hone predict --model RESNET "
      "--input "
      "photos");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  require_model(options.model);
  if (models::is_parser_folder(options.model)) return predict_trees(arguments.common(), options);
  infer::SessionOptions settings;
  apply(exits, settings);
  return answer_input(arguments.common(), options, settings, write_prediction(raw));
}

}  // namespace hone::cli
