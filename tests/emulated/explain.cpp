// What a parser and a self-explaining head do, by the processor's kernels where there are some.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "emulated/queue.h"
#include "kernels/cpu/chart.h"
#include "kernels/cpu/concept_attention.h"
#include "kernels/cpu/phrases.h"
#include "kernels/cpu/span_rows.h"
#include "kernels/cuda/api.h"

namespace hone::kernels::cuda {

using emulated::submit;

namespace {

ThreadPool& pool() {
  static ThreadPool one(1);
  return one;
}

PhrasePlaces places_of(const Phrases& at) { return {at.texts, at.offsets, at.phrases, at.spans}; }

}  // namespace

Status phrase_rows(const Phrases& at, const float* x, const float* u, float* y, Stream stream) {
  return submit(stream, [=] {
    std::fill_n(y, at.places * at.width, 0.0f);
    kernels::phrase_rows(x, u, places_of(at), at.width, y, pool());
  });
}
Status phrase_rows_backward(const Phrases& at, const float* dy, const float* x, float* dx,
                            float* du, Stream stream) {
  return submit(stream, [=] {
    if (dx) std::fill_n(dx, at.tokens * at.width, 0.0f);
    kernels::phrase_rows_backward(dy, x, places_of(at), at.width, dx, du, pool());
  });
}
Status phrase_means(const Phrases& at, const float* x, float* y, Stream stream) {
  return submit(stream, [=] { kernels::phrase_means(x, places_of(at), at.width, y, pool()); });
}
Status phrase_means_backward(const Phrases& at, const float* dy, float* dx, Stream stream) {
  return submit(stream, [=] {
    std::fill_n(dx, at.places * at.width, 0.0f);
    kernels::phrase_means_backward(dy, places_of(at), at.width, dx, pool());
  });
}

namespace {

ConceptAttentionSizes sizes_of(const ConceptAttention& a) {
  return {a.texts, a.neighbours, a.width, a.heads};
}
ConceptAttentionInputs<float> inputs_of(const ConceptAttention& a) {
  return {a.query, a.own, a.retrieved, a.found};
}

}  // namespace

Status concept_attention(const ConceptAttention& args, float* y, float* shares, Stream stream) {
  return submit(stream, [=] {
    kernels::concept_attention(inputs_of(args), sizes_of(args), y, shares, pool());
  });
}
Status concept_attention_backward(const ConceptAttention& args, const ConceptAttentionBackward& g,
                                  Stream stream) {
  return submit(stream, [=] {
    kernels::concept_attention_backward(g.dy, g.shares, inputs_of(args), sizes_of(args), g.dquery,
                                        g.down, g.dretrieved, pool());
  });
}
Status concept_contexts(const ConceptAttention& args, const float* shares, float* y,
                        Stream stream) {
  return submit(stream, [=] {
    kernels::concept_contexts(args.retrieved, shares, args.found, sizes_of(args), y, pool());
  });
}

namespace {

std::vector<float> query_of(const ConceptSearch& a, int64_t text) {
  std::vector<float> query(a.u + text * a.width, a.u + (text + 1) * a.width);
  if (!a.table->mean) return query;
  double squares = 0;
  for (size_t i = 0; i < query.size(); ++i) {
    query[i] -= a.table->mean[i];
    squares += double{query[i]} * double{query[i]};
  }
  const auto norm = static_cast<float>(std::sqrt(squares));
  for (float& value : query) value = norm > 0 ? value / norm : 0;
  return query;
}

void search(const ConceptSearch& a, int64_t text) {
  const ConceptTable& table = *a.table;
  const std::vector<float> query = query_of(a, text);
  const int64_t row = a.rows ? a.rows[text] : -1;
  const bool has_own = row >= 0 && row < table.rows;
  const int32_t* own = has_own ? table.own + table.own_begins[row] : nullptr;
  const int32_t* own_end = has_own ? table.own + table.own_begins[row + 1] : nullptr;
  std::vector<std::pair<float, int32_t>> all;
  for (int32_t i = 0; i < table.count; ++i) {
    double sum = table.biases ? table.biases[i] : 0;
    for (size_t c = 0; c < query.size(); ++c) {
      sum += double{query[c]} * table.vectors[i * table.stride + static_cast<int64_t>(c)];
    }
    const auto score = static_cast<float>(sum);
    if (!std::isnan(score) && !std::binary_search(own, own_end, i)) all.emplace_back(-score, i);
  }
  std::sort(all.begin(), all.end());
  for (int64_t i = 0; i < a.k; ++i) {
    const bool there = i < std::ssize(all);
    a.found[text * a.k + i] = there ? all[static_cast<size_t>(i)].second : -1;
    a.similarity[text * a.k + i] = there ? -all[static_cast<size_t>(i)].first : 0;
  }
}

}  // namespace

size_t search_concepts_workspace(int64_t, int64_t, int64_t) { return 0; }
Status search_concepts(const ConceptSearch& args, void*, Stream stream) {
  return submit(stream, [=] {
    for (int64_t text = 0; text < args.texts; ++text) search(args, text);
  });
}
Status concept_vectors(const ConceptTable* table, const int32_t* found, int64_t count,
                       int64_t width, float* y, Stream stream) {
  return submit(stream, [=] {
    for (int64_t i = 0; i < count * width; ++i) {
      const int64_t index = found[i / width], column = i % width;
      y[i] = index < 0 ? 0 : table->vectors[index * table->stride + column];
      if (index >= 0 && table->mean) y[i] = y[i] * table->norms[index] + table->mean[column];
    }
  });
}

namespace {

/// Says where spans lie. Offsets of tokens are read to clear their rows alone, which is done here.
SpanPlaces places_of(const Spans& spans, const int32_t* no_tokens) {
  return {spans.texts,        no_tokens,    spans.bound_offsets,
          spans.cell_offsets, spans.before, spans.behind};
}

std::vector<int32_t> no_tokens(const Spans& spans) {
  return std::vector<int32_t>(static_cast<size_t>(spans.texts + 1));
}

}  // namespace

Status span_rows(const Spans& spans, const float* x, int64_t width, float* y, Stream stream) {
  return submit(stream, [=] {
    std::fill_n(y, spans.cells * width, 0.0f);
    kernels::span_rows(x, places_of(spans, nullptr), width, y, pool());
  });
}
Status span_rows_backward(const Spans& spans, const float* dy, int64_t width, float* dx,
                          Stream stream) {
  return submit(stream, [=] {
    std::fill_n(dx, spans.tokens * 4 * width, 0.0f);
    const std::vector<int32_t> tokens = no_tokens(spans);
    kernels::span_rows_backward(dy, places_of(spans, tokens.data()), width, dx, pool());
  });
}

namespace {

int64_t words_of(const Spans& spans, int64_t text) {
  return spans.bound_offsets[text + 1] - spans.bound_offsets[text] - 1;
}

double text_loss(const TreeLoss& a, int64_t text, std::vector<std::byte>& memory) {
  const int64_t first = a.spans.cell_offsets[text], end = a.spans.cell_offsets[text + 1];
  float* const slopes = a.dscores ? a.dscores + first : nullptr;
  if (a.given && a.given[text] == 0) return 0;
  const int64_t words = words_of(a.spans, text);
  double loss = tree_partition<float>(a.scores + first, words, slopes, memory.data());
  const double factor = a.scale->scale * a.weight / a.scale->count;
  for (int64_t cell = first; cell < end; ++cell) {
    const bool whole = cell == first + chart_cell(words, 0, words);
    if (!whole) loss -= a.gold[cell] * double{a.scores[cell]};
    if (!slopes) continue;
    a.dscores[cell] =
        static_cast<float>(whole ? 0 : factor * (double{a.dscores[cell]} - a.gold[cell]));
  }
  return loss;
}

void parse_text(const ParsePhrases& a, int64_t text, std::vector<std::byte>& memory) {
  const int64_t words = words_of(a.spans, text), first = a.spans.cell_offsets[text];
  float* const marginals = a.marginals + first;
  std::vector<int32_t> spans(static_cast<size_t>(2 * kMostChartWords));
  tree_partition<float>(a.scores + first, words, marginals, memory.data());
  const int64_t count =
      best_tree<float>(marginals, words, a.threshold, spans.data(), memory.data());
  int32_t* to = a.out + 2 * a.phrases[text];
  const int64_t bound = a.spans.bound_offsets[text];
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const int32_t begin = spans[2 * i], end = spans[2 * i + 1];
    if (end - begin == words || to == a.out + 2 * a.phrases[text + 1]) continue;
    *to++ = a.spans.behind[bound + begin];
    *to++ = a.spans.before[bound + end] + 1;
  }
}

}  // namespace

Status tree_loss(const TreeLoss& args, void*, Stream stream) {
  return submit(stream, [a = args] {
    std::vector<std::byte> memory(kernels::chart_workspace());
    if (a.dscores) std::fill_n(a.dscores, a.spans.cells, 0.0f);
    double sum = 0;
    for (int64_t text = 0; text < a.spans.texts; ++text) {
      sum += a.losses[text] = text_loss(a, text, memory);
    }
    *a.total = a.weight * sum / a.scale->count;
  });
}
Status parse_phrases(const ParsePhrases& args, void*, Stream stream) {
  return submit(stream, [a = args] {
    std::vector<std::byte> memory(kernels::chart_workspace());
    std::fill_n(a.out, 2 * a.places, 0);
    for (int64_t text = 0; text < a.spans.texts; ++text) {
      const int32_t first = a.phrases[text], end = a.phrases[text + 1];
      if (a.given[text] != 0) {
        std::copy(a.known + 2 * first, a.known + 2 * end, a.out + 2 * first);
      } else if (end > first) {
        parse_text(a, text, memory);
      }
    }
  });
}

}  // namespace hone::kernels::cuda
