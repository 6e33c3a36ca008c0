#include "train/exit_stages.h"

#include "base/file.h"
#include "train/trained_model.h"

namespace hone::train {

std::vector<Options> exit_stages(const Options& options) {
  if (options.model.exits != models::ExitMethod::deebert || !options.train) return {options};
  Options first = options;
  if (first.tokens.empty()) first.tokens = options.output + "/tokens";
  first.model.exits = models::ExitMethod::none;
  first.predict = false;
  if (first.distill.teacher == kSelf) first.distill.teacher.clear();  // it teaches exits
  first.output = options.output + "/stage-1";
  Options second = options;
  second.stopping = {};  // stopping goes by evaluations of the last layer, which stays as it is
  if (!options.model.model.empty() && !TrainedModel(first, open_corpus(first)).has_new_head()) {
    return {second};
  }
  second.tokens = first.tokens;
  second.model.model = first.output;
  const bool finished = !options.resume.empty() && file_exists(first.output + "/model.safetensors");
  return finished ? std::vector{second} : std::vector{first, second};
}

}  // namespace hone::train
