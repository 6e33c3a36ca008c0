#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/records.h"
#include "data/tree_file.h"
#include "infer/self_explainer.h"

namespace hone::infer {

struct FaithfulnessOptions {
  /// Trees over the texts whose constituents have labels: names of the model's, or numbers from 0
  /// (very negative) to 4 of sentiment. Null: the labels of phrases are not judged.
  std::shared_ptr<const data::TreeBank> trees = {};
  int64_t max_samples = -1;  ///< most texts; -1: all
  bool by_ablation = false;  ///< phrases rank by what their ablation takes, not by their share
};

/// How far the explanations of some texts can be relied on.
struct Faithfulness {
  int64_t texts = 0;  ///< texts with phrases, which deletions are measured over
  std::vector<std::pair<std::string, double>> metrics;
};

/// Measures the explanations of a self-explaining model over texts.
///
/// A text's n words rank by the best phrase that they are in, those in no phrase last. For p of 1,
/// 5, 10, 20 and 50% its first ceil(p n) are deleted: `comprehensiveness` is how much of the
/// answer's score that takes, `sufficiency` how much is missing where those words alone are left
/// (DeYoung et al., 2020), both the mean over p and texts. `flip_rate` is the share of texts that
/// get another answer without the words of their best phrase. The same with "_random" behind it is
/// of phrases that rank at random.
///
/// `phrase_agreement` is the share of the phrases that are also constituents of the text's tree,
/// with a label that is not neutral, which speak for that label. `commonest_concept` is the share
/// of the texts among whose five nearest concepts the commonest one is: as the model ranks them,
/// without the correction of hubs ("_uncorrected"), and by raw inner products ("_raw").
Faithfulness measure_faithfulness(SelfExplainer& explainer, data::RecordStream& records,
                                  const FaithfulnessOptions& options);

}  // namespace hone::infer
