#include <spng.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "image/decoders.h"
#include "image/orientation.h"

namespace hone::image {
namespace {

// What a file holds beside its pixels (colour profiles, texts) may take this much, unpacked.
constexpr size_t kMostChunkBytes = 8 << 20;
constexpr size_t kMostChunksBytes = 32 << 20;

struct PngDeleter {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Png = std::unique_ptr<spng_ctx, PngDeleter>;

void check(int result, const std::string& file) {
  if (result != 0) fail_image(file, "PNG", spng_strerror(result));
}

int orientation_of(spng_ctx* png) {
  spng_exif exif = {};
  if (spng_get_exif(png, &exif) == 0) {
    const int found = exif_orientation({exif.data, exif.length});
    if (found != 0) return found;
  }
  uint32_t count = 0;
  if (spng_get_text(png, nullptr, &count) != 0 || count == 0) return 1;
  std::vector<spng_text> texts(count);
  if (spng_get_text(png, texts.data(), &count) != 0) return 1;
  for (const spng_text& text : texts) {
    if (std::string_view(text.keyword) != "XML:com.adobe.xmp") continue;
    const int found = xmp_orientation({text.text, text.length});
    if (found != 0) return found;
  }
  return 1;
}

using Palette = std::array<std::array<uint8_t, kChannels>, 256>;

/// Gives the file's colours; those that it does not name are black.
Palette palette_of(spng_ctx* png, const std::string& file) {
  Palette colours = {};
  spng_plte plte = {};
  check(spng_get_plte(png, &plte), file);
  for (uint32_t i = 0; i < std::min<uint32_t>(plte.n_entries, 256); ++i) {
    colours[i] = {plte.entries[i].red, plte.entries[i].green, plte.entries[i].blue};
  }
  return colours;
}

/// Spreads samples of 1, 2, 4 or 8 bits: each is the place of a colour.
void spread_places(const uint8_t* row, int64_t width, int bits, const Palette& colours,
                   uint8_t* out) {
  const int mask = (1 << bits) - 1;
  for (int64_t x = 0; x < width; ++x) {
    const int64_t bit = x * bits;
    const auto place = static_cast<size_t>((row[bit / 8] >> (8 - bits - bit % 8)) & mask);
    out = std::copy_n(colours[place].data(), kChannels, out);
  }
}

/// Gives the gray levels of samples of so many bits.
Palette grays(int bits) {
  Palette colours = {};
  const int most = (1 << bits) - 1;
  for (int i = 0; i <= most; ++i) {
    colours[static_cast<size_t>(i)].fill(static_cast<uint8_t>(i * 255 / most));
  }
  return colours;
}

/// Spreads samples of 8 or 16 bits (big-endian); of the latter the upper byte counts.
void spread_samples(const uint8_t* row, int64_t width, int channels, int bytes, uint8_t* out) {
  const int step = channels * bytes;
  const int green = channels >= 3 ? bytes : 0, blue = channels >= 3 ? 2 * bytes : 0;
  for (int64_t x = 0; x < width; ++x, row += step) {
    *out++ = row[0];
    *out++ = row[green];
    *out++ = row[blue];
  }
}

/// Spreads gray samples of 16 bits, which Pillow takes for whole numbers: above 255 all is white.
void spread_deep_gray(const uint8_t* row, int64_t width, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x, row += 2, out += kChannels) {
    out[0] = out[1] = out[2] = row[0] == 0 ? row[1] : 255;
  }
}

int channels_of(int color_type) {
  switch (color_type) {
    case SPNG_COLOR_TYPE_TRUECOLOR:
      return 3;
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
      return 2;
    case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA:
      return 4;
    default:
      return 1;
  }
}

/// Reads an image's rows as they lie in the file, in any order, and spreads each.
class PngRows {
 public:
  PngRows(spng_ctx* png, const spng_ihdr& header, const std::string& file)
      : png_(png), header_(header), file_(file) {
    if (header.color_type == SPNG_COLOR_TYPE_INDEXED) {
      colours_ = palette_of(png, file);
    } else if (header.bit_depth <= 8) {
      colours_ = grays(header.bit_depth);
    }
  }

  void read(Image& image) {
    check(spng_decode_image(png_, nullptr, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE), file_);
    size_t all = 0;
    check(spng_decoded_image_size(png_, SPNG_FMT_RAW, &all), file_);
    const size_t row_bytes = all / header_.height;
    if (header_.interlace_method == SPNG_INTERLACE_NONE) {
      std::vector<uint8_t> row(row_bytes);
      for (int64_t y = 0; y < image.height; ++y) {
        const int result = spng_decode_row(png_, row.data(), row.size());
        if (result != SPNG_EOI || y + 1 < image.height) check(result, file_);
        spread(row.data(), image.width, image.row(y));
      }
      return;
    }
    // The rows of an interlaced image come seven times, each time with more pixels.
    std::vector<uint8_t> rows(all);
    for (;;) {
      spng_row_info info = {};
      const int before = spng_get_row_info(png_, &info);
      if (before == SPNG_EOI) break;
      check(before, file_);
      const int result = spng_decode_row(png_, rows.data() + info.row_num * row_bytes, row_bytes);
      if (result == SPNG_EOI) break;
      check(result, file_);
    }
    for (int64_t y = 0; y < image.height; ++y) {
      spread(rows.data() + static_cast<size_t>(y) * row_bytes, image.width, image.row(y));
    }
  }

 private:
  void spread(const uint8_t* row, int64_t width, uint8_t* out) const {
    const int channels = channels_of(header_.color_type);
    if (channels == 1 && header_.bit_depth == 16) return spread_deep_gray(row, width, out);
    if (channels == 1) return spread_places(row, width, header_.bit_depth, colours_, out);
    spread_samples(row, width, channels, header_.bit_depth / 8, out);
  }

  spng_ctx* png_;
  const spng_ihdr& header_;
  const std::string& file_;
  Palette colours_ = {};
};

}  // namespace

Decoded decode_png(std::string_view bytes, const std::string& file, const DecodeLimits& limits) {
  const Png png(spng_ctx_new(0));
  if (!png) throw std::bad_alloc();
  check(spng_set_chunk_limits(png.get(), kMostChunkBytes, kMostChunksBytes), file);
  check(spng_set_png_buffer(png.get(), bytes.data(), bytes.size()), file);
  spng_ihdr header = {};
  check(spng_get_ihdr(png.get(), &header), file);
  check_size(header.width, header.height, file, limits);
  Decoded decoded{Image(header.width, header.height), 1};
  PngRows(png.get(), header, file).read(decoded.image);
  decoded.orientation = orientation_of(png.get());
  return decoded;
}

}  // namespace hone::image
