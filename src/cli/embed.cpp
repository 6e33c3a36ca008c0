#include <cmath>

#include "base/error.h"
#include "base/json_text.h"
#include "cli/answering.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace hone::cli {
namespace {

ops::Pooling parse_pooling(const std::string& name) {
  if (name == "mean") return ops::Pooling::mean;
  if (name == "cls") return ops::Pooling::cls;
  if (name == "max") return ops::Pooling::max;
  fail(ErrorKind::usage, "--pooling: expected mean, cls or max, got {}", quote(name));
}

void append_embedding(const infer::Answer& answer, std::string& out) {
  for (const float value : answer.values) {
    if (!std::isfinite(value)) {
      fail(ErrorKind::bad_file, "the model's answer is not finite: {}", value);
    }
  }
  out += "\"embedding\":";
  append_json_list(out, answer.values);
}

}  // namespace

int embed(const Words& words) {
  Arguments arguments("embed",
                      "Turns texts or images into vectors: one JSON object a line, in order.");
  AnsweringOptions options;
  std::string pooling;
  bool normalize = false;
  declare(arguments, options);
  arguments.text("--pooling", "HOW", pooling, "mean, cls or max; default: the folder's, or mean");
  arguments.flag("--normalize", normalize, "scale vectors to length 1");
  arguments.example("printf 'a great film\\n' | hone embed --model DIR --normalize");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  infer::SessionOptions settings;
  settings.output = models::Output::embedding;
  if (!pooling.empty()) settings.pooling = parse_pooling(pooling);
  if (normalize) settings.normalize = true;
  return answer_input(arguments.common(), options, settings,
                      [](const infer::Session&, const infer::Answer& given, std::string& out) {
                        append_embedding(given, out);
                      });
}

}  // namespace hone::cli
