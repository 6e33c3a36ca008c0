#include "infer/word_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/utf8.h"
#include "infer/classify.h"
#include "trees/words.h"

namespace hone::infer {
namespace {

using trees::WordPlace;

constexpr double kInexact = 0.05;

uint32_t common(const text::Span& token, const WordPlace& word) {
  const uint32_t begin = std::max(token.begin, word.begin);
  const uint32_t end = std::min(token.end, word.end);
  return end > begin ? end - begin : 0;
}

/// Gives the word that has most of a token; of a token between words, the one before it.
size_t word_of(const text::Span& token, const std::vector<WordPlace>& words) {
  const auto behind =
      std::upper_bound(words.begin(), words.end(), token.begin,
                       [](uint32_t place, const WordPlace& word) { return place < word.begin; });
  auto best = static_cast<size_t>(behind - words.begin());
  best -= best > 0 ? 1 : 0;
  for (size_t i = best + 1; i < words.size() && words[i].begin < token.end; ++i) {
    if (common(token, words[i]) > common(token, words[best])) best = i;
  }
  return best;
}

std::vector<explain::Phrase> words_of(std::string_view raw, const TokenShares& tokens) {
  const std::string text = replace_invalid_utf8(raw);
  const std::vector<WordPlace> words = trees::split_words(text);
  std::vector<double> shares(words.size(), 0);
  std::vector<bool> seen(words.size(), false);
  for (size_t i = 0; !words.empty() && i < tokens.shares.size(); ++i) {
    if (tokens.special[i] != 0) continue;
    const size_t word = word_of(tokens.offsets[i], words);
    shares[word] += tokens.shares[i];
    seen[word] = true;
  }
  std::vector<size_t> bytes;
  for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) bytes.push_back(at);
  bytes.push_back(text.size());
  std::vector<explain::Phrase> phrases;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!seen[i]) continue;
    const auto [begin, end] = words[i];
    phrases.push_back(
        {text.substr(bytes[begin], bytes[end] - bytes[begin]), begin, end, shares[i], {}, {}});
  }
  std::stable_sort(phrases.begin(), phrases.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return phrases;
}

}  // namespace

explain::Explanation explanation_of(const models::ModelConfig& config, std::string_view text,
                                    const TokenShares& tokens) {
  const Prediction prediction = classify(config, tokens.logits);
  explain::Explanation explanation;
  explanation.text = text;
  explanation.label = prediction.label;
  explanation.score = prediction.score;
  for (size_t i = 0; i < prediction.scores.size(); ++i) {
    explanation.scores.emplace_back(config.labels[i], prediction.scores[i]);
  }
  for (const int64_t i : prediction.chosen) {
    explanation.chosen.push_back(config.labels[static_cast<size_t>(i)]);
  }
  explanation.tokens = std::ssize(tokens.shares);
  explanation.truncated = tokens.full_tokens > explanation.tokens;
  explanation.original_tokens = tokens.full_tokens;
  explanation.phrases = words_of(text, tokens);
  return explanation;
}

std::vector<explain::Explanation> GradientExplainer::explain(
    std::span<const std::string_view> texts) {
  const std::vector<TokenShares> found = gradients_.explain(texts);
  std::vector<explain::Explanation> explanations;
  for (size_t i = 0; i < texts.size(); ++i) {
    explanations.push_back(explanation_of(config(), texts[i], found[i]));
    const double sum = std::accumulate(found[i].shares.begin(), found[i].shares.end(), 0.0);
    const double error = std::abs(sum - found[i].difference);
    if (error > kInexact * std::abs(found[i].difference)) ++inexact_;
  }
  return explanations;
}

}  // namespace hone::infer
