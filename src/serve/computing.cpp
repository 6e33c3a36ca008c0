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

void count_answers(const Pending& pending, const JobResult& result, LogEntry& entry) {
  for (const infer::Answer& answer : result.answers) {
    entry.tokens += answer.tokens;
    entry.truncated += answer.truncated() ? 1 : 0;
    pending.metrics.input_length.record(static_cast<double>(answer.tokens));
  }
  entry.tokenization = result.times.tokenization;
  entry.queue = result.times.queue;
  entry.inference = result.times.inference;
  if (entry.truncated > 0) pending.metrics.truncated.add(static_cast<uint64_t>(entry.truncated));
}

void record(DurationHistograms& histograms, double total, const JobTimes& times) {
  histograms.total.record(total);
  histograms.tokenization.record(times.tokenization);
  histograms.queue.record(times.queue);
  histograms.inference.record(times.inference);
}

void add_headers(const Pending& pending, const LogEntry& entry, double total,
                 http::Response& response) {
  const auto ms = [](double seconds) {
    return std::to_string(static_cast<int64_t>(seconds * 1e3));
  };
  auto& headers = response.headers;
  headers.reserve(headers.size() + 12);
  headers.push_back({"x-compute-type", std::string(pending.options.traits->compute_type)});
  headers.push_back({"x-compute-time", ms(total)});
  headers.push_back({"x-compute-characters", std::to_string(pending.characters)});
  headers.push_back({"x-compute-tokens", std::to_string(entry.tokens)});
  headers.push_back({"x-total-time", ms(total)});
  headers.push_back({"x-tokenization-time", ms(entry.tokenization)});
  headers.push_back({"x-queue-time", ms(entry.queue)});
  headers.push_back({"x-inference-time", ms(entry.inference)});
}

void answer(const Pending& pending, const JobResult& result) {
  const CallPtr& call = pending.call;
  call->guard([&] {
    count_answers(pending, result, call->entry());
    http::Response response;
    pending.write(result.answers, response);
    const double total = call->seconds();
    add_headers(pending, call->entry(), total, response);
    if (call->entry().truncated > 0) {
      response.headers.push_back({"x-truncated-from", truncated_from(result.answers)});
    }
    const auto purpose = static_cast<size_t>(pending.options.purpose);
    pending.metrics.successes[pending.single ? 0 : 1].add();
    pending.metrics.input_successes[purpose].add(result.answers.size());
    record(pending.metrics.request, total, result.times);
    record(pending.metrics.input[purpose], total, result.times);
    call->send(std::move(response));
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

std::string truncated_from(std::span<const infer::Answer> answers) {
  // Clients refuse headers beyond some KB; what is cut then is still counted by the metrics.
  constexpr size_t kLongest = 2048;
  std::string out;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].truncated()) continue;
    if (out.size() > kLongest) return out + ",...";
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", i, answers[i].full_tokens);
  }
  return out;
}

void compute(const CallPtr& call, ServedModel& model, Work work, const ComputeOptions& options,
             Metrics& metrics, TaskQueue& writers, WriteAnswers write) {
  const auto pending = std::make_shared<Pending>(
      Pending{call, options, metrics, std::move(write), work.characters, work.single});
  metrics.requests[work.single ? 0 : 1].add();
  metrics.inputs[static_cast<size_t>(options.purpose)].add(work.size());
  call->entry().inputs = static_cast<int64_t>(work.size());
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
