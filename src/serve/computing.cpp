#include "serve/computing.h"

#include <charconv>

#include "base/error.h"

namespace hone::serve {
namespace {

// Values whose text takes a model's thread less time than to wake another one.
constexpr size_t kSmallAnswer = 1024;

struct Pending {
  CallPtr call;
  ComputeOptions options;
  Metrics& metrics;
  WriteAnswers write;
  int64_t characters;
  bool single;
};

void record(DurationHistograms& histograms, double total, const JobTimes& times) {
  histograms.total.record(total);
  histograms.tokenization.record(times.tokenization);
  histograms.queue.record(times.queue);
  histograms.inference.record(times.inference);
}

void add_headers(const ComputeFacts& facts, const LogEntry& entry, double total,
                 http::Response& response) {
  const auto ms = [](double seconds) {
    return std::to_string(static_cast<int64_t>(seconds * 1e3));
  };
  auto& headers = response.headers;
  headers.reserve(headers.size() + 12);
  headers.push_back({"x-compute-type", std::string(facts.type)});
  headers.push_back({"x-compute-time", ms(total)});
  headers.push_back({"x-compute-characters", std::to_string(facts.characters)});
  headers.push_back({"x-compute-tokens", std::to_string(entry.tokens)});
  headers.push_back({"x-total-time", ms(total)});
  headers.push_back({"x-tokenization-time", ms(facts.times.tokenization)});
  headers.push_back({"x-queue-time", ms(facts.times.queue)});
  headers.push_back({"x-inference-time", ms(facts.times.inference)});
  if (entry.truncated > 0) headers.push_back({"x-truncated-from", truncated_from(facts.inputs)});
}

void answer(const Pending& pending, const JobResult& result) {
  pending.call->guard([&] {
    ComputeFacts facts{.purpose = pending.options.purpose,
                       .type = pending.options.traits->compute_type,
                       .characters = pending.characters,
                       .single = pending.single,
                       .times = result.times};
    for (const infer::Answer& one : result.answers) {
      facts.inputs.push_back({one.tokens, one.full_tokens});
    }
    send_computed(pending.call, facts, pending.metrics,
                  [&](http::Response& response) { pending.write(result.answers, response); });
  });
}

size_t values_of(const JobResult& result) {
  size_t values = 0;
  for (const infer::Answer& one : result.answers) values += one.values.size();
  return values;
}

void finish(const std::shared_ptr<Pending>& pending, JobResult result, TaskQueue& writers) {
  if (result.error) {
    pending->call->entry().queue = result.times.queue;
    return pending->call->fail(request_error(result.error));
  }
  if (values_of(result) <= kSmallAnswer) return answer(*pending, result);
  auto shared = std::make_shared<JobResult>(std::move(result));
  const bool taken = writers.post([pending, shared] { answer(*pending, *shared); });
  if (!taken) answer(*pending, *shared);  // they are behind: better slow than lost
}

}  // namespace

Clock::time_point deadline_of(const http::Request& request) {
  const std::string* given = request.header("x-request-timeout-ms");
  if (!given) return Clock::time_point::max();
  constexpr int64_t kMost = 24 * 3600 * 1000;
  int64_t ms = 0;
  const char* end = given->data() + given->size();
  const auto [stop, error] = std::from_chars(given->data(), end, ms);
  if (error != std::errc() || stop != end || ms < 0 || ms > kMost) {
    throw RequestError(Failure::validation,
                       fmt::format("x-request-timeout-ms: expected a whole number from 0 to {}, "
                                   "got {}",
                                   kMost, quote(*given)));
  }
  return request.arrived + std::chrono::milliseconds(ms);
}

std::string truncated_from(std::span<const InputLength> inputs) {
  // Clients refuse headers beyond some KB; what is cut then is still counted by the metrics.
  constexpr size_t kLongest = 2048;
  std::string out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].truncated()) continue;
    if (out.size() > kLongest) return out + ",...";
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", i, inputs[i].full_tokens);
  }
  return out;
}

void count_request(const CallPtr& call, const Work& work, Purpose purpose, Metrics& metrics) {
  metrics.requests[work.single ? 0 : 1].add();
  metrics.inputs[static_cast<size_t>(purpose)].add(work.size());
  call->entry().inputs = static_cast<int64_t>(work.size());
}

void send_computed(const CallPtr& call, const ComputeFacts& facts, Metrics& metrics,
                   FunctionRef<void(http::Response& response)> write) {
  LogEntry& entry = call->entry();
  for (const InputLength& input : facts.inputs) {
    entry.tokens += input.tokens;
    entry.truncated += input.truncated() ? 1 : 0;
    metrics.input_length.record(static_cast<double>(input.tokens));
  }
  entry.tokenization = facts.times.tokenization;
  entry.queue = facts.times.queue;
  entry.inference = facts.times.inference;
  if (entry.truncated > 0) metrics.truncated.add(static_cast<uint64_t>(entry.truncated));
  http::Response response;
  write(response);
  const double total = call->seconds();
  add_headers(facts, entry, total, response);
  const auto purpose = static_cast<size_t>(facts.purpose);
  metrics.successes[facts.single ? 0 : 1].add();
  metrics.input_successes[purpose].add(facts.inputs.size());
  record(metrics.request, total, facts.times);
  record(metrics.input[purpose], total, facts.times);
  call->send(std::move(response));
}

void compute(const CallPtr& call, ServedModel& model, Work work, const ComputeOptions& options,
             Metrics& metrics, TaskQueue& writers, WriteAnswers write) {
  const auto pending = std::make_shared<Pending>(
      Pending{call, options, metrics, std::move(write), work.characters, work.single});
  count_request(call, work, options.purpose, metrics);
  Job job;
  job.inputs = std::move(work.inputs);
  job.ids = std::move(work.ids);
  job.texts = std::move(work.texts);
  job.truncate = work.truncate.value_or(options.truncate);
  job.truncate_left = work.truncate_left;
  job.token_vectors = options.token_embeddings;
  job.deadline = deadline_of(call->request());
  job.abandoned = [call] { return call->abandoned(); };
  job.done = [pending, &writers](JobResult result) { finish(pending, std::move(result), writers); };
  const auto admission = model.submit(std::move(job));
  if (admission.accepted) return;
  RequestError error(Failure::overloaded, "Model is overloaded");
  error.retry_after = admission.retry_after;
  call->fail(error);
}

}  // namespace hone::serve
