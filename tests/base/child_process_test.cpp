#include "base/child_process.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

ChildResult shell(const std::string& script) { return run_child("/bin/sh", {"-c", script}); }

TEST(ChildProcess, LeavesItsOutputsAndItsCode) {
  const ChildResult done = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.out, "out\n");
  EXPECT_EQ(done.err, "err\n");
}

TEST(ChildProcess, MayWriteMoreThanAPipeHoldsOnBoth) {
  const ChildResult done =
      shell("head -c 300000 /dev/zero >&2; head -c 400000 /dev/zero; head -c 300000 /dev/zero >&2");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out.size(), 400'000u);
  EXPECT_EQ(done.err.size(), 600'000u);
}

TEST(ChildProcess, ReadsNothing) { EXPECT_EQ(shell("cat").out, ""); }

TEST(ChildProcess, EndedBySignalOrNotThere) {
  EXPECT_EQ(shell("kill -9 $$").code, 128 + 9);
  EXPECT_EQ(run_child("/no/such/program", {}).code, 127);
}

}  // namespace
}  // namespace hone
