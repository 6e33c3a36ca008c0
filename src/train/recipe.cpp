#include "train/recipe.h"

namespace hone::train {

void apply(const Recipe& recipe, Options& options) {
  const bool scratch = options.model.model.empty();
  const bool built_in = scratch && options.model.config.empty() && options.model.type.empty();
  options.learning_rate = recipe.learning_rate.value_or(scratch ? 3e-4 : 5e-5);
  options.epochs = recipe.epochs.value_or(built_in ? 4 : 3);
  options.batch.train = recipe.batch_size.value_or(options.batch.max_tokens > 0 ? 0
                                                   : scratch                    ? 32
                                                                                : 8);
  if (built_in && options.warmup_steps == 0 && options.warmup_ratio == 0) {
    options.warmup_ratio = 0.1;
  }
}

}  // namespace hone::train
