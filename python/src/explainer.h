#pragma once

#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "hone/explain.h"

namespace hone::python {

namespace nb = nanobind;

/// What explains a model's answers, as Python has it. Threads that ask take turns, and hold the
/// interpreter's lock while they do not compute. A process that was forked from the one that loaded
/// it has none of its threads: every call is an error there.
class Explainer {
 public:
  Explainer(const std::string& folder, const ExplainerOptions& options);
  ~Explainer();
  Explainer(const Explainer&) = delete;
  Explainer& operator=(const Explainer&) = delete;

  /// Gives a tuple a text, in the order of hone.Explanation's fields. Ctrl-C ends it between texts.
  nb::list explain(const std::vector<std::string>& texts, const ExplainOptions& options) const;

 private:
  pid_t process_;
  std::unique_ptr<hone::Explainer> explainer_;
};

}  // namespace hone::python
