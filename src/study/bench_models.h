#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/processor.h"
#include "data/text_batch.h"
#include "models/model_config.h"

/// The models and batches of benchmarks.
namespace hone::study {

struct BenchShape {
  const char* model;
  int64_t hidden, intermediate, layers, heads;  ///< zero: the family's named config says it
  bool is_lstm() const { return layers > 0 && heads == 0; }
  bool is_resnet() const { return layers == 0; }
};
inline constexpr BenchShape kBertBase = {"bert-base", 768, 3072, 12, 12};
inline constexpr BenchShape kMiniLm = {"minilm", 384, 1536, 6, 12};
inline constexpr BenchShape kRobertaBase = {"roberta-base", 768, 3072, 12, 12};
inline constexpr BenchShape kLstm = {"lstm", 32, 0, 2, 0};  ///< the reference LSTM

inline constexpr BenchShape kResNet18 = {"resnet18", 0, 0, 0, 0};
inline constexpr BenchShape kResNet34 = {"resnet34", 0, 0, 0, 0};
inline constexpr BenchShape kResNet50 = {"resnet50", 0, 0, 0, 0};
inline constexpr BenchShape kResNet18Cifar = {"resnet18-cifar", 0, 0, 0, 0};
inline constexpr BenchShape kResNet34Cifar = {"resnet34-cifar", 0, 0, 0, 0};
inline constexpr BenchShape kResNet50Cifar = {"resnet50-cifar", 0, 0, 0, 0};

struct BenchCase {
  const char* name;
  BenchShape shape;
  int64_t batch;
  int64_t length;  ///< 0: SST-2's; of images the side, where 1 is the usual one
};
std::vector<std::string> names_of(std::span<const BenchCase> cases);
/// Finds a case; an unknown name is a usage error that lists the known ones.
const BenchCase& find_case(std::span<const BenchCase> cases, const std::string& name);

/// Gives the shape's config. Encoders drop `dropout` everywhere, the LSTM what the reference does.
std::unique_ptr<models::ModelConfig> bench_config(const BenchShape& shape, float dropout = 0);
/// Gives what says the size of the case's images; null: as the model usually has it.
std::unique_ptr<data::Processor> bench_processor(const BenchCase& bench);
/// Makes random sequences for a model of bench_config(), `batch` together. `length` 0: as long as
/// `lengths` says, or where that is empty as 872 draws like SST-2 dev's. Models of images get one
/// batch.
std::vector<data::Batch> make_bench_batches(int64_t batch, int64_t length,
                                            std::vector<int64_t> lengths,
                                            const models::ModelConfig& config);

/// Gives the value at a share of sorted values, as 0.5 for the median.
double at_share(const std::vector<double>& sorted, double share);

}  // namespace hone::study
