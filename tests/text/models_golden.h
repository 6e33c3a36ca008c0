#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/function_ref.h"
#include "base/json.h"
#include "base/utf8.h"
#include "text/model.h"

namespace hone::text {

/// Reads a golden file of tests/parity/text_models_goldens.py: `set_up` gets the lines that
/// describe a model, `check` the cases that follow. HONE_TEXT_GOLDENS names a folder other than
/// the committed one, for the full comparison.
inline void run_golden(const std::string& name, FunctionRef<void(const Json&)> set_up,
                       FunctionRef<void(const Json&)> check) {
  const char* folder = std::getenv("HONE_TEXT_GOLDENS");
  const std::string path =
      (folder != nullptr ? std::string(folder) : HONE_TEST_DIR "/goldens") + "/" + name;
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  int64_t cases = 0;
  for (std::string line; std::getline(in, line);) {
    const Json json = Json::parse(line);
    if (json.contains("kind")) {
      set_up(json);
      continue;
    }
    check(json);
    ++cases;
    if (testing::Test::HasFailure()) FAIL() << path << ": case " << cases << ": " << line;
  }
  EXPECT_GT(cases, 0) << path;
}

/// The pieces as the golden files write them; "error" where tokenising throws.
inline Json pieces_of(const Model& model, const std::string& text, Model::Scratch& scratch) {
  std::vector<Piece> pieces;
  try {
    model.tokenize(text, scratch, pieces);
  } catch (const Error&) {
    return "error";
  }
  Json out = Json::array();
  for (const Piece& piece : pieces) out.push_back({piece.id, piece.begin, piece.end});
  return out;
}

}  // namespace hone::text
