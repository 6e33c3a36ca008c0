#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "infer/evaluate.h"

namespace hone::study {

/// One way to run a model where memory is short.
struct SmallVariant {
  DType dtype = DType::f32;
  bool exits = false;   ///< whether exits are used, where the model has them
  uint64_t budget = 0;  ///< bytes of the memory budget; 0: none

  /// Gives "fp32", "int8+exits+32MB".
  std::string name() const;
};

/// The measurements of one variant.
struct SmallResult {
  SmallVariant variant = {};
  std::string refused = {};  ///< why the variant cannot run; empty where the rest is there
  uint64_t model_bytes = 0;  ///< bytes of the weights in this dtype
  uint64_t peak_bytes = 0;   ///< most resident bytes of the whole process
  double p50_ms = 0;         ///< one text at a time, from its characters to its scores
  double p99_ms = 0;
  double per_second = 0;    ///< texts a second, in batches of 32
  std::string metric = {};  ///< the task's first metric
  double score = 0;
  int64_t samples = 0;
  double layers = 0;                 ///< mean layers of an answer
  std::vector<int64_t> labels = {};  ///< the answers, where a model gives one label a text
  /// What a layer takes of a text alone, as models::ExitCost has it; there without exits and
  /// budget.
  std::vector<double> layer_ms = {};
};

struct SmallOptions {
  /// Opens the data anew, from the start.
  std::function<std::unique_ptr<data::RecordStream>()> open;
  infer::EvaluateOptions evaluate = {};
  int threads = 0;
  int64_t max_length = 0;
  int64_t timed = 200;  ///< texts that are timed one at a time
};

/// Measures one variant in this process, whose peak memory is then its own: a process measures one
/// variant. A budget that cannot be met is a usage error, as it is of a Session.
SmallResult measure_small(const std::string& model, const SmallVariant& variant,
                          const SmallOptions& options);

/// Serializes a result, to hand it from one process to another.
Json to_json(const SmallResult& result);
/// `json` is what to_json() of this program gave for `variant`.
SmallResult small_result(const SmallVariant& variant, const Json& json);

}  // namespace hone::study
