#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace hone::cli {

/// What hone explain does with a self-explaining model beside explaining texts.
struct ExplainTools {
  bool build_store = false;
  bool noise = false;
  std::string export_vectors;
  std::string train_file;
  std::vector<std::string> trees;
  std::string store_dtype = "fp32";
  int64_t neighbours = 10;

  bool any() const { return build_store || noise || !export_vectors.empty(); }
};

void declare(Arguments& arguments, ExplainTools& tools);

/// Does what was asked for.
int run_tools(const CommonOptions& common, const std::string& model, int64_t max_length,
              const ExplainTools& tools);

}  // namespace hone::cli
