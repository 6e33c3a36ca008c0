#include "train/exit_price.h"

#include "base/error.h"
#include "models/exit_cost.h"

namespace hone::train {

void price_exits(const Options& options, const models::ModelConfig& config,
                 ops::LossOptions& loss) {
  if (config.exits.method != models::ExitMethod::adaptive) return;
  if (loss.label_smoothing > 0 || !loss.class_weights.empty() || options.balanced_class_weights ||
      loss.distill.weight > 0) {
    fail(ErrorKind::unsupported,
         "model.exits: adaptive exits learn from plain labels: without label smoothing, class "
         "weights and a teacher");
  }
  if (options.gpu) {
    fail(ErrorKind::unsupported, "model.exits: adaptive exits are trained on a processor");
  }
  loss.cost_weight = options.model.exit_cost_weight;
  const std::string& file = options.model.exit_cost;
  if (file.empty()) return;
  const models::ExitCost cost = models::read_exit_cost(file);
  const auto same = [&](const char* what, const std::string& theirs, const std::string& own) {
    if (theirs == own) return;
    fail(ErrorKind::usage, "exit_cost: {} is of another {}: {}, this run has {}", file, what,
         quote(theirs), quote(own));
  };
  same("model", cost.model, config.summary());
  same("device", cost.device, "cpu");
  same("number of layers", std::to_string(cost.layer_ms.size()), std::to_string(config.depth()));
  loss.costs = cost.shares();
}

}  // namespace hone::train
