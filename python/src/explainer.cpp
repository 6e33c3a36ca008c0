#include "explainer.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"

namespace hone::python {
namespace {

// Between so many texts it is seen whether Ctrl-C was pressed.
constexpr size_t kTextsAtOnce = 8;

template <typename Value>
nb::dict dictionary(const std::vector<std::string>& names, const std::vector<Value>& values) {
  nb::dict made;
  for (size_t i = 0; i < values.size(); ++i) made[names[i].c_str()] = values[i];
  return made;
}

nb::tuple tuple_of(const std::vector<std::string>& labels, const Explanation& found) {
  nb::list phrases;
  for (const Explanation::Phrase& each : found.phrases) {
    phrases.append(nb::make_tuple(each.text, each.start, each.end, each.share, each.ablated_score,
                                  each.flips));
  }
  nb::list concepts;
  for (const Explanation::Concept& each : found.concepts) {
    nb::dict counts;
    for (const auto& [label, count] : each.labels) counts[label.c_str()] = count;
    concepts.append(nb::make_tuple(each.text, each.share, each.similarity, counts, each.row));
  }
  nb::object shares = nb::none();
  if (found.shares) {
    shares = nb::make_tuple(found.shares->label, found.shares->local, found.shares->global);
  }
  const Prediction& answer = found.answer;
  return nb::make_tuple(answer.label, answer.score, dictionary(labels, answer.scores),
                        answer.chosen, answer.tokens, answer.truncated, phrases, concepts, shares,
                        found.tree, found.cut);
}

}  // namespace

Explainer::Explainer(const std::string& folder, const ExplainerOptions& options)
    : process_(::getpid()) {
  const nb::gil_scoped_release others_run;
  explainer_ = std::make_unique<hone::Explainer>(hone::Explainer::load(folder, options));
}

Explainer::~Explainer() {
  // In another process the threads that would have to end are not there.
  if (process_ != ::getpid()) static_cast<void>(explainer_.release());
}

nb::list Explainer::explain(const std::vector<std::string>& texts,
                            const ExplainOptions& options) const {
  if (process_ != ::getpid()) {
    fail(ErrorKind::usage, "model: was loaded before this process was forked; load it in here");
  }
  nb::list explanations;
  for (size_t first = 0; first < texts.size(); first += kTextsAtOnce) {
    const auto begin = texts.begin() + static_cast<ptrdiff_t>(first);
    const auto count = static_cast<ptrdiff_t>(std::min(texts.size() - first, kTextsAtOnce));
    std::vector<Explanation> found;
    {
      const nb::gil_scoped_release others_run;
      found = explainer_->explain({begin, begin + count}, options);
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    for (const Explanation& each : found) {
      explanations.append(tuple_of(explainer_->labels(), each));
    }
  }
  return explanations;
}

}  // namespace hone::python
