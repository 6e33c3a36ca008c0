#pragma once

#include <span>
#include <vector>

#include "explain/concept_set.h"
#include "explain/top_k.h"

/// A hub is a concept that is near to every sentence, and so would be the answer to everything.
namespace hone::explain {

/// Gives how many rows lie between two of those that hubs are told by: a few thousand are enough.
int64_t hub_stride(int64_t rows);

/// Gives a bias a concept that makes hubs no nearer than others: minus the mean of the concept's k
/// largest inner products with `sentences` [count, width]. That is twice what cross-domain
/// similarity local scaling takes off, which leaves too many hubs. `rows` have no biases yet.
std::vector<float> hub_biases(const ConceptRows& rows, const float* sentences, int64_t count,
                              int64_t k, ThreadPool& pool);

/// Sets the biases of vectors by sentences as the model gave them, [count, width].
void correct_hubs(std::span<const float> sentences, SearchVectors& vectors, ThreadPool& pool);

/// Gives the share of the queries that found the concept which most of them found; `found` has k
/// neighbours a query. 0 where there is no query.
double commonest_share(std::span<const Neighbour> found, int64_t k);

}  // namespace hone::explain
