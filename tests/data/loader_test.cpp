#include "data/loader.h"

#include <filesystem>

#include "data/store_fixture.h"

namespace hone::data {
namespace {

class LoaderTest : public StoreTest {
 protected:
  std::vector<PackedBatch> batches(const TokenStore& store, const SamplerOptions& sampling,
                                   const LoaderOptions& options) {
    const Sampler sampler(store.lengths(), sampling);
    Loader loader(store, sampler, options);
    std::vector<PackedBatch> all;
    for (PackedBatch batch; loader.next(batch);) all.push_back(batch);
    PackedBatch behind;
    EXPECT_FALSE(loader.next(behind));
    return all;
  }
};

bool same(const PackedBatch& a, const PackedBatch& b) {
  return a.begin == b.begin && a.end == b.end && a.samples == b.samples && a.ids == b.ids &&
         a.type_ids == b.type_ids && a.offsets == b.offsets && a.classes == b.classes &&
         a.targets == b.targets;
}

TEST_F(LoaderTest, PacksWhatTheStoreHolds) {
  const TokenStore store = numbered_store(100);
  const auto all = batches(store, {3, true, false, 8, 0}, {});
  ASSERT_EQ(all.size(), 13u);
  std::vector<char> buffer;
  for (const PackedBatch& batch : all) {
    ASSERT_EQ(batch.offsets.size(), batch.samples.size() + 1);
    EXPECT_EQ(batch.offsets.back(), batch.tokens());
    for (size_t i = 0; i < batch.samples.size(); ++i) {
      const int64_t sample = batch.samples[i];
      const auto begin = batch.ids.begin() + batch.offsets[i];
      std::vector<int32_t> ids(static_cast<size_t>(store.lengths()[static_cast<size_t>(sample)]));
      std::vector<int32_t> types(ids.size());
      store.read(sample, ids.data(), types.data(), buffer);
      EXPECT_EQ(std::vector<int32_t>(begin, batch.ids.begin() + batch.offsets[i + 1]), ids);
      EXPECT_EQ(batch.classes[i], sample % 2);
    }
  }
  EXPECT_EQ(all.back().size(), 4);
  EXPECT_TRUE(all.back().ends_epoch());
  EXPECT_FALSE(all.front().ends_epoch());
}

TEST_F(LoaderTest, AnyNumberOfWorkersGivesTheSame) {
  const TokenStore store = numbered_store(333);
  for (const SamplerOptions& sampling :
       {SamplerOptions{3, true, false, 8, 0}, SamplerOptions{3, true, true, 0, 64}}) {
    LoaderOptions options;
    options.end_epoch = 4;
    options.begin = {1, 0};
    const auto straight = batches(store, sampling, options);
    EXPECT_EQ(straight.front().begin, (DataPosition{1, 0}));
    EXPECT_EQ(straight.back().end, (DataPosition{4, 0}));
    for (const int workers : {1, 2, 3, 8}) {
      for (const int ahead : {1, 2, 5}) {
        options.workers = workers;
        options.batches_ahead = ahead;
        const auto all = batches(store, sampling, options);
        ASSERT_EQ(all.size(), straight.size());
        for (size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(same(all[i], straight[i])) << i;
      }
    }
  }
}

TEST_F(LoaderTest, ResumesBehindAnyBatch) {
  const TokenStore store = numbered_store(60);
  const SamplerOptions sampling{3, true, true, 0, 40};
  LoaderOptions options;
  options.end_epoch = 2;
  const auto straight = batches(store, sampling, options);
  options.workers = 2;
  for (size_t i = 0; i + 1 < straight.size(); ++i) {
    options.begin = straight[i].end;
    const auto rest = batches(store, sampling, options);
    ASSERT_EQ(rest.size(), straight.size() - i - 1);
    for (size_t k = 0; k < rest.size(); ++k) ASSERT_TRUE(same(rest[k], straight[i + 1 + k]));
  }
}

TEST_F(LoaderTest, ErrorsComeInTheirPlaceAndAgain) {
  const TokenStore store = numbered_store(80);
  std::filesystem::resize_file(path(), 32 + 40 * 5);  // the first samples can still be read
  for (const int workers : {1, 3}) {
    const Sampler sampler(store.lengths(), {0, false, false, 2, 0});
    LoaderOptions options;
    options.workers = workers;
    Loader loader(store, sampler, options);
    PackedBatch batch;
    int64_t good = 0;
    const std::string message = error_of([&] {
      while (loader.next(batch)) ++good;
    });
    EXPECT_TRUE(message.starts_with(path() + ": ends at byte ")) << message;
    EXPECT_EQ(good, 3);
    EXPECT_EQ(error_of([&] { loader.next(batch); }), message);
  }
}

TEST_F(LoaderTest, StopsAtAnyTime) {
  const TokenStore store = numbered_store(500);
  const Sampler sampler(store.lengths(), {});
  for (int taken = 0; taken < 20; ++taken) {
    LoaderOptions options;
    options.workers = 1 + taken % 4;
    options.end_epoch = INT64_MAX;
    Loader loader(store, sampler, options);
    PackedBatch batch;
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(loader.next(batch));
  }
}

// A batch made inline is waited for; how little a batch made ahead costs is a benchmark's question.
TEST_F(LoaderTest, MeasuresWaiting) {
  const TokenStore store = numbered_store(4000);
  const Sampler sampler(store.lengths(), {1, true, false, 200, 0});
  LoaderOptions options;
  options.workers = 0;
  Loader loader(store, sampler, options);
  EXPECT_EQ(loader.waiting_seconds(), 0);
  double before = 0;
  for (PackedBatch batch; loader.next(batch);) {
    EXPECT_GT(loader.waiting_seconds(), before);
    before = loader.waiting_seconds();
  }
}

TEST_F(LoaderTest, NothingToDo) {
  const TokenStore store = numbered_store(5);
  const Sampler sampler(store.lengths(), {});
  for (const int workers : {0, 2}) {
    LoaderOptions options;
    options.workers = workers;
    options.end_epoch = 0;
    Loader loader(store, sampler, options);
    PackedBatch batch;
    EXPECT_FALSE(loader.next(batch));
  }
}

}  // namespace
}  // namespace hone::data
