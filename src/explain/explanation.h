#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hone::explain {

/// A part of a text and what it gave to the answer's logit.
struct Phrase {
  std::string text;
  int64_t start = 0;  ///< code points of the text, as is `end`
  int64_t end = 0;
  double share = 0;
  std::optional<double> ablated_score;  ///< the answer's score without this phrase
  std::optional<bool> flips;            ///< whether the answer is then another one
  std::string label = {};               ///< what the phrase speaks for most
};

/// A phrase of the training set that was looked up for a text.
struct Concept {
  std::string text;
  double share = 0;
  double similarity = 0;
  std::vector<std::pair<std::string, int64_t>> labels;  ///< how often it stood in rows of each
  int64_t row = 0;                                      ///< a row that it comes from
};

/// The parts of the answer's logit, which add up to it.
struct Shares {
  double label = 0;
  double local = 0;
  double global = 0;
};

/// An answer of a classifier with its reasons. What is empty or absent is not written.
struct Explanation {
  std::string text;
  std::string label;
  double score = 0;
  std::vector<std::pair<std::string, double>> scores;
  std::vector<std::string> chosen;  ///< the labels of a text that may have any number of them
  int64_t tokens = 0;
  bool truncated = false;
  int64_t original_tokens = 0;  ///< written where the text was cut
  std::vector<Phrase> phrases;
  std::vector<Concept> concepts;
  std::optional<Shares> shares;
  std::string tree;              ///< brackets over the text's words
  std::vector<std::string> cut;  ///< phrases that did not fit into the model
};

/// Appends the explanation as a JSON object on one line, without the text and without a line's end.
void append_json(const Explanation& explanation, std::string& out);

/// Appends the fields alone, without brackets.
void append_fields(const Explanation& explanation, std::string& out);

}  // namespace hone::explain
