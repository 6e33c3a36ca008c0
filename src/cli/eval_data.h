#pragma once

#include "cli/arguments.h"
#include "data/labelled_sets.h"

namespace hone::cli {

void declare(Arguments& arguments, data::LabelledData& data);

}  // namespace hone::cli
