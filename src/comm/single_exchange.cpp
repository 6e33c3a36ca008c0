#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "comm/exchange.h"
#include "comm/host_name.h"
#include "comm/run_failed.h"

namespace hone::comm {
namespace {

class SingleExchange : public Exchange {
 public:
  ~SingleExchange() override {
    for (const auto& [data, bytes] : windows_) ::munmap(data, bytes);
  }
  int rank() const override { return 0; }
  const std::vector<std::string>& hosts() const override { return hosts_; }
  int rank_of_host() const override { return 0; }
  int ranks_of_host() const override { return 1; }
  int64_t place_of(const void* /*data*/, size_t /*bytes*/) const override { return -1; }
  void meet(const Collective& /*collective*/) override {}
  void* window(const Collective& collective) override {
    const auto bytes = static_cast<size_t>(std::max<int64_t>(collective.bytes, 1));
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) fail(ErrorKind::memory, "not enough memory: {} bytes", bytes);
    windows_.emplace_back(data, bytes);
    return data;
  }
  void sum(const Collective& /*collective*/, void* /*data*/) override {}
  void gather(const Collective& /*collective*/, std::string_view own,
              std::vector<std::string>& all) override {
    all.assign(1, std::string(own));
  }
  void broadcast(const Collective& /*collective*/, void* /*data*/) override {}
  bool stop_all(const std::string& /*why*/, bool /*found_by_others*/) override { return true; }
  void fail_run(const std::string& why) override { throw RunFailed(why, true); }
  std::string failure() const override { return {}; }
  bool told_here() const override { return true; }
  void check() const override {}
  void leave() override {}

 private:
  std::vector<std::string> hosts_ = {host_name()};
  std::vector<std::pair<void*, size_t>> windows_;
};

}  // namespace

std::unique_ptr<Exchange> make_single_exchange() { return std::make_unique<SingleExchange>(); }

}  // namespace hone::comm
