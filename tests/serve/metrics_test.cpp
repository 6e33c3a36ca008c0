#include "serve/metrics.h"

#include <gtest/gtest.h>

#include <thread>

namespace hone::serve {
namespace {

TEST(Metrics, BucketsOfDurationsGrowByOneAndAHalf) {
  const std::vector<double> bounds = duration_bounds();
  ASSERT_EQ(bounds.size(), 35u);
  EXPECT_DOUBLE_EQ(bounds[0], 1.5e-5);
  EXPECT_DOUBLE_EQ(bounds[1], 2.25e-5);
  EXPECT_NEAR(bounds[34] / bounds[33], 1.5, 1e-12);
}

TEST(Metrics, AValueFallsIntoTheFirstBucketThatIsNotBelowIt) {
  Histogram histogram({1, 2, 4});
  for (const double value : {0.5, 1.0, 1.5, 4.0, 5.0}) histogram.record(value);
  EXPECT_EQ(histogram.count(0), 2u);
  EXPECT_EQ(histogram.count(1), 1u);
  EXPECT_EQ(histogram.count(2), 1u);
  EXPECT_EQ(histogram.count(3), 1u);
  EXPECT_DOUBLE_EQ(histogram.sum(), 12.0);
}

TEST(Metrics, NothingIsLostBetweenThreads) {
  Histogram histogram({1, 2});
  Counter counter;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        histogram.record(1);
        counter.add();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(histogram.count(0), 40000u);
  EXPECT_DOUBLE_EQ(histogram.sum(), 40000);
  EXPECT_EQ(counter.value(), 40000u);
}

TEST(Metrics, TheTextHasHelpTypeAndRisingBuckets) {
  Metrics metrics;
  metrics.batch_size.record(3);
  metrics.batch_size.record(100000);
  const std::string text = metrics.text({.queue_inputs = 5, .connections = 2});
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("# HELP te_batch_next_size "));
  EXPECT_TRUE(has("# TYPE te_batch_next_size histogram\n"));
  EXPECT_TRUE(has("te_batch_next_size_bucket{le=\"2\"} 0\n"));
  EXPECT_TRUE(has("te_batch_next_size_bucket{le=\"4\"} 1\n"));
  EXPECT_TRUE(has("te_batch_next_size_bucket{le=\"65536\"} 1\n"));
  EXPECT_TRUE(has("te_batch_next_size_bucket{le=\"+Inf\"} 2\n"));
  EXPECT_TRUE(has("te_batch_next_size_sum 100003\n"));
  EXPECT_TRUE(has("te_batch_next_size_count 2\n"));
  EXPECT_TRUE(has("te_queue_size 5\n"));
  EXPECT_TRUE(has("hone_connections 2\n"));
  EXPECT_TRUE(has("te_request_failure{err=\"overloaded\"} 0\n"));
  for (const char* name :
       {"te_request_count", "te_request_success", "te_predict_count", "te_predict_success",
        "te_request_duration", "te_request_tokenization_duration", "te_request_queue_duration",
        "te_request_inference_duration", "te_predict_duration", "te_predict_tokenization_duration",
        "te_predict_queue_duration", "te_predict_inference_duration", "te_request_input_length",
        "te_batch_next_tokens"}) {
    EXPECT_TRUE(has(std::string("# TYPE ") + name + " ")) << name;
  }
}

}  // namespace
}  // namespace hone::serve
