#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/function_ref.h"
#include "serve/call.h"
#include "serve/model_traits.h"
#include "serve/served_model.h"
#include "serve/task_queue.h"

namespace hone::serve {

/// The tokens of an input that were read, and those that it has.
struct InputLength {
  int64_t tokens = 0;
  int64_t full_tokens = 0;

  bool truncated() const { return full_tokens > tokens; }
};

/// Says how a request was computed.
struct ComputeFacts {
  Purpose purpose = Purpose::predict;
  std::string_view type = "cpu";  ///< x-compute-type
  int64_t characters = 0;
  bool single = false;
  JobTimes times = {};
  std::vector<InputLength> inputs = {};
};

/// Counts a request that is about to be computed.
void count_request(const CallPtr& call, const Work& work, Purpose purpose, Metrics& metrics);
/// Sends what `write`, which may throw, makes of what was computed, with the headers, the metrics
/// and the log that belong to it.
void send_computed(const CallPtr& call, const ComputeFacts& facts, Metrics& metrics,
                   FunctionRef<void(http::Response& response)> write);

/// Fills the response with the answers, once, in another thread. It may throw.
using WriteAnswers =
    std::function<void(std::span<const infer::Answer> answers, http::Response& response)>;

/// What a request wants of a model.
struct ComputeOptions {
  Purpose purpose = Purpose::predict;
  bool truncate = true;           ///< counts where the request does not say
  bool token_embeddings = false;  ///< every token's vector
  std::shared_ptr<const ModelTraits> traits;
};

/// Hands work to a model and sends what `write` makes of the answers, with the headers, the metrics
/// and the log that belong to it. Large answers are written by `writers`, small ones by the model's
/// own thread. A full queue, and whatever else goes wrong, ends the call as a failure.
void compute(const CallPtr& call, ServedModel& model, Work work, const ComputeOptions& options,
             Metrics& metrics, TaskQueue& writers, WriteAnswers write);

/// x-request-timeout-ms as a point in time; the end of time where there is none.
Clock::time_point deadline_of(const http::Request& request);

/// "0=812,3=1024": which inputs were cut, and from how many tokens. Empty where none was.
std::string truncated_from(std::span<const InputLength> inputs);

}  // namespace hone::serve
