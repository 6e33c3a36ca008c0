#include "image/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

namespace hone::image {
namespace {

// Weights are whole numbers of 2^-22: a byte times a sum of them fits in 32 bits with room for the
// negative ones of the bicubic filter.
constexpr int kPrecisionBits = 32 - 8 - 2;

double bilinear(double x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : 0;
}

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

double hamming(double x) {
  x = std::abs(x);
  if (x == 0) return 1;
  if (x >= 1) return 0;
  x *= std::numbers::pi;
  return std::sin(x) / x * (0.54 + 0.46 * std::cos(x));
}

struct Kernel {
  double (*weight)(double);
  double support;  ///< the weight is 0 this far from the centre
};

Kernel kernel_of(Filter filter) {
  switch (filter) {
    case Filter::lanczos:
      return {lanczos, 3};
    case Filter::bicubic:
      return {bicubic, 2};
    case Filter::box:
      return {box, 0.5};
    case Filter::hamming:
      return {hamming, 1};
    default:
      return {bilinear, 1};
  }
}

/// What the results along one axis are made of: some neighbouring inputs each, with weights.
struct Taps {
  struct Range {
    int64_t first;
    int64_t count;
  };
  std::vector<Range> ranges;
  std::vector<int32_t> weights;  ///< `most` a result
  int64_t most = 0;

  int64_t begin() const { return ranges.front().first; }
  int64_t end() const { return ranges.back().first + ranges.back().count; }
};

/// Gives the taps of results first to first + count of `out`, which cover `from` to `to` of `size`
/// inputs.
Taps make_taps(const Kernel& kernel, int64_t size, double from, double to, int64_t out,
               int64_t first, int64_t count) {
  const double scale = (to - from) / static_cast<double>(out);
  const double stretch = std::max(scale, 1.);
  const double support = kernel.support * stretch;
  Taps taps;
  taps.most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  taps.weights.resize(static_cast<size_t>(taps.most * count));
  std::vector<double> weights(static_cast<size_t>(taps.most));
  for (int64_t i = 0; i < count; ++i) {
    const double center = from + (static_cast<double>(first + i) + 0.5) * scale;
    const double inverse = 1.0 / stretch;
    const int64_t low = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const int64_t high = std::min(static_cast<int64_t>(center + support + 0.5), size);
    double sum = 0;
    for (int64_t x = 0; x < high - low; ++x) {
      const double weight = kernel.weight((static_cast<double>(x + low) - center + 0.5) * inverse);
      weights[static_cast<size_t>(x)] = weight;
      sum += weight;
    }
    int32_t* to_weights = taps.weights.data() + i * taps.most;
    for (int64_t x = 0; x < high - low; ++x) {
      double weight = weights[static_cast<size_t>(x)];
      if (sum != 0) weight /= sum;
      to_weights[x] =
          static_cast<int32_t>((weight < 0 ? -0.5 : 0.5) + weight * (1 << kPrecisionBits));
    }
    taps.ranges.push_back({low, high - low});
  }
  return taps;
}

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255));
}

constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);

/// Filters the rows of `in`, whose column 0 is the image's column `left`.
Image filter_rows(const Taps& taps, const Image& in, int64_t left) {
  Image out(std::ssize(taps.ranges), in.height);
  uint8_t* to = out.pixels.data();
  for (int64_t y = 0; y < in.height; ++y) {
    for (size_t i = 0; i < taps.ranges.size(); ++i) {
      const auto [first, count] = taps.ranges[i];
      const int32_t* weights = taps.weights.data() + static_cast<int64_t>(i) * taps.most;
      const uint8_t* pixel = in.row(y) + (first - left) * kChannels;
      int32_t red = kHalf, green = kHalf, blue = kHalf;
      for (int64_t k = 0; k < count; ++k, pixel += kChannels) {
        red += pixel[0] * weights[k];
        green += pixel[1] * weights[k];
        blue += pixel[2] * weights[k];
      }
      *to++ = rounded(red);
      *to++ = rounded(green);
      *to++ = rounded(blue);
    }
  }
  return out;
}

/// Filters the columns of `in`, whose row 0 is the image's row `top`.
Image filter_columns(const Taps& taps, const Image& in, int64_t top) {
  Image out(in.width, std::ssize(taps.ranges));
  const auto bytes = static_cast<size_t>(in.width * kChannels);
  std::vector<int32_t> sums(bytes);
  for (int64_t y = 0; y < out.height; ++y) {
    const auto [first, count] = taps.ranges[static_cast<size_t>(y)];
    const int32_t* weights = taps.weights.data() + y * taps.most;
    std::fill(sums.begin(), sums.end(), kHalf);
    for (int64_t k = 0; k < count; ++k) {
      const uint8_t* row = in.row(first - top + k);
      for (size_t x = 0; x < bytes; ++x) sums[x] += row[x] * weights[k];
    }
    uint8_t* to = out.row(y);
    for (size_t x = 0; x < bytes; ++x) to[x] = rounded(sums[x]);
  }
  return out;
}

Image cut(const Image& image, int64_t left, int64_t width, int64_t top, int64_t height) {
  Image out(width, height);
  for (int64_t y = 0; y < height; ++y) {
    std::copy_n(image.row(top + y) + left * kChannels, width * kChannels, out.row(y));
  }
  return out;
}

/// Gives the input that each result takes: the nearest to its centre. Pillow adds up steps, whose
/// rounding is part of the result.
std::vector<int64_t> nearest(double from, double to, int64_t out, int64_t first, int64_t count,
                             int64_t size) {
  std::vector<int64_t> places;
  const double step = (to - from) / static_cast<double>(out);
  double at = from + step * 0.5;
  for (int64_t i = 0; i < first + count; ++i, at += step) {
    if (i < first) continue;
    places.push_back(std::clamp<int64_t>(static_cast<int64_t>(at), 0, size - 1));
  }
  return places;
}

Image resize_nearest(const Image& image, const Resize& how) {
  const auto columns = nearest(how.box.left, how.box.right, how.width, how.window.left,
                               how.window.width, image.width);
  const auto rows = nearest(how.box.top, how.box.bottom, how.height, how.window.top,
                            how.window.height, image.height);
  Image out(how.window.width, how.window.height);
  uint8_t* to = out.pixels.data();
  for (const int64_t row : rows) {
    for (const int64_t column : columns) {
      to = std::copy_n(image.row(row) + column * kChannels, kChannels, to);
    }
  }
  return out;
}

/// Says which pass comes first, as Pillow has it since version 13: columns where the height becomes
/// much less than the width. What is between the passes is rounded, so that their order shows.
bool columns_first(const Image& image, const Resize& how) {
  return how.height < image.height && image.height - how.height > 2 * (image.width - how.width);
}

}  // namespace

Image resize(const Image& image, int64_t width, int64_t height, Filter filter) {
  const Box all = {0, 0, static_cast<double>(image.width), static_cast<double>(image.height)};
  return resize(image, {all, width, height, {0, 0, width, height}}, filter);
}

Image resize(const Image& image, const Resize& how, Filter filter) {
  const auto is_all = [](double from, double to, int64_t size, int64_t out) {
    return from == 0 && to == static_cast<double>(size) && size == out;
  };
  const bool keeps_columns = is_all(how.box.left, how.box.right, image.width, how.width);
  const bool keeps_rows = is_all(how.box.top, how.box.bottom, image.height, how.height);
  const Resize::Window& window = how.window;
  if (keeps_columns && keeps_rows) {
    return cut(image, window.left, window.width, window.top, window.height);
  }
  if (filter == Filter::nearest) return resize_nearest(image, how);

  const Kernel kernel = kernel_of(filter);
  Taps columns, rows;
  int64_t left = window.left, right = window.left + window.width;
  int64_t top = window.top, bottom = window.top + window.height;
  if (!keeps_columns) {
    columns = make_taps(kernel, image.width, how.box.left, how.box.right, how.width, window.left,
                        window.width);
    std::tie(left, right) = std::pair(columns.begin(), columns.end());
  }
  if (!keeps_rows) {
    rows = make_taps(kernel, image.height, how.box.top, how.box.bottom, how.height, window.top,
                     window.height);
    std::tie(top, bottom) = std::pair(rows.begin(), rows.end());
  }
  const Image part = cut(image, left, right - left, top, bottom - top);
  if (keeps_rows) return filter_rows(columns, part, left);
  if (keeps_columns) return filter_columns(rows, part, top);
  return columns_first(image, how) ? filter_rows(columns, filter_columns(rows, part, top), left)
                                   : filter_columns(rows, filter_rows(columns, part, left), top);
}

Image center_crop(const Image& image, int64_t width, int64_t height) {
  Image out(width, height);
  // A smaller image stands in the middle of the padded one, whose middle is taken; where what is
  // left over is odd, padding rounds it up.
  const auto place = [](int64_t size, int64_t crop) {
    return size >= crop ? center_begin(size, crop) : -((crop - size + 1) / 2);
  };
  const int64_t left = place(image.width, width), top = place(image.height, height);
  const int64_t from = std::max<int64_t>(left, 0), to = std::min(left + width, image.width);
  for (int64_t y = std::max<int64_t>(top, 0); y < std::min(top + height, image.height); ++y) {
    std::copy_n(image.row(y) + from * kChannels, (to - from) * kChannels,
                out.row(y - top) + (from - left) * kChannels);
  }
  return out;
}

}  // namespace hone::image
