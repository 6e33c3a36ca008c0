#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/records.h"

namespace hone::data {

/// A constituent of a sentence with the sentiment that the grammar gives it: 0 very negative,
/// 2 neutral, 4 very positive.
struct SentimentTree {
  int label = 2;
  std::string word;  ///< the word of a leaf; empty otherwise
  std::vector<SentimentTree> children;

  /// Gives the leaves with a space between them.
  std::string text() const;
  /// Gives the tree as the Stanford Sentiment Treebank writes it: "(3 (2 not) (1 dull))".
  std::string brackets() const;
};

struct ReviewOptions {
  uint64_t seed = 1;
  /// The share of the training split's labels that are flipped. Trees and other splits stay true.
  double label_noise = 0;
  /// Sentences a split.
  int64_t train = 20000, validation = 2000, test = 2000;
};

/// Makes sentence `index` of a seed, a pure function of both: a short film review whose sentiment
/// follows from its grammar. There is negation ("not a good film"), contrast (in "the plot is dull
/// but the acting saves it" the clause after "but" decides; with "although" the other one),
/// reported opinion ("nobody would say that ..."), degrees, and neutral filler with names that are
/// in no vocabulary. Words are about as frequent in both classes, so that counting them does not
/// solve the task. The root's label is never 2.
SentimentTree make_review(uint64_t seed, uint64_t index);

/// Gives "train", "validation" or "test" (8:1:1), by a hash of the text in which all names are
/// alike.
std::string_view review_split(std::string_view text);

/// Opens the records of a split, in the order of make_review's index, without repeats; labels are
/// "negative" and "positive", a record's row is the index plus one. No sentence is in two splits,
/// not even with other names in it.
std::unique_ptr<RecordStream> open_reviews(const ReviewOptions& options, const std::string& split);

/// Gives all words (and punctuation) that reviews are made of, as BERT's tokenizer splits them,
/// sorted; names of people are not among them.
std::vector<std::string> reviews_vocabulary();

/// Gives the text of a tokenizer.json for that vocabulary: WordPiece as BERT's, lower case, [PAD]
/// 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4.
std::string reviews_tokenizer_json();

}  // namespace hone::data
