// Whoever waits for input that no longer matters is woken.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <future>

#include "data/reading.h"

namespace hone::data {
namespace {

struct SilentPipe {
  SilentPipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  ~SilentPipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  std::array<int, 2> ends{};
};

TEST(Interrupt, EndsAReadThatWaits) {
  const SilentPipe pipe;
  const auto records =
      read_records(bytes_of_descriptor(pipe.ends[0], "pipe"), "pipe", {Format::lines});
  ASSERT_EQ(::write(pipe.ends[1], "one\n", 4), 4);
  Record record;
  ASSERT_TRUE(records->next(record));
  EXPECT_FALSE(records->waiting());
  auto found = std::async(std::launch::async, [&] { return records->next(record); });
  records->interrupt();
  EXPECT_FALSE(found.get());
}

TEST(Interrupt, LeavesWhatIsThereAndEndsLaterReads) {
  const SilentPipe pipe;
  const auto source = bytes_of_descriptor(pipe.ends[0], "pipe");
  source->interrupt();
  ASSERT_EQ(::write(pipe.ends[1], "one", 3), 3);
  std::array<char, 8> bytes{};
  EXPECT_EQ(source->read(bytes.data(), bytes.size()), 3u);
  EXPECT_EQ(source->read(bytes.data(), bytes.size()), 0u);
  EXPECT_EQ(source->read(bytes.data(), bytes.size()), 0u);
}

}  // namespace
}  // namespace hone::data
