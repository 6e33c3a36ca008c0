#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h wants it
#include <memory>

// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "image/decoders.h"
#include "image/orientation.h"

namespace hone::image {
namespace {

/// A progressive file has about ten scans; each is a pass over all of the image, so that a file of
/// thousands would keep a processor busy for hours.
constexpr int kMostScans = 100;
constexpr unsigned kMostMarkerBytes = 0xffff;

/// The library leaves by longjmp where it finds a fault: all that it works with lies in here, so
/// that no function between has anything to destroy.
struct JpegReader {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_source_mgr source = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf fault = {};
  std::array<char, JMSG_LENGTH_MAX> message = {};

  ~JpegReader() { jpeg_destroy_decompress(&info); }
};

JpegReader& reader_of(j_common_ptr info) { return *static_cast<JpegReader*>(info->client_data); }

[[noreturn]] void leave(j_common_ptr info) {
  JpegReader& reader = reader_of(info);
  info->err->format_message(info, reader.message.data());
  std::longjmp(reader.fault, 1);
}

[[noreturn]] void leave_with(j_common_ptr info, const char* problem) {
  JpegReader& reader = reader_of(info);
  std::snprintf(reader.message.data(), reader.message.size(), "%s", problem);
  std::longjmp(reader.fault, 1);
}

void ignore_message(j_common_ptr) {}

boolean no_more_bytes(j_decompress_ptr info) {
  leave_with(reinterpret_cast<j_common_ptr>(info), "truncated");
}

void skip_bytes(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) > info->src->bytes_in_buffer) no_more_bytes(info);
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<size_t>(count);
}

void count_scans(j_common_ptr info) {
  if (info->is_decompressor == 0) return;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) {
    leave_with(info, "too many scans");
  }
}

/// Gives the library the file's bytes. It keeps EXIF's and XMP's markers.
void set_source(JpegReader& reader, std::string_view bytes) {
  reader.source.init_source = [](j_decompress_ptr) {};
  reader.source.term_source = [](j_decompress_ptr) {};
  reader.source.fill_input_buffer = no_more_bytes;
  reader.source.skip_input_data = skip_bytes;
  reader.source.resync_to_restart = jpeg_resync_to_restart;
  reader.source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
  reader.source.bytes_in_buffer = bytes.size();
  reader.info.src = &reader.source;
  reader.progress.progress_monitor = count_scans;
  reader.info.progress = &reader.progress;
  jpeg_save_markers(&reader.info, JPEG_APP0 + 1, kMostMarkerBytes);
}

/// Reads all before the pixels; false where that failed.
bool read_header(JpegReader& reader, std::string_view bytes) {
  reader.info.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = leave;
  reader.errors.output_message = ignore_message;
  reader.info.client_data = &reader;
  if (setjmp(reader.fault)) return false;
  jpeg_create_decompress(&reader.info);
  set_source(reader, bytes);
  jpeg_read_header(&reader.info, TRUE);
  switch (reader.info.num_components) {
    case 1:
      reader.info.out_color_space = JCS_GRAYSCALE;
      break;
    case 3:
      reader.info.out_color_space = JCS_RGB;
      break;
    case 4:
      reader.info.out_color_space = JCS_CMYK;
      break;
    default:
      leave_with(reinterpret_cast<j_common_ptr>(&reader.info), "expected 1, 3 or 4 components");
  }
  return true;
}

/// Reads rows of pixels as the file has them, `channels` bytes each; false where that failed.
bool read_rows(JpegReader& reader, uint8_t* pixels, size_t row_bytes) {
  if (setjmp(reader.fault)) return false;
  jpeg_start_decompress(&reader.info);
  while (reader.info.output_scanline < reader.info.output_height) {
    JSAMPROW row = pixels + reader.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&reader.info, &row, 1);
  }
  jpeg_finish_decompress(&reader.info);
  return true;
}

int orientation_of(const JpegReader& reader) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  constexpr std::string_view kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
  int exif = 0, xmp = 0;
  for (auto marker = reader.info.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (exif == 0 && data.starts_with(kExif)) exif = exif_orientation(data);
    if (xmp == 0 && data.starts_with(kXmp)) xmp = xmp_orientation(data.substr(kXmp.size()));
  }
  return exif != 0 ? exif : xmp != 0 ? xmp : 1;
}

void spread_gray(const uint8_t* gray, int64_t count, uint8_t* rgb) {
  for (int64_t i = 0; i < count; ++i, rgb += kChannels) rgb[0] = rgb[1] = rgb[2] = gray[i];
}

/// Adobe's files have inks inverted, and others hardly exist: as Pillow, this takes all for those.
void spread_inks(const uint8_t* inks, int64_t count, uint8_t* rgb) {
  for (int64_t i = 0; i < count; ++i, inks += 4) {
    const int white = inks[3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - inks[c]) * white + 128;
      *rgb++ = static_cast<uint8_t>(std::max(white - (((product >> 8) + product) >> 8), 0));
    }
  }
}

}  // namespace

Decoded decode_jpeg(std::string_view bytes, const std::string& file, const DecodeLimits& limits) {
  const auto reader = std::make_unique<JpegReader>();
  if (!read_header(*reader, bytes)) fail_image(file, "JPEG", reader->message.data());
  const int64_t width = reader->info.image_width, height = reader->info.image_height;
  const int64_t components = reader->info.num_components;
  check_size(width, height, file, limits);
  Decoded decoded{Image(width, height), orientation_of(*reader)};
  uint8_t* out = decoded.image.pixels.data();
  std::vector<uint8_t> raw;
  if (components != kChannels) raw.resize(static_cast<size_t>(width * height * components));
  if (!read_rows(*reader, raw.empty() ? out : raw.data(),
                 static_cast<size_t>(width * components))) {
    fail_image(file, "JPEG", reader->message.data());
  }
  if (components == 1) spread_gray(raw.data(), width * height, out);
  if (components == 4) spread_inks(raw.data(), width * height, out);
  return decoded;
}

}  // namespace hone::image
