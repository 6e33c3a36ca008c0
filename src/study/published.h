#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

/// Figures that others have published, which this program carries: they stand beside measured ones.
namespace hone::study {

/// Gives the published records of a study.
std::vector<Json> published_records(const std::string& study);

/// Gives the published prices and runs of the study of money, as src/study/published has them.
std::string_view published_money_text();
std::string_view published_text();

}  // namespace hone::study
