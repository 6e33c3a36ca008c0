#include "base/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace hone {
namespace {

TEST(BoundedQueue, GivesAllInOrderAndHoldsNoMoreThanItsLimit) {
  BoundedQueue<int> queue(10);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i) {
      queue.push(i, 3);
      most = std::max(most.load(), ++inside);
    }
    queue.close();
  });
  int expected = 0;
  while (const std::optional<int> item = queue.pop()) {
    --inside;
    EXPECT_EQ(*item, expected++);
  }
  producer.join();
  EXPECT_EQ(expected, 1000);
  EXPECT_LE(most, 4);  // three fit; one may have been taken and not yet counted
}

TEST(BoundedQueue, TakesAnItemOfMoreThanItsLimitAlone) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.push(std::make_unique<int>(7), 100));
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(**queue.pop(), 7);
  EXPECT_TRUE(queue.empty());
}

TEST(BoundedQueue, ClosedWakesWhoWaits) {
  BoundedQueue<int> full(1);
  ASSERT_TRUE(full.push(1, 1));
  std::thread pushes([&] { EXPECT_FALSE(full.push(2, 1)); });
  BoundedQueue<int> empty(1);
  std::thread pops([&] { EXPECT_FALSE(empty.pop()); });
  full.close();
  empty.close();
  pushes.join();
  pops.join();
  EXPECT_EQ(full.pop(), 1);
  EXPECT_FALSE(full.pop());
}

}  // namespace
}  // namespace hone
