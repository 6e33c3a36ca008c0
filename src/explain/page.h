#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "explain/explanation.h"

namespace hone::explain {

struct PageFacts {
  std::string model;
  std::string method;  ///< how the reasons were found
  std::vector<std::string> labels;
};

/// What a text's label is, where that is known.
struct Gold {
  std::string label;
  std::optional<bool> wrong;  ///< whether the answer is another; absent of scores
};

/// Writes explanations as one page that needs nothing else: it carries its data, its style and its
/// script, and its content policy lets it load nothing. All text is data, never markup. The file
/// appears when all is written.
class Page {
 public:
  Page(const std::string& path, const PageFacts& facts);

  void add(const Explanation& explanation, const std::optional<Gold>& gold);
  void finish();

 private:
  /// Writes JSON so that none of it can end the element that holds it.
  void write_data(const std::string& json);

  OutputFile file_;
  bool first_ = true;
};

}  // namespace hone::explain
