// Two ranks whose link is slow: what it is worth that sums go on while the backward pass does.
//   overlap_bench CONFIG TOKENIZER TRAIN_FILE OUTPUT BATCH STEPS ROUNDS
// The link is a sleep: whoever sums waits for as long as the bytes would take, so that the cores
// are free meanwhile. It is made so slow that a step's sums take as long as its backward pass.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "comm/exchange.h"
#include "comm/host_memory.h"
#include "train/run.h"

namespace hone {
namespace {

constexpr int kRanks = 2;

/// Ranks of one host as if there were a link between them.
class SlowLink : public comm::Exchange {
 public:
  SlowLink(std::unique_ptr<comm::Exchange> host, double bytes_per_second)
      : host_(std::move(host)), bytes_per_second_(bytes_per_second) {}
  int rank() const override { return host_->rank(); }
  const std::vector<std::string>& hosts() const override { return host_->hosts(); }
  int rank_of_host() const override { return host_->rank_of_host(); }
  int ranks_of_host() const override { return host_->ranks_of_host(); }
  int64_t place_of(const void* data, size_t bytes) const override {
    return host_->place_of(data, bytes);
  }
  void meet(const comm::Collective& collective) override { host_->meet(collective); }
  void* window(const comm::Collective& collective) override { return host_->window(collective); }
  void sum(const comm::Collective& collective, void* data) override {
    host_->sum(collective, data);
    // A ring sends and receives twice (ranks - 1) / ranks of the array.
    send(static_cast<double>(collective.bytes) * 2 * (kRanks - 1) / kRanks);
  }
  void gather(const comm::Collective& collective, std::string_view own,
              std::vector<std::string>& all) override {
    host_->gather(collective, own, all);
    size_t bytes = 0;
    for (const std::string& each : all) bytes += each.size();
    send(static_cast<double>(bytes - own.size()));
  }
  void broadcast(const comm::Collective& collective, void* data) override {
    host_->broadcast(collective, data);
    send(static_cast<double>(collective.bytes));
  }
  bool stop_all(const std::string& why, bool found_by_others) override {
    return host_->stop_all(why, found_by_others);
  }
  void fail_run(const std::string& why) override { host_->fail_run(why); }
  bool told_here() const override { return host_->told_here(); }
  std::string failure() const override { return host_->failure(); }
  void check() const override { host_->check(); }
  void leave() override { host_->leave(); }

 private:
  void send(double bytes) const {
    if (bytes_per_second_ <= 0) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(bytes / bytes_per_second_));
  }
  std::unique_ptr<comm::Exchange> host_;
  double bytes_per_second_;
};

class Silent : public train::Observer {
 public:
  void say(const std::string&) override {}
  void warn(const std::string&) override {}
  void progress(const train::Progress&) override {}
  void logged(const train::LogEntry&) override {}
  bool stop_requested() override { return false; }
};

/// Trains as two forked ranks; gives what the first one wrote.
Json train_on(train::Options options, double bytes_per_second, bool overlap) {
  std::filesystem::remove_all(options.output + "/log.jsonl");
  const int memory = comm::HostMemory::create(kRanks);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(::fork());
    if (ranks.back() != 0) continue;
    try {
      comm::Options how;
      how.overlap = overlap;
      comm::Communicator all(
          std::make_unique<SlowLink>(comm::make_host_exchange(memory, rank, kRanks, how.watch),
                                     bytes_per_second),
          how);
      Silent silent;
      train::run(options, silent, all);
    } catch (const std::exception& error) {
      fmt::print(stderr, "rank {}: {}\n", rank, error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(memory);
  for (const pid_t rank : ranks) {
    int status = 0;
    ::waitpid(rank, &status, 0);
    if (status != 0) fail(ErrorKind::failed, "a rank failed");
  }
  const std::string file = options.output + "/all_results.json";
  return parse_json(read_file(file), file);
}

double seconds_of(const Json& results, int64_t steps) {
  return results.at("train_runtime").get<double>() / static_cast<double>(steps);
}

int run(char** words) {
  train::Options options;
  options.model.config = words[1];
  options.model.tokenizer = words[2];
  options.data.train_file = words[3];
  options.output = words[4];
  options.batch.train = std::stoll(words[5]);
  options.max_steps = std::stoll(words[6]);
  options.overwrite = true;
  options.threads = 1;
  options.evaluate = false;
  options.logging_steps = 1;
  options.saving.kind = options.evaluation.kind = train::Interval::Kind::never;
  const int64_t steps = options.max_steps;
  const Json unlimited = train_on(options, 0, true);
  const double backward =
      unlimited.at("seconds").at("backward").get<double>() / static_cast<double>(steps);
  const double bytes =
      unlimited.at("communication").at("gradient_bytes").get<double>() / static_cast<double>(steps);
  const double rate = bytes / backward;
  std::vector<double> ratios;
  Json rounds = Json::array();
  for (int round = 0; round < std::stoi(words[7]); ++round) {
    const Json with = train_on(options, rate, true);
    const Json without = train_on(options, rate, false);
    ratios.push_back(seconds_of(without, steps) / seconds_of(with, steps));
    rounds.push_back({{"overlap_s", seconds_of(with, steps)},
                      {"no_overlap_s", seconds_of(without, steps)},
                      {"overlap_exposed_s", with.at("communication").at("exposed_seconds")},
                      {"no_overlap_exposed_s", without.at("communication").at("exposed_seconds")}});
  }
  std::sort(ratios.begin(), ratios.end());
  const Json result = {{"backward_s", backward},
                       {"gradient_bytes", bytes},
                       {"link_bytes_per_second", rate},
                       {"free_link_s", seconds_of(unlimited, steps)},
                       {"rounds", rounds},
                       {"ratio", ratios[ratios.size() / 2]}};
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace hone

int main(int count, char** words) {
  if (count != 8) {
    fmt::print(stderr, "overlap_bench CONFIG TOKENIZER TRAIN_FILE OUTPUT BATCH STEPS ROUNDS\n");
    return 2;
  }
  try {
    return hone::run(words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "overlap_bench: {}\n", error.what());
    return 1;
  }
}
