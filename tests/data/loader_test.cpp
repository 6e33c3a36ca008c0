#include "data/loader.h"

#include <algorithm>
#include <filesystem>

#include "data/sample_store_format.h"
#include "data/store_fixture.h"
#include "nn/packing.h"

namespace hone::data {
namespace {

class LoaderTest : public StoreTest {
 protected:
  std::vector<Batch> batches(const SampleStore& store, const SamplerOptions& sampling,
                             const LoaderOptions& options) {
    const Sampler sampler(store.lengths(), sampling);
    Loader loader(store, processor_, sampler, options);
    std::vector<Batch> all;
    for (Batch batch; loader.next(batch);) all.push_back(batch);
    Batch behind;
    EXPECT_FALSE(loader.next(behind));
    return all;
  }
};

bool same(const Batch& a, const Batch& b) {
  bool inputs = a.size() == b.size() && a.units == b.units && a.extents() == b.extents();
  for (size_t i = 0; i < a.layout().inputs.size(); ++i) {
    inputs = inputs && std::ranges::equal(a.array<std::byte>(i), b.array<std::byte>(i));
  }
  for (int64_t i = 0; inputs && i <= a.size(); ++i) {
    inputs = a.first(nn::kTokens, i) == b.first(nn::kTokens, i);
  }
  return inputs && a.begin == b.begin && a.end == b.end && a.samples == b.samples &&
         a.classes == b.classes && a.targets == b.targets;
}

TEST_F(LoaderTest, PacksWhatTheStoreHolds) {
  const SampleStore store = numbered_store(100);
  const auto all = batches(store, {3, true, false, 8, 0}, {});
  ASSERT_EQ(all.size(), 13u);
  for (const Batch& batch : all) {
    ASSERT_EQ(batch.size(), std::ssize(batch.samples));
    ASSERT_EQ(std::ssize(batch.array<int32_t>(kIds)), batch.rows(nn::kTokens));
    EXPECT_EQ(batch.units, batch.rows(nn::kTokens));
    for (int64_t i = 0; i < batch.size(); ++i) {
      const int64_t sample = batch.samples[static_cast<size_t>(i)];
      const StoredText text = stored_text(store, sample);
      const auto part = [&](size_t input) {
        const auto all_of =
            batch.array<int32_t>(input).subspan(static_cast<size_t>(batch.first(nn::kTokens, i)),
                                                static_cast<size_t>(batch.rows(nn::kTokens, i)));
        return std::vector<int32_t>(all_of.begin(), all_of.end());
      };
      EXPECT_EQ(part(kIds), text.ids);
      EXPECT_EQ(part(kTypes), text.types);
      EXPECT_EQ(batch.array<int64_t>(kReadSamples)[static_cast<size_t>(i)], sample);
      EXPECT_EQ(batch.classes[static_cast<size_t>(i)], sample % 2);
    }
  }
  EXPECT_EQ(all.back().size(), 4);
  EXPECT_TRUE(all.back().ends_epoch());
  EXPECT_FALSE(all.front().ends_epoch());
}

TEST_F(LoaderTest, PacksOnlyWhatACutLeaves) {
  const SampleStore store = numbered_store(50);
  for (const int workers : {0, 3}) {
    LoaderOptions options;
    options.workers = workers;
    options.end_epoch = 2;
    options.cut = [](uint64_t number, std::vector<int64_t>& samples) {
      samples.resize(std::min<size_t>(samples.size(), number % 3));
    };
    const auto cut = batches(store, {3, true, false, 8, 0}, options);
    options.cut = {};
    const auto whole = batches(store, {3, true, false, 8, 0}, options);
    ASSERT_EQ(cut.size(), whole.size());
    for (size_t i = 0; i < cut.size(); ++i) {
      EXPECT_EQ(cut[i].whole, whole[i].samples);
      EXPECT_EQ(cut[i].all(), whole[i].all());
      EXPECT_EQ(cut[i].size(), static_cast<int64_t>(std::min(i % 3, whole[i].samples.size())));
      EXPECT_EQ(cut[i].end, whole[i].end);
    }
  }
}

TEST_F(LoaderTest, AnyNumberOfWorkersGivesTheSame) {
  const SampleStore store = numbered_store(333);
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
  const SampleStore store = numbered_store(60);
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
  const SampleStore store = numbered_store(80);
  std::filesystem::resize_file(
      path(), sizeof(store_format::Header) + 40 * 5);  // the first samples can still be read
  for (const int workers : {1, 3}) {
    const Sampler sampler(store.lengths(), {0, false, false, 2, 0});
    LoaderOptions options;
    options.workers = workers;
    Loader loader(store, processor_, sampler, options);
    Batch batch;
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
  const SampleStore store = numbered_store(500);
  const Sampler sampler(store.lengths(), {});
  for (int taken = 0; taken < 20; ++taken) {
    LoaderOptions options;
    options.workers = 1 + taken % 4;
    options.end_epoch = INT64_MAX;
    Loader loader(store, processor_, sampler, options);
    Batch batch;
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(loader.next(batch));
  }
}

// A batch made inline is waited for; how little a batch made ahead costs is a benchmark's question.
TEST_F(LoaderTest, MeasuresWaiting) {
  const SampleStore store = numbered_store(4000);
  const Sampler sampler(store.lengths(), {1, true, false, 200, 0});
  LoaderOptions options;
  options.workers = 0;
  Loader loader(store, processor_, sampler, options);
  EXPECT_EQ(loader.waiting_seconds(), 0);
  double before = 0;
  for (Batch batch; loader.next(batch);) {
    EXPECT_GT(loader.waiting_seconds(), before);
    before = loader.waiting_seconds();
  }
}

TEST_F(LoaderTest, NothingToDo) {
  const SampleStore store = numbered_store(5);
  const Sampler sampler(store.lengths(), {});
  for (const int workers : {0, 2}) {
    LoaderOptions options;
    options.workers = workers;
    options.end_epoch = 0;
    Loader loader(store, processor_, sampler, options);
    Batch batch;
    EXPECT_FALSE(loader.next(batch));
  }
}

}  // namespace
}  // namespace hone::data
