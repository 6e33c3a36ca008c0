#include "base/low_priority.h"

#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <thread>

namespace hone {
namespace {

// Beside threads of the usual priority that never rest, one of this has about a tenth of a core, so
// that its work goes on; where they rest, it has all that they leave.
constexpr int kLowPriority = 10;

}  // namespace

// On Linux the call concerns the thread, not the process.
void lower_priority() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowPriority); }

void run_at_low_priority(FunctionRef<void()> work) {
  std::exception_ptr error;
  std::thread([&] {
    lower_priority();
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

}  // namespace hone
