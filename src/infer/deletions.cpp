#include "infer/deletions.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/utf8.h"

namespace hone::infer {

DeletableText::DeletableText(std::string text) : text_(std::move(text)) {
  for (size_t at = 0; at < text_.size(); at += decode_utf8(text_, at).size) bytes_.push_back(at);
  bytes_.push_back(text_.size());
  words_ = trees::split_words(text_);
}

std::vector<bool> DeletableText::words_of(const explain::Phrase& phrase) const {
  std::vector<bool> in;
  for (const trees::WordPlace& word : words_) {
    in.push_back(int64_t{word.begin} >= phrase.start && int64_t{word.end} <= phrase.end);
  }
  return in;
}

std::vector<size_t> DeletableText::ranked(const std::vector<explain::Phrase>& phrases,
                                          const std::vector<double>& values) const {
  std::vector<double> best(size(), -std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < phrases.size(); ++i) {
    const std::vector<bool> in = words_of(phrases[i]);
    for (size_t word = 0; word < size(); ++word) {
      if (in[word]) best[word] = std::max(best[word], values[i]);
    }
  }
  std::vector<size_t> order(size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return best[a] > best[b]; });
  return order;
}

std::string DeletableText::kept(const std::vector<bool>& kept) const {
  std::string out;
  for (size_t i = 0; i < size(); ++i) {
    if (!kept[i]) continue;
    const size_t before = i > 0 ? bytes_[words_[i - 1].end] : 0;
    const size_t begin = bytes_[words_[i].begin];
    if (!out.empty()) {
      // Words that touched no others stay apart.
      const bool joined = begin == before && kept[i - 1];
      out += joined ? "" : begin == before ? " " : text_.substr(before, begin - before);
    }
    out += text_.substr(begin, bytes_[words_[i].end] - begin);
  }
  return out;
}

}  // namespace hone::infer
