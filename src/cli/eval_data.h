#pragma once

#include "cli/arguments.h"
#include "data/labelled_sets.h"

namespace hone::cli {

void declare(Arguments& arguments, data::LabelledData& data);

/// Has files be read as what the model reads, texts or images. Fails where the data is named and is
/// the other.
void match_samples(const std::string& model, data::LabelledData& data);

}  // namespace hone::cli
