#include "data/augment.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/thread_pool.h"
#include "data/image_batch.h"
#include "data/loader.h"
#include "data/reading.h"
#include "data/training_images.h"

namespace hone::data {
namespace {

/// Pixels that all differ.
image::Image gradient(int64_t width, int64_t height) {
  image::Image image(width, height);
  for (int64_t i = 0; i < width * height; ++i) {
    image.pixels[static_cast<size_t>(3 * i)] = static_cast<uint8_t>(1 + i % 255);
    image.pixels[static_cast<size_t>(3 * i + 1)] = static_cast<uint8_t>(1 + i / 255);
    image.pixels[static_cast<size_t>(3 * i + 2)] = 7;
  }
  return image;
}

TEST(Augment, MovesAreOfTheWholeRangeAndLeaveBlackBehind) {
  const ImageOptions model = square_image_options(8);
  const image::Image image = gradient(8, 8);
  std::map<std::pair<int64_t, int64_t>, int> seen;
  for (int64_t sample = 0; sample < 2500; ++sample) {
    const image::Image out = augment(image, model, {.crop_padding = 2}, {1, 0, sample});
    // The pixel that came to (2, 2) says how far all were moved.
    const int64_t from = out.row(2)[6] - 1, dx = from % 8 - 2, dy = from / 8 - 2;
    ++seen[{dx, dy}];
    for (int64_t y = 0; y < 8; ++y) {
      for (int64_t x = 0; x < 8; ++x) {
        const bool inside = x + dx >= 0 && x + dx < 8 && y + dy >= 0 && y + dy < 8;
        const int wanted = inside ? image.row(y + dy)[3 * (x + dx)] : 0;
        ASSERT_EQ(out.row(y)[3 * x], wanted);
      }
    }
  }
  EXPECT_EQ(seen.size(), 25u);
  for (const auto& [move, count] : seen) EXPECT_NEAR(count, 100, 50) << move.first;
}

TEST(Augment, HalfAreMirrored) {
  const ImageOptions model = square_image_options(4);
  const image::Image image = gradient(4, 4);
  int mirrored = 0;
  for (int64_t sample = 0; sample < 1000; ++sample) {
    const image::Image out = augment(image, model, {.flip = true}, {1, 0, sample});
    const bool is = out.row(1)[0] != image.row(1)[0];
    for (int64_t x = 0; x < 4; ++x) {
      ASSERT_EQ(out.row(1)[3 * x], image.row(1)[3 * (is ? 3 - x : x)]);
    }
    mirrored += is;
  }
  EXPECT_NEAR(mirrored, 500, 60);
}

TEST(Augment, AHoleIsZeroToTheModel) {
  const ImageOptions model = square_image_options(8);
  image::Image white(8, 8);
  std::fill(white.pixels.begin(), white.pixels.end(), uint8_t{255});
  std::set<int64_t> sizes;
  for (int64_t sample = 0; sample < 300; ++sample) {
    const image::Image out = augment(white, model, {.cutout = 4}, {1, 0, sample});
    int64_t hole = 0;
    for (size_t i = 0; i < out.pixels.size(); ++i) {
      if (out.pixels[i] == 255) continue;
      ++hole;
      ASSERT_NEAR(out.pixels[i] * model.scale[i % 3] + model.shift[i % 3], 0, 0.005);
    }
    sizes.insert(hole / 3);
  }
  EXPECT_EQ(*sizes.rbegin(), 16);
  EXPECT_GE(*sizes.begin(), 4);  // half of it may lie outside, both ways
  EXPECT_GT(sizes.size(), 3u);
}

TEST(Augment, PartsHaveTorchvisionsSizesAndShapes) {
  // Where a part of a plain left and right half comes from shows in its mean.
  const ImageOptions model = square_image_options(16);
  image::Image image(100, 80);
  for (int64_t y = 0; y < 80; ++y) {
    for (int64_t x = 0; x < 100; ++x) image.row(y)[3 * x] = static_cast<uint8_t>(2 * x);
  }
  double low = 255, high = 0, spread = 0;
  for (int64_t sample = 0; sample < 500; ++sample) {
    const image::Image out = augment(image, model, {.resized_crop = true}, {1, 0, sample});
    ASSERT_EQ(out.width, 16);
    const double left = out.row(8)[0], right = out.row(8)[45];
    low = std::min(low, left);
    high = std::max(high, right);
    const double width = (right - left) / 2 * 16 / 15;
    // The narrowest part: 8% of the area, 3:4; the widest is the whole width.
    EXPECT_GT(width, 20);
    spread += width;
  }
  EXPECT_LT(low, 6);
  EXPECT_GT(high, 190);
  EXPECT_NEAR(spread / 500, 62, 6);
  // Nothing of an allowed shape fits into a line: it is taken from the middle.
  EXPECT_EQ(augment(image::Image(100, 1), model, {.resized_crop = true}, {1, 0, 3}).height, 16);
}

TEST(Augment, MixesByShares) {
  const AugmentOptions blend{.mixup_alpha = 0.4}, cut{.cutmix_alpha = 1};
  const AugmentOptions both{.mixup_alpha = 0.4, .cutmix_alpha = 1};
  image::Image black(10, 10), white(10, 10);
  std::fill(white.pixels.begin(), white.pixels.end(), uint8_t{200});
  double mean = 0;
  int blends = 0;
  std::set<int64_t> others;
  for (int64_t sample = 0; sample < 1000; ++sample) {
    const AugmentKey key{1, 3, sample};
    const Mixing blended = choose_mixing(blend, key, 50, 10, 10);
    const Mixing pasted = choose_mixing(cut, key, 50, 10, 10);
    blends += choose_mixing(both, key, 50, 10, 10).blends;
    mean += blended.share / 1000;
    others.insert(blended.other);
    ASSERT_LT(blended.other, 50);
    for (const Mixing& mixing : {blended, pasted}) {
      image::Image image = black;
      mix(mixing, white, image);
      double sum = 0;
      for (const uint8_t value : image.pixels) sum += value;
      ASSERT_NEAR(sum / 300 / 200, 1 - mixing.share, 0.003);
    }
  }
  EXPECT_NEAR(mean, 0.5, 0.05);
  EXPECT_NEAR(blends, 500, 60);
  EXPECT_EQ(others.size(), 50u);
}

/// A training set in a store, whose images are of many sizes.
class TrainingImagesTest : public testing::Test {
 protected:
  TrainingImagesTest() {
    split_.name = "made";
    split_.open = [] { return std::make_unique<Made>(); };
  }

  class Made : public RecordStream {
   public:
    bool next(Record& record) override {
      if (at_ == 40) return false;
      record = {};
      image::Image image = gradient(20 + at_ % 7, 18 + at_ % 5);
      std::fill(image.pixels.begin(), image.pixels.begin() + 60, static_cast<uint8_t>(6 * at_));
      record.text = raw_image(image);
      record.label = std::to_string(at_++ % 3);
      record.row = at_;
      return true;
    }
    bool waiting() override { return true; }
    std::string where(const Record&) const override { return "made"; }

   private:
    int64_t at_ = 0;
  };

  OpenedStore store_for(const TrainingImages& processor) {
    const SampleStoreRecipe recipe{processor, {ProblemType::single_label, {"0", "1", "2"}}, {}, -1};
    return open_or_build_store(folder_.path() + "/images", split_, recipe, pool_);
  }

  using Batches = std::vector<std::pair<std::vector<uint8_t>, std::vector<float>>>;
  /// Two epochs of batches, by so many threads, from a position on.
  static Batches batches_of(const SampleStore& store, const Processor& processor, int workers,
                            const DataPosition& begin = {},
                            const LoaderOptions::Cut& cut = nullptr) {
    const Sampler sampler(store.lengths(), {.seed = 5, .max_samples = 16});
    LoaderOptions options;
    options.workers = workers;
    options.begin = begin;
    options.end_epoch = 2;
    options.cut = cut;
    Loader loader(store, processor, sampler, options);
    Batches batches;
    for (Batch batch; loader.next(batch);) {
      const auto pixels = batch.array<uint8_t>(kPixelInput);
      batches.emplace_back(std::vector<uint8_t>(pixels.begin(), pixels.end()), batch.targets);
    }
    return batches;
  }

  static AugmentOptions everything() {
    return {.crop_padding = 1,
            .resized_crop = true,
            .flip = true,
            .cutout = 3,
            .mixup_alpha = 0.5,
            .cutmix_alpha = 1};
  }

  TemporaryFolder folder_;
  ThreadPool pool_{2};
  Split split_;
  ImageProcessor inner_{square_image_options(12)};
};

TEST_F(TrainingImagesTest, DoNotDependOnThreadsRanksOrRestarts) {
  const TrainingImages processor(inner_, everything(), 9);
  const OpenedStore opened = store_for(processor);
  const Batches straight = batches_of(opened.store, processor, 0);
  ASSERT_EQ(straight.size(), 6u);
  EXPECT_NE(straight[0].first, straight[3].first);
  EXPECT_EQ(batches_of(opened.store, processor, 3), straight);
  // Taken up in the second epoch.
  const Batches rest = batches_of(opened.store, processor, 1, {1, 16});
  EXPECT_EQ(rest, Batches(straight.begin() + 4, straight.end()));
  // The second of two ranks has the second half of each batch.
  const Batches half = batches_of(opened.store, processor, 0, {}, [](uint64_t, auto& samples) {
    samples.erase(samples.begin(), samples.begin() + std::ssize(samples) / 2);
  });
  for (size_t i = 0; i < straight.size(); ++i) {
    const auto& [pixels, targets] = straight[i];
    EXPECT_TRUE(std::equal(half[i].first.begin(), half[i].first.end(),
                           pixels.end() - std::ssize(half[i].first)));
    EXPECT_TRUE(std::equal(half[i].second.begin(), half[i].second.end(),
                           targets.end() - std::ssize(half[i].second)));
  }
  const TrainingImages other(inner_, everything(), 10);
  EXPECT_NE(batches_of(opened.store, other, 0), straight);
}

TEST_F(TrainingImagesTest, EpochsDifferAndSamplesDoToo) {
  const TrainingImages processor(inner_, {.resized_crop = true}, 9);
  const OpenedStore opened = store_for(processor);
  std::vector<std::byte> bytes;
  opened.store.read(7, bytes);
  std::set<std::string> seen;
  for (const int64_t number : {7, 8}) {
    for (const int64_t epoch : {0, 1, 2}) {
      Batch batch(processor.layout());
      batch.begin.epoch = epoch;
      processor.append_for_training(bytes, number, {}, batch);
      const auto pixels = batch.array<uint8_t>(kPixelInput);
      seen.emplace(pixels.begin(), pixels.end());
    }
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST_F(TrainingImagesTest, SharesOfLabelsSumToOne) {
  const TrainingImages processor(inner_, {.cutmix_alpha = 1}, 9);
  const OpenedStore opened = store_for(processor);
  int mixed = 0;
  for (const auto& [pixels, targets] : batches_of(opened.store, processor, 1)) {
    for (size_t i = 0; i < targets.size(); i += 3) {
      EXPECT_NEAR(targets[i] + targets[i + 1] + targets[i + 2], 1, 1e-6);
      mixed += *std::max_element(&targets[i], &targets[i] + 3) < 0.99;
    }
  }
  EXPECT_GT(mixed, 20);
}

TEST_F(TrainingImagesTest, WithoutAnyChoiceTheyAreThoseOfAnEvaluation) {
  const TrainingImages processor(inner_, {.crop_padding = 0}, 9);
  std::vector<EncodedSample> plain, stored;
  const std::string raw = raw_image(gradient(30, 20));
  const std::vector<RawSample> inputs = {{raw, {}}};
  inner_.encode(inputs, pool_, plain);
  processor.encode(inputs, pool_, stored);
  Batch a(inner_.layout()), b(inner_.layout());
  inner_.append(plain[0].bytes, 0, a);
  processor.append_for_training(stored[0].bytes, 0, {}, b);
  EXPECT_TRUE(std::ranges::equal(a.array<uint8_t>(kPixelInput), b.array<uint8_t>(kPixelInput)));
}

TEST_F(TrainingImagesTest, AreStoredSmallButWhole) {
  const TrainingImages processor(inner_, {.resized_crop = true}, 9);
  std::vector<EncodedSample> stored;
  const std::string wide = raw_image(image::Image(300, 30)), small = raw_image(image::Image(5, 3));
  const std::vector<RawSample> inputs = {{wide, {}}, {small, {}}};
  processor.encode(inputs, pool_, stored);
  // 12 * 8 / 7 rows, of four squares' width.
  EXPECT_EQ(stored[0].units, 1 + 52 * 13);
  EXPECT_EQ(stored[0].width, 300);
  EXPECT_EQ(stored[1].units, 1 + 5 * 3);
}

TEST_F(TrainingImagesTest, DamagedSamplesAreRefused) {
  const TrainingImages whole(inner_, {.resized_crop = true}, 9), sized(inner_, {.flip = true}, 9);
  Batch batch(inner_.layout());
  std::vector<std::byte> bytes(3 * 13);
  for (const int width : {0, 5, 13, 200}) {
    bytes[0] = static_cast<std::byte>(width);
    EXPECT_THROW(whole.append(bytes, 0, batch), Error) << width;
  }
  bytes[0] = static_cast<std::byte>(4);
  EXPECT_NO_THROW(whole.append(bytes, 0, batch));
  EXPECT_THROW(sized.append(bytes, 0, batch), Error);
  EXPECT_THROW(whole.append({}, 0, batch), Error);
}

}  // namespace
}  // namespace hone::data
