#include "http/server/loop.h"

#include <pthread.h>
#include <signal.h>

#include "http/server/connection.h"
#include "http/server/response_text.h"

namespace hone::http {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
/// How long a client may go on sending what nobody reads, so that it sees its response before the
/// connection breaks.
constexpr std::chrono::milliseconds kLingerTime{2000};
/// How long a loop rests behind a refusal for overload, a small part of the 10 ms within which
/// refusals are to come.
constexpr std::chrono::milliseconds kPauseTime{2};
thread_local const Loop* running_loop = nullptr;  ///< whose thread this is

std::array<std::chrono::milliseconds, kWaits> wait_times(const ServerOptions& options) {
  return {options.idle_time,  options.header_time, options.body_time,
          options.write_time, kLingerTime,         options.drain_idle_time};
}

}  // namespace

Loop::Loop(ServerState& state)
    : state_(state),
      io_(std::make_unique<boost::asio::io_context>(1)),
      timer_(std::make_unique<boost::asio::steady_timer>(*io_)),
      deadlines_(wait_times(state.options)),
      read_buffer_(kReadBytes) {}

Loop::~Loop() = default;

void Loop::start() {
  // The loop's thread gets no signals: those are the program's, and OpenSSL's writes would raise
  // SIGPIPE.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Loop::on_its_thread() const { return running_loop == this; }

void Loop::run() {
  running_loop = this;
  const auto work = boost::asio::make_work_guard(*io_);
  for (;;) {
    try {
      io_->run();
      return;
    } catch (...) {  // What asked for memory in vain is lost; the others go on.
    }
  }
}

void Loop::stop() {
  if (!thread_.joinable()) return;
  post([this] {
    while (!connections_.empty()) {
      const auto connection = connections_.begin()->second;
      connection->close();
    }
    io_->stop();
  });
  thread_.join();
}

void Loop::release() {
  timer_.reset();
  std::unique_ptr<boost::asio::io_context> io;
  {
    const std::lock_guard lock(gate_);
    open_ = false;
    io.swap(io_);
  }
}

void Loop::adopt(Socket socket, std::string peer, SslPtr ssl) {
  std::shared_ptr<Connection> connection;
  try {
    connection =
        std::make_shared<Connection>(*this, std::move(socket), std::move(peer), std::move(ssl));
    connections_.emplace(connection.get(), connection);
  } catch (...) {  // There is no memory for another one.
    state_.remove_connection();
    return;
  }
  connection->start();
}

void Loop::drain() {
  if (draining_) return;
  draining_ = true;
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [key, connection] : connections_) all.push_back(connection);
  for (const auto& connection : all) connection->drain();
}

void Loop::forget(Connection& connection) {
  if (connections_.erase(&connection) != 0) state_.remove_connection();
}

void Loop::set_deadline(Connection& connection, Wait wait) {
  deadlines_.set(connection, wait, Clock::now());
  if (connection.deadline() < armed_) arm(connection.deadline());
}

void Loop::clear_deadline(Connection& connection) { deadlines_.clear(connection); }

void Loop::arm(Clock::time_point at) {
  armed_ = at;
  timer_->expires_at(at);
  timer_->async_wait([this](const boost::system::error_code& error) {
    if (!error) on_timer();
  });
}

void Loop::on_timer() {
  const auto now = Clock::now();
  while (DeadlineLink* const link = deadlines_.take_expired(now)) {
    const auto connection = static_cast<Connection*>(link)->shared_from_this();
    connection->on_deadline();
  }
  armed_ = Clock::time_point::max();
  if (const auto next = deadlines_.earliest(); next != armed_) arm(next);
}

void Loop::pause() {
  if (std::exchange(pauses_, true)) return;
  boost::asio::post(*io_, [this] {
    std::this_thread::sleep_for(kPauseTime);
    pauses_ = false;
  });
}

const std::string& Loop::date() {
  if (const std::time_t now = std::time(nullptr); now != date_time_) {
    date_time_ = now;
    date_ = http_date(now);
  }
  return date_;
}

}  // namespace hone::http
