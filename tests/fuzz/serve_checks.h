#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "models/model_config.h"
#include "serve/errors.h"
#include "serve/work.h"

namespace hone::serve {

inline constexpr size_t kFuzzInputs = 8;

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// A classifier of two labels.
inline const models::ModelConfig& fuzz_config() {
  static const auto config = [] {
    const std::string file = HONE_TESTS "/models/goldens/bert-words/config.json";
    return models::read_model_config(parse_json(read_file(file), file), file);
  }();
  return *config;
}

/// Runs `work`, which may refuse what it reads with a RequestError of one line that says nothing of
/// our own mistakes; whether it did not refuse. Anything else ends the process.
template <typename Reading>
bool takes(Reading&& reading) {
  try {
    reading();
    return true;
  } catch (const RequestError& error) {
    require(error.failure() != Failure::internal);
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    for (const WireFormat format : {WireFormat::tei, WireFormat::kserve, WireFormat::openai}) {
      require(Json::accept(error_body(format, error)));
    }
    return false;
  }
}

/// What a model may rely on in work that was taken.
inline void check_work(const Work& work, bool may_be_empty = false) {
  require(work.size() > 0 && work.size() <= kFuzzInputs);
  require(work.inputs.empty() || work.ids.empty());
  for (const infer::Input& input : work.inputs) {
    require(is_valid_utf8(input.text) && is_valid_utf8(input.pair.value_or("")));
    require(may_be_empty || !input.text.empty() || !input.pair.value_or("").empty());
  }
  for (const std::vector<int32_t>& ids : work.ids) {
    require(!ids.empty());
    for (const int32_t id : ids) require(id >= 0);
  }
}

/// Makes as many answers as there are inputs, each of `width` values.
inline std::vector<infer::Answer> made_answers(const Work& work, size_t width) {
  std::vector<infer::Answer> answers(work.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    for (size_t k = 0; k < width; ++k) {
      answers[i].values.push_back(0.25f * static_cast<float>(i) - static_cast<float>(k));
    }
    answers[i].tokens = 4;
    answers[i].full_tokens = 4 + static_cast<int64_t>(i % 2);
  }
  return answers;
}

}  // namespace hone::serve
