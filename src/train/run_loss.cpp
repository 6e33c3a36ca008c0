#include "train/run_loss.h"

#include "base/error.h"
#include "train/loss_kind.h"

namespace hone::train {
namespace {

/// Weighs the second of two classes as torch's binary cross-entropy weighs positives.
void weigh_positives(const Options& options, const Corpus& corpus, ops::LossOptions& loss) {
  if (corpus.labels.size() != 2 || options.positive_weights.size() != 1) {
    fail(ErrorKind::usage,
         "positive_weights: expected one, for the second of two labels, got {} for {} labels",
         options.positive_weights.size(), corpus.labels.size());
  }
  if (!options.class_weights.empty() || options.balanced_class_weights) {
    fail(ErrorKind::usage, "positive_weights: not together with `class_weights`");
  }
  loss.class_weights = {1, options.positive_weights.front()};
  loss.weights_divide = false;
}

/// Takes labels that are shares of classes, as mixed images have them.
void mix_classes(const Options& options, ops::LossOptions& loss) {
  if (!loss.class_weights.empty() || options.balanced_class_weights) {
    fail(ErrorKind::unsupported, "class_weights: not with images that are mixed");
  }
  if (!options.distill.teacher.empty()) {
    fail(ErrorKind::unsupported, "distill.teacher: not with images that are mixed");
  }
  loss.kind = LossKind::soft_cross_entropy;
}

}  // namespace

ops::LossOptions loss_for(const Options& options, const Corpus& corpus, bool mixes) {
  ops::LossOptions loss{.kind = loss_kind(corpus.problem())};
  if (corpus.problem() == ProblemType::multi_label) {
    loss.positive_weights = options.positive_weights;
  }
  if (corpus.problem() == ProblemType::single_label) {
    loss.label_smoothing = options.label_smoothing;
    loss.class_weights = options.class_weights;
    if (!options.positive_weights.empty()) weigh_positives(options, corpus, loss);
    if (mixes) mix_classes(options, loss);
  }
  const auto need = [&](const char* field, const std::vector<float>& weights) {
    if (weights.empty() || static_cast<int64_t>(weights.size()) == corpus.labels.size()) return;
    fail(ErrorKind::usage, "{}: expected one for each of the {} labels, got {}", field,
         corpus.labels.size(), weights.size());
  };
  need("class_weights", loss.class_weights);
  need("positive_weights", loss.positive_weights);
  return loss;
}

std::vector<float> balanced_weights(const data::SampleStore& store) {
  std::vector<float> weights;
  const std::vector<int64_t> counts = store.label_counts();
  for (const int64_t count : counts) {
    weights.push_back(static_cast<float>(static_cast<double>(store.samples()) /
                                         static_cast<double>(counts.size()) /
                                         static_cast<double>(count)));
  }
  return weights;
}

}  // namespace hone::train
