#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

#include "image/decoders.h"
#include "image/orientation.h"

namespace hone::image {
namespace {

std::string_view chunk_of(const WebPDemuxer* demuxer, const char* name,
                          WebPChunkIterator& iterator) {
  if (!WebPDemuxGetChunk(demuxer, name, 1, &iterator)) return {};
  return {reinterpret_cast<const char*>(iterator.chunk.bytes), iterator.chunk.size};
}

int orientation_of(const WebPData& data) {
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(WebPDemux(&data),
                                                                         WebPDemuxDelete);
  if (!demuxer) return 1;
  WebPChunkIterator iterator = {};
  int found = exif_orientation(chunk_of(demuxer.get(), "EXIF", iterator));
  WebPDemuxReleaseChunkIterator(&iterator);
  if (found == 0) {
    found = xmp_orientation(chunk_of(demuxer.get(), "XMP ", iterator));
    WebPDemuxReleaseChunkIterator(&iterator);
  }
  return found == 0 ? 1 : found;
}

/// Decodes the first picture of an animation.
void decode_animation(const WebPData& data, const std::string& file, Image& image) {
  WebPAnimDecoderOptions options = {};
  if (!WebPAnimDecoderOptionsInit(&options)) fail_image(file, "WebP", "another library's version");
  options.color_mode = MODE_RGBA;
  const std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)> decoder(
      WebPAnimDecoderNew(&data, &options), WebPAnimDecoderDelete);
  uint8_t* frame = nullptr;
  int time = 0;
  if (!decoder || !WebPAnimDecoderGetNext(decoder.get(), &frame, &time)) {
    fail_image(file, "WebP", "the animation is damaged or truncated");
  }
  uint8_t* out = image.pixels.data();
  for (int64_t i = 0; i < image.width * image.height; ++i, frame += 4) {
    out = std::copy_n(frame, kChannels, out);
  }
}

const char* problem_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "truncated";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "has a feature that the decoder does not know";
    default:
      return "damaged";
  }
}

}  // namespace

Decoded decode_webp(std::string_view bytes, const std::string& file, const DecodeLimits& limits) {
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  const WebPData data = {begin, bytes.size()};
  WebPBitstreamFeatures features = {};
  const VP8StatusCode found = WebPGetFeatures(begin, bytes.size(), &features);
  if (found != VP8_STATUS_OK) fail_image(file, "WebP", problem_of(found));
  check_size(features.width, features.height, file, limits);
  Decoded decoded{Image(features.width, features.height), 1};
  Image& image = decoded.image;
  if (features.has_animation) {
    decode_animation(data, file, image);
  } else {
    WebPDecoderConfig config = {};
    if (!WebPInitDecoderConfig(&config)) fail_image(file, "WebP", "another library's version");
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = image.pixels.data();
    config.output.u.RGBA.stride = static_cast<int>(image.width * kChannels);
    config.output.u.RGBA.size = image.pixels.size();
    const VP8StatusCode status = WebPDecode(begin, bytes.size(), &config);
    if (status != VP8_STATUS_OK) fail_image(file, "WebP", problem_of(status));
  }
  decoded.orientation = orientation_of(data);
  return decoded;
}

}  // namespace hone::image
