#pragma once

#include <future>
#include <system_error>
#include <type_traits>
#include <utility>

namespace hone {

/// Runs `work` in a thread of its own, whose exceptions the future gives. Where the system has no
/// thread left, `work` runs when the future is asked for its result, in the thread that asks.
template <typename Work>
std::future<std::invoke_result_t<Work>> in_background(Work work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, std::move(work));
  }
}

}  // namespace hone
