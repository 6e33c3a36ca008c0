#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "infer/evaluate.h"

namespace hone::infer {

/// One way to run a model where memory is short.
struct SmallVariant {
  DType dtype = DType::f32;
  bool exits = false;   ///< of a model that has them
  uint64_t budget = 0;  ///< of memory, in bytes; 0: none

  /// "fp32", "int8+exits+32MB".
  std::string name() const;
};

/// What it gives.
struct SmallResult {
  SmallVariant variant = {};
  std::string refused = {};  ///< why it cannot be; empty where the rest is there
  uint64_t model_bytes = 0;  ///< of the weights in this dtype
  uint64_t peak_bytes = 0;   ///< resident, of the whole process
  double p50_ms = 0;         ///< one text at a time, from its characters to its scores
  double p99_ms = 0;
  double per_second = 0;    ///< texts, in batches of 32
  std::string metric = {};  ///< the first of the task's
  double score = 0;
  int64_t samples = 0;
  double layers = 0;                 ///< mean
  std::vector<int64_t> labels = {};  ///< the answers; of a model that gives one label a text
};

struct SmallOptions {
  /// Opens the data anew.
  std::function<std::unique_ptr<data::RecordStream>()> open;
  EvaluateOptions evaluate = {};
  int threads = 0;
  int64_t max_length = 0;
  int64_t timed = 200;  ///< texts that are timed one at a time
};

/// Measures one variant in this process, whose peak memory is then its own: for one variant a
/// process. A budget that cannot be met is a usage error, as it is of a Session.
SmallResult measure_small(const std::string& model, const SmallVariant& variant,
                          const SmallOptions& options);

/// From one process to another.
Json to_json(const SmallResult& result);
/// `json` is what to_json() of this program gave for `variant`.
SmallResult small_result(const SmallVariant& variant, const Json& json);

}  // namespace hone::infer
