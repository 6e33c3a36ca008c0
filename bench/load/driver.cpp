#include "load/driver.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <deque>
#include <memory>

#include "base/error.h"
#include "load/arrivals.h"
#include "load/connection.h"

namespace hone::load {
namespace {

double seconds_of(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Driver {
 public:
  Driver(const Options& options, const std::vector<std::string>& requests);
  ~Driver() { ::close(epoll_); }
  RunResult run();

 private:
  double now() const { return seconds_of(CLOCK_MONOTONIC) - begin_; }
  double end() const { return phase_ends_.back(); }
  PhaseResult* result(int phase);
  void send_due(double time);
  void send(const Arrival& arrival);
  void begin_request(Connection& connection, const Arrival& arrival);
  Connection* idle_connection();
  void watch(Connection& connection);
  void advance_write(Connection& connection);
  void handle(Connection& connection, uint32_t events);
  void answered(Connection& connection);
  void failed(Connection& connection);
  void released(Connection& connection, bool usable);
  int phase_at(double time) const;
  bool finished(double time) const;
  void wait(double time);

  const Options& options_;
  const std::vector<std::string>& requests_;
  Loopback server_;
  int epoll_;
  double begin_ = 0;
  std::vector<Arrival> arrivals_;
  size_t next_arrival_ = 0;
  size_t next_request_ = 0;
  std::vector<double> phase_ends_;  ///< seconds from the begin; that of the warm-up first
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> idle_;    ///< open, no request under way; the last used is taken first
  std::vector<Connection*> closed_;  ///< wait to be opened again
  std::deque<Arrival> held_;         ///< due, but all connections are in use
  int64_t busy_ = 0;
  RunResult result_;
};

Driver::Driver(const Options& options, const std::vector<std::string>& requests)
    : options_(options), requests_(requests), server_(options), epoll_(epoll_create1(0)) {
  if (epoll_ < 0) fail(ErrorKind::io, "epoll_create1: no descriptor left");
  if (options.closed == 0) arrivals_ = poisson_arrivals(options);
  result_.phases.resize(options.phases.size());
  phase_ends_.push_back(options.warmup);
  for (const Phase& phase : options.phases) {
    phase_ends_.push_back(phase_ends_.back() + phase.seconds);
  }
}

PhaseResult* Driver::result(int phase) {
  return phase < 0 ? nullptr : &result_.phases[static_cast<size_t>(phase)];
}

/// The phase that lasts at that time, -1 for the warm-up and for what comes after the last.
int Driver::phase_at(double time) const {
  const auto after = std::upper_bound(phase_ends_.begin(), phase_ends_.end(), time);
  return after == phase_ends_.end() ? -1 : static_cast<int>(after - phase_ends_.begin()) - 1;
}

Connection* Driver::idle_connection() {
  while (!idle_.empty()) {
    Connection* connection = idle_.back();
    idle_.pop_back();
    if (connection->fd() >= 0) return connection;
  }
  const int limit = options_.closed > 0 ? options_.closed : options_.connections;
  Connection* connection = nullptr;
  if (!closed_.empty()) {
    connection = closed_.back();
    closed_.pop_back();
  } else if (static_cast<int>(connections_.size()) < limit) {
    connections_.push_back(std::make_unique<Connection>());
    connection = connections_.back().get();
  } else {
    return nullptr;
  }
  connection->open(server_);
  return connection;
}

void Driver::send_due(double time) {
  for (; next_arrival_ < arrivals_.size() && arrivals_[next_arrival_].at <= time; ++next_arrival_) {
    const Arrival& arrival = arrivals_[next_arrival_];
    if (PhaseResult* phase = result(arrival.phase)) {
      ++phase->sent;
      phase->lag.push_back(now() - arrival.at);
    }
    send(arrival);
  }
}

void Driver::send(const Arrival& arrival) {
  Connection* connection = held_.empty() ? idle_connection() : nullptr;
  if (connection == nullptr) {
    if (PhaseResult* phase = result(arrival.phase)) ++phase->held;
    held_.push_back(arrival);
    return;
  }
  begin_request(*connection, arrival);
}

void Driver::begin_request(Connection& connection, const Arrival& arrival) {
  ++busy_;
  connection.intended = arrival.at;
  connection.phase = arrival.phase;
  connection.abandon = arrival.abandoned;
  connection.start(requests_[next_request_++ % requests_.size()]);
  if (connection.fd() < 0) {
    failed(connection);
    return;
  }
  advance_write(connection);
}

void Driver::advance_write(Connection& connection) {
  const Connection::Progress progress = connection.write();
  if (progress == Connection::Progress::failed) {
    failed(connection);
  } else if (progress == Connection::Progress::sent && connection.abandon) {
    if (PhaseResult* phase = result(connection.phase)) ++phase->abandoned;
    released(connection, false);
  } else {
    watch(connection);
  }
}

/// Has epoll report what the connection waits for; costs nothing where that has not changed.
void Driver::watch(Connection& connection) {
  const uint32_t wanted = EPOLLIN | (connection.writing() ? EPOLLOUT : 0U);
  if (wanted == connection.events) return;
  epoll_event event = {};
  event.events = wanted;
  event.data.ptr = &connection;
  epoll_ctl(epoll_, connection.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection.fd(),
            &event);
  connection.events = wanted;
}

void Driver::handle(Connection& connection, uint32_t events) {
  if (connection.fd() < 0) return;
  if ((events & EPOLLOUT) != 0 && connection.writing()) {
    advance_write(connection);
    if (connection.fd() < 0 || !connection.busy) return;
  }
  if ((events & ~static_cast<uint32_t>(EPOLLOUT)) == 0) return;
  const bool busy = connection.busy;
  switch (connection.read()) {
    case Connection::Progress::answered:
      answered(connection);
      break;
    case Connection::Progress::failed:
      if (busy) {
        failed(connection);
      } else {
        // The server closed a connection between two requests, which it may.
        idle_.erase(std::remove(idle_.begin(), idle_.end(), &connection), idle_.end());
        connection.close();
        closed_.push_back(&connection);
      }
      break;
    default:
      break;
  }
}

void Driver::answered(Connection& connection) {
  const double time = now();
  const int status = connection.response().status();
  if (PhaseResult* phase = result(connection.phase)) {
    ++phase->statuses[status];
    if (status == 200) phase->accepted.push_back(time - connection.intended);
    if (status == 429) {
      phase->refused.push_back(time - connection.intended);
      if (connection.response().retry_after()) ++phase->retry_after;
    }
  }
  if (PhaseResult* phase = result(phase_at(time)); phase != nullptr && status == 200) {
    ++phase->completed;
  }
  released(connection, connection.response().keep_alive());
}

void Driver::failed(Connection& connection) {
  if (PhaseResult* phase = result(connection.phase)) ++phase->errors[connection.error()];
  released(connection, false);
}

/// The connection's request is over. The next one that waits gets it.
void Driver::released(Connection& connection, bool usable) {
  --busy_;
  connection.busy = false;
  if (usable) {
    idle_.push_back(&connection);
    watch(connection);
  } else {
    connection.close();
    closed_.push_back(&connection);
  }
}

bool Driver::finished(double time) const {
  if (options_.closed > 0) {
    return time >= end() && (busy_ == 0 || time >= end() + options_.drain_seconds);
  }
  const bool all_sent = next_arrival_ == arrivals_.size();
  return all_sent &&
         ((busy_ == 0 && held_.empty() && time >= end()) || time >= end() + options_.drain_seconds);
}

/// Handles what happens until the next moment of sending, or for 10 ms.
void Driver::wait(double time) {
  double pause = 0.01;
  if (next_arrival_ < arrivals_.size()) pause = arrivals_[next_arrival_].at - time;
  pause = std::clamp(pause, 0.0, 0.01);
  const timespec limit = {0, static_cast<long>(pause * 1e9)};
  std::array<epoll_event, 256> events;
  const int count = epoll_pwait2(epoll_, events.data(), events.size(), &limit, nullptr);
  if (count < 0 && errno != EINTR) fail(ErrorKind::io, "epoll_pwait2: error {}", errno);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    handle(*static_cast<Connection*>(event.data.ptr), event.events);
  }
}

RunResult Driver::run() {
  prctl(PR_SET_TIMERSLACK, 1);
  begin_ = seconds_of(CLOCK_MONOTONIC);
  const double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  for (double time = now(); !finished(time); time = now()) {
    if (options_.closed > 0) {
      // A connection that fails is not tried again before the loop has come round.
      while (time < end() && busy_ < options_.closed) {
        const int phase = phase_at(time);
        if (PhaseResult* counted = result(phase)) ++counted->sent;
        const int64_t busy = busy_;
        begin_request(*idle_connection(), {now(), phase, false});
        if (busy_ == busy) break;
      }
    } else {
      send_due(time);
      while (!held_.empty()) {
        Connection* connection = idle_connection();
        if (connection == nullptr) break;
        begin_request(*connection, held_.front());
        held_.pop_front();
      }
    }
    wait(now());
  }
  for (const std::unique_ptr<Connection>& connection : connections_) {
    if (!connection->busy) continue;
    if (PhaseResult* phase = result(connection->phase)) ++phase->errors["no answer in time"];
  }
  for (const Arrival& arrival : held_) {
    if (PhaseResult* phase = result(arrival.phase)) ++phase->errors["never sent"];
  }
  result_.processor_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor;
  result_.connections = static_cast<int>(connections_.size());
  return std::move(result_);
}

}  // namespace

RunResult run(const Options& options, const std::vector<std::string>& requests) {
  if (options.phases.empty()) fail(ErrorKind::usage, "phases: none is given");
  return Driver(options, requests).run();
}

}  // namespace hone::load
