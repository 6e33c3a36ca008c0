#include "data/image_options.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"

namespace hone::data {
namespace {

using Size = ImageOptions::Size;
using Colour = std::array<double, image::kChannels>;

/// Longer edges are refused: what is asked for here is allocated for every image.
constexpr int64_t kLongestEdge = 4096;
constexpr uint64_t kMostBytes = 1 << 20;

/// What a processor of transformers takes where its file says nothing.
struct Kind {
  std::string_view prefix;  ///< begins the name of its class
  bool square;              ///< a size of one number is that of both edges
  int64_t size;
  bool crops;
  image::Filter filter;
  Colour mean;
  Colour deviation;
};

constexpr Colour kHalf = {0.5, 0.5, 0.5};
constexpr Colour kClipMean = {0.48145466, 0.4578275, 0.40821073};
constexpr Colour kClipDeviation = {0.26862954, 0.26130258, 0.27577711};
constexpr Kind kKinds[] = {
    {"ViT", true, 224, false, image::Filter::bilinear, kHalf, kHalf},
    {"ConvNext", false, 384, false, image::Filter::bicubic, kHalf, kHalf},
    {"DeiT", true, 256, true, image::Filter::bicubic, kHalf, kHalf},
    {"CLIP", false, 224, true, image::Filter::bicubic, kClipMean, kClipDeviation},
    {"Bit", false, 224, true, image::Filter::bicubic, kClipMean, kClipDeviation},
};

const Kind& kind_of(const JsonFields& fields) {
  const char* field =
      fields.has("image_processor_type") ? "image_processor_type" : "feature_extractor_type";
  const std::string name = fields.string(field, "ViTImageProcessor");
  for (const Kind& kind : kKinds) {
    if (!name.starts_with(kind.prefix)) continue;
    const std::string_view rest = std::string_view(name).substr(kind.prefix.size());
    if (rest.starts_with("ImageProcessor") || rest == "FeatureExtractor") return kind;
  }
  fields.fail_field(field, "expected the image processor of ViT, DeiT, ConvNext, CLIP or Bit");
}

/// Reads a size that is a number, a pair, or an object of height and width.
Size read_size(const JsonFields& fields, const char* field, int64_t fallback) {
  if (!fields.has(field)) return {fallback, fallback};
  const Json& value = fields.at(field);
  if (value.is_object()) {
    const JsonFields inner = fields.object(field);
    return {inner.integer("height", 1, kLongestEdge), inner.integer("width", 1, kLongestEdge)};
  }
  if (value.is_array()) {
    const auto edge = [&](size_t i) {
      if (value.size() != 2 || !value[i].is_number_integer()) {
        fields.fail_field(field, "expected height and width");
      }
      const int64_t length = value[i].get<int64_t>();
      if (length < 1 || length > kLongestEdge) fields.fail_field(field, "out of range");
      return length;
    };
    return {edge(0), edge(1)};
  }
  const int64_t edge = fields.integer(field, 1, kLongestEdge);
  return {edge, edge};
}

/// Gives the shorter edge where `size` means that alone.
std::optional<int64_t> read_shortest_edge(const JsonFields& fields, const Kind& kind) {
  if (!fields.has("size")) return kind.square ? std::nullopt : std::optional(kind.size);
  const Json& value = fields.at("size");
  if (value.is_number() && !kind.square) return fields.integer("size", 1, kLongestEdge);
  if (!value.is_object() || !value.contains("shortest_edge")) return std::nullopt;
  const JsonFields size = fields.object("size");
  if (size.has("longest_edge")) size.fail_field("longest_edge", "is not supported");
  return size.integer("shortest_edge", 1, kLongestEdge);
}

/// ConvNext resizes to somewhat more than the size and cuts the middle out; from 384 on to the size
/// itself.
void read_convnext(const JsonFields& fields, const Kind& kind, ImageOptions& options) {
  constexpr int64_t kWarpedFrom = 384;
  const std::optional<int64_t> edge = read_shortest_edge(fields, kind);
  if (!edge) fields.fail_field("size", "expected a number or an object with shortest_edge");
  const double share = fields.number("crop_pct", 224. / 256.);
  if (!(share > 0.05 && share <= 1)) fields.fail_field("crop_pct", "expected a share above 0.05");
  if (*edge >= kWarpedFrom) {
    options.exact = Size{*edge, *edge};
    return;
  }
  options.shortest_edge = static_cast<int64_t>(static_cast<double>(*edge) / share);
  options.crop = Size{*edge, *edge};
}

void read_resize(const JsonFields& fields, const Kind& kind, ImageOptions& options) {
  if (!fields.boolean("do_resize", true)) return;
  if (kind.prefix == "ConvNext") return read_convnext(fields, kind, options);
  options.shortest_edge = read_shortest_edge(fields, kind);
  if (!options.shortest_edge) options.exact = read_size(fields, "size", kind.size);
}

Colour read_colour(const JsonFields& fields, const char* field, const Colour& fallback) {
  if (!fields.has(field)) return fallback;
  const Json& value = fields.at(field);
  Colour colour{};
  for (size_t c = 0; c < colour.size(); ++c) {
    const bool list = value.is_array();
    if (list ? value.size() != colour.size() || !value[c].is_number() : !value.is_number()) {
      fields.fail_field(field, "expected three numbers");
    }
    colour[c] = (list ? value[c] : value).get<double>();
    if (!std::isfinite(colour[c])) fields.fail_field(field, "expected finite numbers");
  }
  return colour;
}

void set_levels(double rescale, const Colour& mean, const Colour& deviation,
                ImageOptions& options) {
  for (size_t c = 0; c < mean.size(); ++c) {
    options.scale[c] = static_cast<float>(rescale / deviation[c]);
    options.shift[c] = static_cast<float>(-mean[c] / deviation[c]);
  }
}

void read_levels(const JsonFields& fields, const Kind& kind, ImageOptions& options) {
  Colour mean{}, deviation = {1, 1, 1};
  if (fields.boolean("do_normalize", true)) {
    mean = read_colour(fields, "image_mean", kind.mean);
    deviation = read_colour(fields, "image_std", kind.deviation);
    for (const double one : deviation) {
      if (!(std::abs(one) > 1e-6)) fields.fail_field("image_std", "expected numbers above 0");
    }
  }
  double rescale = 1;
  if (fields.boolean("do_rescale", true)) rescale = fields.number("rescale_factor", 1. / 255.);
  if (!std::isfinite(rescale)) fields.fail_field("rescale_factor", "expected a finite number");
  set_levels(rescale, mean, deviation, options);
}

}  // namespace

ImageOptions parse_image_options(const std::string& text, const std::string& file) {
  const Json json = parse_json(text, file);
  const JsonFields fields(json, file);
  const Kind& kind = kind_of(fields);
  ImageOptions options;
  read_resize(fields, kind, options);
  const auto filter = fields.integer("resample", 0, 5, static_cast<int64_t>(kind.filter));
  options.filter = static_cast<image::Filter>(filter);
  if (fields.boolean("do_center_crop", kind.crops)) {
    const Size crop = read_size(fields, "crop_size", 224);
    (options.crop ? options.second_crop : options.crop) = crop;
  }
  if (fields.boolean("do_pad", false)) fields.fail_field("do_pad", "is not supported");
  const std::optional<Size> last = options.second_crop ? options.second_crop
                                   : options.crop      ? options.crop
                                                       : options.exact;
  if (!last) {
    fields.fail_field("do_center_crop", "expected true: images have no one size without it");
  }
  options.height = last->height;
  options.width = last->width;
  read_levels(fields, kind, options);
  options.text = text;
  return options;
}

ImageOptions read_image_options(const std::string& folder_or_file) {
  const std::string file =
      folder_exists(folder_or_file) ? folder_or_file + "/" + kImageOptionsFile : folder_or_file;
  return parse_image_options(read_file(file, kMostBytes), file);
}

ImageOptions square_image_options(int64_t side) {
  const Json json = {{"image_processor_type", "ViTImageProcessor"},
                     {"do_resize", true},
                     {"size", {{"height", side}, {"width", side}}},
                     {"resample", static_cast<int>(image::Filter::bilinear)},
                     {"do_rescale", true},
                     {"rescale_factor", 1. / 255.},
                     {"do_normalize", true},
                     {"image_mean", kHalf},
                     {"image_std", kHalf}};
  return parse_image_options(indented_json(json), kImageOptionsFile);
}

void hash_options(const ImageOptions& options, ContentHash& hash) {
  const auto add = [&](const std::optional<Size>& size) {
    hash.number(static_cast<uint64_t>(size ? size->height : 0));
    hash.number(static_cast<uint64_t>(size ? size->width : 0));
  };
  add(options.exact);
  hash.number(static_cast<uint64_t>(options.shortest_edge.value_or(0)));
  add(options.crop);
  add(options.second_crop);
  hash.number(static_cast<uint64_t>(options.filter));
}

}  // namespace hone::data
