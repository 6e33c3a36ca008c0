#include "comm/communicator.h"

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "comm/exchange.h"
#include "comm/run_failed.h"

namespace hone::comm {

Communicator::Communicator() : Communicator(make_single_exchange(), {.overlap = false}) {}

Communicator::Communicator(int descriptor, int rank, int size, const Options& options)
    : Communicator(make_host_exchange(descriptor, rank, size, options.watch), options) {}

Communicator::Communicator(std::unique_ptr<Exchange> exchange, Options options)
    : exchange_(std::move(exchange)), options_(std::move(options)) {
  if (options_.overlap) thread_ = std::thread([this] { progress(); });
}

Communicator::~Communicator() {
  if (std::uncaught_exceptions() > 0) stop_all("it failed");
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  started_.notify_all();
  if (thread_.joinable()) thread_.join();
  try {
    wait(last_);
  } catch (const std::exception&) {  // who started the sum did not wait for it
  }
  exchange_->leave();
}

int Communicator::rank() const { return exchange_->rank(); }
int Communicator::size() const { return static_cast<int>(hosts().size()); }
const std::vector<std::string>& Communicator::hosts() const { return exchange_->hosts(); }
int Communicator::rank_of_host() const { return exchange_->rank_of_host(); }
int Communicator::ranks_of_host() const { return exchange_->ranks_of_host(); }

bool Communicator::stop_all(const std::string& why, bool found_by_others) {
  return exchange_->stop_all(fmt::format("rank {} on {}, step {}: {}", rank(),
                                         hosts()[static_cast<size_t>(rank())], step_, why),
                             found_by_others);
}

std::string Communicator::failure() const { return exchange_->failure(); }

bool Communicator::told_here() const { return exchange_->told_here(); }

void Communicator::fail_run(const std::string& why) const {
  exchange_->fail_run(why);
  throw RunFailed(why, true);  // compilers do not see that the call above throws
}

Communicator::Ticket Communicator::start(Operation operation) {
  exchange_->check();
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  operation.collective.number = ++last_;
  operation.collective.step = step_;
  queue_.push_back(operation);
  if (options_.overlap) started_.notify_one();
  return last_;
}

bool Communicator::done(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  if (finished_ >= ticket) return true;
  if (error_) std::rethrow_exception(error_);
  return false;
}

void Communicator::wait(Ticket ticket) {
  if (done(ticket)) return;
  const Stopwatch watch;
  while (!done(ticket)) {
    const std::lock_guard running(running_);
    if (!done(ticket)) run_next();
  }
  const std::lock_guard lock(mutex_);
  times_.exposed += watch.seconds();
}

void Communicator::progress() {
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [&] { return stop_ || (!queue_.empty() && !error_); });
    if (stop_) return;
    lock.unlock();
    {
      const std::lock_guard running(running_);
      run_next();
    }
    lock.lock();
  }
}

void Communicator::run_next() {
  Operation operation;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() || error_) return;
    operation = queue_.front();
    queue_.pop_front();
  }
  const Collective& collective = operation.collective;
  const Stopwatch watch;
  std::exception_ptr error;
  try {
    exchange_->meet(collective);
    switch (collective.kind) {
      case Kind::sum_floats:
      case Kind::sum_doubles:
        exchange_->sum(collective, operation.data);
        break;
      case Kind::gather:
        exchange_->gather(collective, operation.own, *operation.gathered);
        break;
      case Kind::broadcast:
        exchange_->broadcast(collective, operation.data);
        break;
      case Kind::window:
        *static_cast<void**>(operation.data) = exchange_->window(collective);
        break;
      case Kind::barrier:
      case Kind::none:
        break;
    }
  } catch (const std::exception& thrown) {
    exchange_->stop_all(thrown.what(), false);
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  times_.busy += watch.seconds();
  if (error) {
    error_ = error;
  } else {
    finished_ = collective.number;
  }
}

void* Communicator::window(size_t bytes) {
  void* data = nullptr;
  wait(start({{.kind = Kind::window, .bytes = static_cast<int64_t>(bytes)}, &data}));
  return data;
}

Communicator::Ticket Communicator::start_sum(float* data, int64_t count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(float));
  return start({{.kind = Kind::sum_floats,
                 .bytes = bytes,
                 .place = exchange_->place_of(data, static_cast<size_t>(bytes))},
                data});
}

void Communicator::sum(std::span<double> data) {
  wait(start({{.kind = Kind::sum_doubles, .bytes = static_cast<int64_t>(data.size_bytes())},
              data.data()}));
}

std::vector<std::string> Communicator::gather(std::string_view own) {
  std::vector<std::string> all;
  wait(start({{.kind = Kind::gather, .bytes = std::ssize(own)}, nullptr, own, &all}));
  return all;
}

void Communicator::broadcast(void* data, size_t bytes, int root) {
  wait(
      start({{.kind = Kind::broadcast, .root = root, .bytes = static_cast<int64_t>(bytes)}, data}));
}

std::string Communicator::broadcast(const std::string& text, int root) {
  const std::vector<std::string> all = gather(rank() == root ? text : std::string_view());
  return all[static_cast<size_t>(root)];
}

void Communicator::barrier() { wait(start({{.kind = Kind::barrier}})); }

bool Communicator::any(bool here) {
  double count = here ? 1 : 0;
  sum(std::span(&count, 1));
  return count > 0;
}

Times Communicator::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

}  // namespace hone::comm
