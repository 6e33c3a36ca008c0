// Attention and its backward pass in double, plainly: what gradient checks difference, and what the
// tests hold the vector kernels to.

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/attention_backward.h"

namespace hone::kernels {
namespace {

/// One query of one head against its sequence's keys.
struct QueryF64 {
  QueryF64(const AttentionShape& shape_, const RelativePositionsOf<double>& relative_,
           const Dropout& dropout_, int64_t sequence, int64_t head_, int64_t row_)
      : shape(shape_),
        relative(relative_),
        dropout(dropout_),
        head(head_),
        row(row_),
        first_key(shape_.k_offsets[sequence]),
        keys(shape_.k_offsets[sequence + 1] - first_key),
        place(relative_.q_positions ? relative_.q_positions[row_]
                                    : row_ - shape_.q_offsets[sequence]) {}

  const double* at(HeadRows<double> rows, int64_t i) const {
    return rows.data + i * rows.stride + head * shape.head_size;
  }
  double* at(HeadGradients<double> rows, int64_t i) const {
    return rows.data + i * rows.stride + head * shape.head_size;
  }
  int64_t distance(int64_t j) const {
    return (place - j + relative.positions - 1) * shape.head_size;
  }
  double factor(int64_t j) const { return attention_factor(dropout, row, head, j); }

  double score(HeadRows<double> q, HeadRows<double> k, int64_t j) const {
    const double* query = at(q, row);
    const double* key = at(k, first_key + j);
    double sum = 0;
    for (int64_t i = 0; i < shape.head_size; ++i) sum += query[i] * key[i];
    if (relative.distances) {
      const double* e = relative.distances + distance(j);
      for (int64_t i = 0; i < shape.head_size; ++i) {
        sum += e[i] * (query[i] + (relative.with_keys ? key[i] : 0.0));
      }
    }
    return shape.scale * sum;
  }

  const AttentionShape& shape;
  const RelativePositionsOf<double>& relative;
  const Dropout& dropout;
  int64_t head, row, first_key, keys, place;
};

template <typename Body>
void for_queries(const AttentionShape& shape, const RelativePositionsOf<double>& relative,
                 const Dropout& dropout, const Body& body) {
  for (int64_t s = 0; s < shape.sequences; ++s) {
    for (int64_t head = 0; head < shape.heads; ++head) {
      for (int64_t row = shape.q_offsets[s]; row < shape.q_offsets[s + 1]; ++row) {
        body(QueryF64(shape, relative, dropout, s, head, row));
      }
    }
  }
}

void zero(HeadGradients<double> rows, int64_t count, int64_t width) {
  for (int64_t i = 0; i < count; ++i) std::fill_n(rows.data + i * rows.stride, width, 0.0);
}

}  // namespace

void attention(const AttentionShape& shape, HeadRows<double> q, HeadRows<double> k,
               HeadRows<double> v, const RelativePositionsOf<double>& relative, double* out,
               double* log_sums, ThreadPool&, const Dropout& dropout) {
  for_queries(shape, relative, dropout, [&](const QueryF64& query) {
    std::vector<double> scores(query.keys);
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t j = 0; j < query.keys; ++j) {
      scores[j] = query.score(q, k, j);
      largest = std::max(largest, scores[j]);
    }
    for (const double score : scores) total += std::exp(score - largest);
    double* y = out + (query.row * shape.heads + query.head) * shape.head_size;
    std::fill_n(y, shape.head_size, 0.0);
    for (int64_t j = 0; j < query.keys; ++j) {
      const double weight = std::exp(scores[j] - largest) / total * query.factor(j);
      const double* value = query.at(v, query.first_key + j);
      for (int64_t i = 0; i < shape.head_size; ++i) y[i] += weight * value[i];
    }
    if (log_sums) log_sums[query.row * shape.heads + query.head] = largest + std::log(total);
  });
}

template <>
void attention_backward(const AttentionShape& shape, const AttentionBackward<double>& args, void*,
                        ThreadPool&) {
  const int64_t depth = shape.head_size, width = shape.heads * depth;
  zero(args.dq, shape.q_offsets[shape.sequences], width);
  zero(args.dk, shape.k_offsets[shape.sequences], width);
  zero(args.dv, shape.k_offsets[shape.sequences], width);
  for_queries(shape, args.relative, args.dropout, [&](const QueryF64& query) {
    const int64_t at = query.row * shape.heads + query.head;
    const double* dout = args.dout + at * depth;
    double mean = 0;  // mean of the probabilities' gradients, under the probabilities
    for (int64_t i = 0; i < depth; ++i) mean += dout[i] * args.out[at * depth + i];
    for (int64_t j = 0; j < query.keys; ++j) {
      const int64_t row = query.first_key + j;
      const double p = std::exp(query.score(args.q, args.k, j) - args.log_sums[at]);
      const double kept = query.factor(j);
      double dp = 0;
      for (int64_t i = 0; i < depth; ++i) dp += dout[i] * query.at(args.v, row)[i];
      for (int64_t i = 0; i < depth; ++i) query.at(args.dv, row)[i] += p * kept * dout[i];
      const double ds = p * (dp * kept - mean) * double{shape.scale};
      const double* q = query.at(args.q, query.row);
      const double* k = query.at(args.k, row);
      for (int64_t i = 0; i < depth; ++i) {
        query.at(args.dq, query.row)[i] += ds * k[i];
        query.at(args.dk, row)[i] += ds * q[i];
      }
      if (!args.relative.distances) continue;
      const bool with_keys = args.relative.with_keys;
      for (int64_t i = 0; i < depth; ++i) {
        const double e = args.relative.distances[query.distance(j) + i];
        query.at(args.dq, query.row)[i] += ds * e;
        if (with_keys) query.at(args.dk, row)[i] += ds * e;
        if (args.ddistances) {
          args.ddistances[query.distance(j) + i] += ds * (q[i] + (with_keys ? k[i] : 0.0));
        }
      }
    }
  });
}

}  // namespace hone::kernels
