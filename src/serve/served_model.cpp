#include "serve/served_model.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "device/cpu_info.h"
#include "infer/session_worker.h"

namespace hone::serve {
namespace {

// A forward pass that is not older says that the device works.
constexpr double kFresh = 1;
// A batch may be under way for this long before the device counts as stuck.
constexpr double kStuck = 30;
// So many inputs may wait for a slow model, too: a few clients' batches of the usual size.
constexpr int64_t kAnyTimeInputs = 128;

}  // namespace

struct ServedModel::State {
  explicit State(const ModelSettings& given) : settings(given) {}

  void open();
  void close();
  bool has_fresh_pass() const;
  bool run_pass();

  ModelSettings settings;
  std::function<void(int64_t inputs, int64_t tokens)> heard;
  infer::JobQueue queue;
  std::vector<std::unique_ptr<infer::SessionWorker>> workers;
  std::mutex probing;
};

/// Starts the workers; those on the processor share its cores.
void ServedModel::State::open() {
  if (settings.devices.empty()) fail(ErrorKind::usage, "devices: there are none");
  const auto on_cpu = std::ranges::count(settings.devices, "cpu");
  for (const std::string& device : settings.devices) {
    infer::SessionWorker::Options options{.session = settings.session,
                                          .max_batch_tokens = settings.max_batch_tokens,
                                          .max_batch_inputs = settings.max_batch_requests,
                                          .first_pass = true,
                                          .sink = settings.sink};
    options.session.device = device;
    if (device == "cpu" && on_cpu > 1 && options.session.threads == 0) {
      options.session.threads = std::max(1, usable_cores() / static_cast<int>(on_cpu));
    }
    options.on_batch = [this](int64_t inputs, int64_t tokens) {
      if (heard) heard(inputs, tokens);
    };
    workers.push_back(
        std::make_unique<infer::SessionWorker>(queue, settings.folder, std::move(options)));
  }
  std::exception_ptr error;
  for (const auto& worker : workers) {
    try {
      worker->opened();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
  queue.set_limits({.inputs = settings.max_queue_inputs,
                    .tokens = settings.max_queue_tokens,
                    .max_length = workers.front()->session().max_units(),
                    .seconds = settings.max_queue_seconds,
                    .any_time = kAnyTimeInputs});
}

void ServedModel::State::close() {
  queue.close();
  workers.clear();
}

bool ServedModel::State::has_fresh_pass() const {
  return std::ranges::any_of(workers, [](const auto& worker) {
    const double since = worker->since_good_pass();
    if (since < 0) return false;
    const double under_way = worker->under_way();
    return since < kFresh || (under_way > 0 && under_way < kStuck);
  });
}

/// Runs a job of one short text, in front of the others.
bool ServedModel::State::run_pass() {
  static constexpr std::string_view kText = "a";
  const auto worked = std::make_shared<std::promise<bool>>();
  std::future<bool> answer = worked->get_future();
  Job job{.inputs = {{kText, std::nullopt}}};
  job.done = [worked](const JobResult& result) { worked->set_value(!result.error); };
  queue.submit_first(std::move(job));
  return answer.wait_for(std::chrono::duration<double>(kStuck)) == std::future_status::ready &&
         answer.get();
}

ServedModel::ServedModel(const ModelSettings& settings)
    : state_(std::make_unique<State>(settings)) {
  try {
    state_->open();
  } catch (...) {
    state_->close();
    throw;
  }
}

ServedModel::~ServedModel() { state_->close(); }

ServedModel::Admission ServedModel::submit(Job job) { return state_->queue.submit(std::move(job)); }

const infer::Session& ServedModel::session() const { return state_->workers.front()->session(); }

const ModelSettings& ServedModel::settings() const { return state_->settings; }

bool ServedModel::ready() {
  if (state_->has_fresh_pass()) return true;
  if (state_->queue.load().workers == 0) return false;
  const std::lock_guard lock(state_->probing);
  return state_->has_fresh_pass() || state_->run_pass();
}

ServedModel::Load ServedModel::load() const { return state_->queue.load(); }

ServedModel::Counts ServedModel::counts() const { return state_->queue.counts(); }

void ServedModel::on_batch(std::function<void(int64_t inputs, int64_t tokens)> heard) {
  state_->heard = std::move(heard);
}

}  // namespace hone::serve
