#pragma once

#include <string>

#include "cli/arguments.h"
#include "cli/eval_data.h"

namespace hone::cli {

/// `hone bench --small`: how a model runs where memory is short.
struct SmallFlags {
  std::string model;
  data::LabelledData data;
  std::string budgets = "32MB,64MB,128MB";
  std::string output;
  std::string variant;  ///< the one variant that this process measures
  int64_t max_length = 0;
  int64_t max_samples = -1;

  bool given() const;
};

void declare(Arguments& arguments, SmallFlags& flags);

/// Measures every variant in a process of its own, so that its peak memory is its own, and reports
/// on them.
int bench_small(SmallFlags flags, const CommonOptions& common);

}  // namespace hone::cli
