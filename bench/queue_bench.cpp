// What the queue of a served model costs beside a session: for one text at a time, and in texts a
// second where many jobs of one text wait. Usage: queue_bench MODEL TEXTS [SECONDS]; TEXTS has one
// text a line.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "data/records.h"
#include "infer/line_answers.h"
#include "infer/session.h"
#include "serve/served_model.h"

namespace hone {
namespace {

using serve::Clock;

double seconds_from(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

double at_share(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Gives the seconds from submit() to the call of done().
double time_job(serve::ServedModel& model, const std::string& text,
                const std::vector<float>& expected) {
  std::promise<Clock::time_point> done;
  serve::Job job{.inputs = {{text, std::nullopt}}};
  job.done = [&](const serve::JobResult& result) {
    const Clock::time_point end = Clock::now();
    if (result.error || result.answers[0].values != expected) fmt::print("WRONG ANSWER\n");
    done.set_value(end);
  };
  const Clock::time_point begin = Clock::now();
  model.submit(std::move(job));
  return seconds_from(begin, done.get_future().get());
}

void measure_latency(infer::Session& session, serve::ServedModel& model,
                     const std::vector<std::string>& texts, double seconds, int pause_us) {
  std::vector<double> direct;
  std::vector<double> queued;
  const Stopwatch watch;
  for (size_t i = 0; watch.seconds() < seconds; ++i) {
    const std::string& text = texts[i % texts.size()];
    const infer::Input input{text, std::nullopt};
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    const Clock::time_point begin = Clock::now();
    const std::vector<infer::Answer> answers = session.run({&input, 1});
    direct.push_back(seconds_from(begin, Clock::now()));
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    queued.push_back(time_job(model, text, answers[0].values));
  }
  for (const double share : {0.5, 0.99}) {
    const double alone = at_share(direct, share) * 1e6;
    const double through = at_share(queued, share) * 1e6;
    fmt::print(
        "one text, pause {:4} us, p{:<2.0f}  session {:7.0f} us  queue {:7.0f} us  added {:5.0f} "
        "us\n",
        pause_us, share * 100, alone, through, through - alone);
  }
}

class RepeatedRecords : public data::RecordStream {
 public:
  RepeatedRecords(const std::vector<std::string>& texts, size_t count)
      : texts_(texts), left_(count) {}
  bool next(data::Record& record) override {
    if (left_ == 0) return false;
    record.text = texts_[left_-- % texts_.size()];
    return true;
  }
  bool waiting() override { return true; }
  std::string where(const data::Record&) const override { return "repeated"; }

 private:
  const std::vector<std::string>& texts_;
  size_t left_;
};

double pipeline_rate(infer::Session& session, const std::vector<std::string>& texts, size_t count) {
  RepeatedRecords records(texts, count);
  const Stopwatch watch;
  infer::answer_lines(session, records, {});
  return static_cast<double>(count) / watch.seconds();
}

/// Jobs of `size` texts each, `waiting` of them at a time.
double queue_rate(serve::ServedModel& model, const std::vector<std::string>& texts, size_t count,
                  size_t size, size_t waiting) {
  std::mutex mutex;
  std::condition_variable answered;
  size_t under_way = 0;
  const Stopwatch watch;
  for (size_t i = 0; i < count; i += size) {
    serve::Job job;
    for (size_t k = 0; k < size; ++k) {
      job.inputs.push_back({texts[(i + k) % texts.size()], std::nullopt});
    }
    job.done = [&](const serve::JobResult& result) {
      if (result.error) fmt::print("WRONG ANSWER\n");
      const std::lock_guard lock(mutex);
      if (--under_way % 16 == 0) answered.notify_one();
    };
    std::unique_lock lock(mutex);
    answered.wait(lock, [&] { return under_way < waiting; });
    ++under_way;
    lock.unlock();
    model.submit(std::move(job));
  }
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return under_way == 0; });
  return static_cast<double>(count) / watch.seconds();
}

int run(int argc, char** argv) {
  if (argc < 3) {
    fmt::print("usage: queue_bench MODEL TEXTS [SECONDS] [DEVICE] [DTYPE]\n");
    return 2;
  }
  const double seconds = argc > 3 ? std::stod(argv[3]) : 5;
  std::vector<std::string> texts;
  std::ifstream file(argv[2]);
  for (std::string line; std::getline(file, line);) texts.push_back(line);
  serve::ModelSettings settings;
  settings.folder = argv[1];
  settings.max_queue_inputs = 1'000'000;
  settings.devices = {argc > 4 ? argv[4] : "cpu"};
  settings.session.device = settings.devices[0];
  if (argc > 5 && std::string(argv[5]) == "bf16") settings.session.dtype = DType::bf16;
  infer::Session session(settings.folder, settings.session);
  serve::ServedModel model(settings);
  for (const int pause : {0, 500, 5000}) measure_latency(session, model, texts, seconds, pause);
  const auto count = static_cast<size_t>(pipeline_rate(session, texts, 512) * seconds);
  const size_t waiting = static_cast<size_t>(session.pass_units()) / 2;
  for (int round = 0; round < 3; ++round) {
    const double alone = pipeline_rate(session, texts, count);
    for (const size_t size : {size_t{1}, size_t{32}}) {
      const double queued = queue_rate(model, texts, count / size * size, size, waiting / size + 1);
      fmt::print(
          "saturated, jobs of {:2}  pipeline {:8.0f} texts/s  queue {:8.0f} texts/s  ratio "
          "{:.3f}\n",
          size, alone, queued, queued / alone);
    }
  }
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) { return hone::run(argc, argv); }
