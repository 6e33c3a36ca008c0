#include "base/background.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

#include "base/error.h"
#include "sanitized.h"

namespace hone {
namespace {

TEST(Background, GivesResultsAndErrorsOfAnotherThread) {
  auto id = in_background([] { return std::this_thread::get_id(); });
  EXPECT_NE(id.get(), std::this_thread::get_id());
  auto failing = in_background([] { fail(ErrorKind::io, "no"); });
  EXPECT_THROW(failing.get(), Error);
}

TEST(Background, DoesWithoutAThreadWhereThereIsNone) {
  if (kSanitized) GTEST_SKIP() << "sanitizers end a process that finds no memory";
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  rlimit none = before;
  none.rlim_cur = 1;  // what is there stays: no stack can be added
  ::setrlimit(RLIMIT_AS, &none);
  auto id = in_background([] { return std::this_thread::get_id(); });
  ::setrlimit(RLIMIT_AS, &before);
  // The memory of a thread that ended may serve the next one: then there is one after all.
  const bool deferred = id.wait_for(std::chrono::seconds(0)) == std::future_status::deferred;
  EXPECT_EQ(id.get() == std::this_thread::get_id(), deferred);
}

}  // namespace
}  // namespace hone
