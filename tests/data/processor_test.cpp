// Stores and loaders know no kind of sample: here a unit is a pixel of three bytes.
#include "data/processor.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "data/sample_store_format.h"
#include "data/store_fixture.h"

namespace hone::data {
namespace {

constexpr Axis kPixels{1};
constexpr Axis kImages{2};
enum PixelInputs : size_t { kColours, kPixelOffsets };

std::shared_ptr<const BatchLayout> pixel_layout() {
  auto layout = std::make_shared<BatchLayout>();
  layout->inputs = {
      {"colours", DType::u8, kPixels, 3},
      {"offsets", DType::i32, kImages, 1, Filler::last, InputSpec::Role::offsets, kPixels}};
  layout->axes = {kPixels, kImages};
  layout->extents = [](int64_t samples, int64_t units, int64_t) {
    Extents extents;
    extents[kPixels] = units;
    extents[kImages] = samples;
    return extents;
  };
  return layout;
}

/// Reads "00ff7f102030": six digits a pixel.
class PixelProcessor : public Processor {
 public:
  explicit PixelProcessor(int64_t most) : Processor(pixel_layout()), most_(most) {}

  std::string_view sample_name() const override { return "image"; }
  std::string_view unit_name() const override { return "pixels"; }
  int64_t max_units() const override { return most_; }
  int64_t unit_bytes() const override { return 3; }
  Hash128 hash() const override { return {7, static_cast<uint64_t>(most_)}; }
  void encode(std::span<const RawSample> raw, ThreadPool&,
              std::vector<EncodedSample>& out) const override {
    out.resize(raw.size());
    for (size_t i = 0; i < raw.size(); ++i) {
      const std::string_view digits = raw[i].text;
      EncodedSample& sample = out[i];
      sample.full = static_cast<int64_t>(digits.size() / 6);
      sample.units = std::min(sample.full, most_);
      sample.bytes.resize(static_cast<size_t>(3 * sample.units));
      for (size_t k = 0; k < sample.bytes.size(); ++k) {
        int value = 0;
        std::from_chars(digits.data() + 2 * k, digits.data() + 2 * k + 2, value, 16);
        sample.bytes[k] = static_cast<std::byte>(value);
      }
    }
  }
  void append(std::span<const std::byte> sample, int64_t, Batch& batch) const override {
    const auto pixels = static_cast<int64_t>(sample.size() / 3);
    batch.add(std::vector<int64_t>{pixels, 1});
    batch.units += pixels;
    std::copy(sample.begin(), sample.end(), batch.last<std::byte>(kColours).begin());
  }
  OrderedJson facts() const override { return {}; }
  std::vector<TextFile> files() const override { return {}; }

 private:
  int64_t most_;
};

class PixelStore : public StoreTest {
 protected:
  const PixelProcessor pixels_{4};
  const std::string rows_ = "010203,even\n0a0b0c0d0e0f,odd\nff0000fe0000fd0000fc0000fb0000,odd\n";
};

std::vector<int> numbers(std::span<const std::byte> bytes) {
  std::vector<int> out;
  for (const std::byte byte : bytes) out.push_back(static_cast<int>(byte));
  return out;
}

TEST_F(PixelStore, HoldsWhatTheProcessorMade) {
  const auto [store, key, why, skipped] = opened(csv(rows_), recipe(pixels_));
  EXPECT_EQ(store.samples(), 3);
  EXPECT_EQ(store.units(), 1 + 2 + 4);
  EXPECT_EQ(store.truncated(), 1);
  EXPECT_EQ(std::vector<int32_t>(store.lengths().begin(), store.lengths().end()),
            (std::vector<int32_t>{1, 2, 4}));
  std::vector<std::byte> bytes;
  store.read(1, bytes);
  EXPECT_EQ(numbers(bytes), (std::vector<int>{10, 11, 12, 13, 14, 15}));
  store.read(2, bytes);
  EXPECT_EQ(numbers(bytes), (std::vector<int>{255, 0, 0, 254, 0, 0, 253, 0, 0, 252, 0, 0}));
  store.read(0, bytes);
  EXPECT_EQ(numbers(bytes), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(store.class_of(2), 1);
  store_format::Header header;
  std::memcpy(&header, read_file(path()).data(), sizeof header);
  EXPECT_EQ(header.unit_bytes, 3u);
}

TEST_F(PixelStore, BatchesAreOfItsLayout) {
  const auto [store, key, why, skipped] = opened(csv(rows_), recipe(pixels_));
  const Sampler sampler(store.lengths(), {0, false, false, 3, 0});
  for (const int workers : {0, 2}) {
    LoaderOptions options;
    options.workers = workers;
    Loader loader(store, pixels_, sampler, options);
    Batch batch;
    ASSERT_TRUE(loader.next(batch));
    EXPECT_EQ(batch.units, 7);
    EXPECT_EQ(batch.extents(), pixels_.extents(3, 7, 4));
    EXPECT_EQ(batch.classes, (std::vector<int32_t>{0, 1, 1}));
    EXPECT_EQ(numbers(batch.array<std::byte>(kColours).first(12)),
              (std::vector<int>{1, 2, 3, 10, 11, 12, 13, 14, 15, 255, 0, 0}));
    const auto* offsets = static_cast<const int32_t*>(batch.data(kPixelOffsets));
    EXPECT_EQ(std::vector<int32_t>(offsets, offsets + 4), (std::vector<int32_t>{0, 1, 3, 7}));
    EXPECT_FALSE(loader.next(batch));
  }
}

TEST_F(PixelStore, IsMadeAnewForAnotherProcessor) {
  const Split split = csv(rows_);
  opened(split, recipe(pixels_));
  EXPECT_EQ(opened(split, recipe(pixels_)).rebuilt, "");
  EXPECT_NE(opened(split, recipe(PixelProcessor(3))).rebuilt, "");
  EXPECT_NE(opened(split, recipe()).rebuilt, "");  // a store of texts
  EXPECT_NE(opened(split, recipe(pixels_)).rebuilt, "");
}

TEST_F(PixelStore, ErrorsUseItsWords) {
  EXPECT_EQ(error_of([&] { opened(csv("010203,odd\nabc,odd\n"), recipe(pixels_)); }),
            folder_.path() + "/data.csv: line 3: image: no pixels");
}

}  // namespace
}  // namespace hone::data
