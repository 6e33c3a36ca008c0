#include "infer/request_queue.h"

#include <utility>

#include "base/error.h"

namespace hone::infer {

RequestQueue::RequestQueue(const std::string& model, const SessionOptions& options, RunSink* sink)
    : worker_(queue_, model, {.session = options, .sink = sink}) {
  worker_.opened();
}

RequestQueue::~RequestQueue() { stop(); }

void RequestQueue::stop() {
  queue_.stop(Error(ErrorKind::failed, "the model was closed before it answered"));
  worker_.join();
}

std::future<std::vector<Answer>> RequestQueue::ask(std::vector<Input> inputs,
                                                   std::shared_ptr<const void> texts) {
  return submit({.inputs = std::move(inputs), .texts = std::move(texts)});
}

std::future<std::vector<Answer>> RequestQueue::submit(Job job) {
  const auto promise = std::make_shared<std::promise<std::vector<Answer>>>();
  std::future<std::vector<Answer>> answers = promise->get_future();
  job.done = [promise](JobResult result) {
    if (result.error) {
      promise->set_exception(result.error);
    } else {
      promise->set_value(std::move(result.answers));
    }
  };
  queue_.submit(std::move(job));
  return answers;
}

void RequestQueue::while_idle(const std::function<void(const Times& times)>& read) const {
  worker_.while_idle([&](const SessionWorker::Times& times) {
    read({.requests = times.jobs, .busy = times.busy, .encode = times.encode});
  });
}

}  // namespace hone::infer
