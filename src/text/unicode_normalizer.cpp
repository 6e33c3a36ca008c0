#include <algorithm>
#include <utility>

#include "text/normalizer.h"
#include "text/unicode.h"

namespace hone::text {
namespace {

/// A character on its way, with the number of characters it adds to the source (0: replaces one, 1:
/// is inserted, negative: replaces that many more). The number moves with the character when marks
/// are put in order: `tokenizers` aligns them so.
struct Step {
  char32_t code;
  int change;
  int combining;
};

void decompose(std::string_view text, bool compat, std::vector<Step>& steps) {
  const Unicode& unicode = Unicode::tables();
  const uint16_t decomposing = compat ? kDecomposesCompat : kDecomposes;
  size_t marks = 0;  // where the current run of marks begins
  const auto by_class = [](const Step& a, const Step& b) { return a.combining < b.combining; };
  const auto sort_marks = [&] {
    std::stable_sort(steps.begin() + static_cast<ptrdiff_t>(marks), steps.end(), by_class);
  };
  const auto add = [&](char32_t code, int change) {
    const int combining = unicode.combining_class(code);
    if (combining == 0) {
      if (steps.size() - marks > 1) sort_marks();
      marks = steps.size() + 1;
    }
    steps.push_back({code, change, combining});
  };
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    at += c.size;
    if (!unicode.is(c.code, decomposing)) {
      add(c.code, 0);
      continue;
    }
    uint32_t memory[3];
    int change = 0;
    for (const uint32_t code : unicode.decompose(c.code, compat, memory)) {
      add(code, change);
      change = 1;
    }
  }
  if (steps.size() > marks) sort_marks();
}

/// Composes in place; steps that the starter before them takes up are removed.
void compose(std::vector<Step>& steps) {
  const Unicode& unicode = Unicode::tables();
  size_t out = 0;
  size_t starter = SIZE_MAX;
  int last = -1;  // combining class of the last step kept after the starter, -1 for none
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step step = steps[i];
    const bool blocked = starter == SIZE_MAX || (last != -1 && last >= step.combining);
    const char32_t composite = blocked ? 0 : unicode.compose(steps[starter].code, step.code);
    if (composite != 0) {
      steps[starter].code = composite;
      steps[starter].change += step.change - 1;
      continue;
    }
    steps[out] = step;
    if (step.combining == 0) {
      starter = out;
      last = -1;
    } else {
      last = step.combining;
    }
    ++out;
  }
  steps.resize(out);
}

}  // namespace

void UnicodeNormalizer::apply(AlignedText& text, AlignedText& spare) const {
  if (text.is_ascii()) return;
  thread_local std::vector<Step> steps;
  steps.clear();
  decompose(text.text(), compat_, steps);
  if (compose_) compose(steps);
  Rewriter rewriter(text, spare);
  for (const Step& step : steps) rewriter.step(step.code, step.change);
  std::swap(text, spare);
}

}  // namespace hone::text
