#pragma once

#include <string>

#include "report/report.h"

namespace hone::report {

/// Says whether a picture has more points than it shows, so that a part of it is worth a look.
bool is_dense(const Chart& chart);

/// What a page's script is told beside what stands on the page: the points of dense curves, and
/// frames.
class PageData {
 public:
  /// Adds a picture where the script can show more of it than the page does.
  void add(const Chart& chart, const std::string& id);
  /// Gives JSON that may stand in an element of HTML as it is.
  std::string text() const;

 private:
  std::string json_;
};

}  // namespace hone::report
