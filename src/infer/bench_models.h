#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/batch.h"
#include "models/config.h"

/// The models and batches of benchmarks.
namespace hone::infer {

struct BenchShape {
  const char* model;
  int64_t hidden, intermediate, layers, heads;
};
inline constexpr BenchShape kBertBase = {"bert-base", 768, 3072, 12, 12};
inline constexpr BenchShape kMiniLm = {"minilm", 384, 1536, 6, 12};
inline constexpr BenchShape kRobertaBase = {"roberta-base", 768, 3072, 12, 12};

struct BenchCase {
  const char* name;
  BenchShape shape;
  int64_t batch;
  int64_t length;  ///< 0: SST-2's
};
std::vector<std::string> names_of(std::span<const BenchCase> cases);
/// An unknown name is a usage error that lists the known ones.
const BenchCase& find_case(std::span<const BenchCase> cases, const std::string& name);

models::EncoderConfig bench_config(const BenchShape& shape);

/// Random sequences, `batch` together. `length` 0: as long as `lengths` says, or where that is
/// empty as 872 draws like SST-2 dev's.
std::vector<models::Batch> make_bench_batches(int64_t batch, int64_t length,
                                              std::vector<int64_t> lengths,
                                              const models::EncoderConfig& config);

/// Of sorted values.
double at_share(const std::vector<double>& sorted, double share);

}  // namespace hone::infer
