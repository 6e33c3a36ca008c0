#include "image/decode.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "image/goldens.h"
#include "image/orientation.h"

namespace hone::image {
namespace {

std::string refusal_of(std::string_view bytes, const DecodeLimits& limits = {}) {
  try {
    decode(bytes, "a.jpg", limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_file);
    return error.what();
  }
  return "";
}

TEST(Decode, PixelsAreThoseOfPillow) {
  for (const Json& item : image_goldens().at("decoded")) {
    const std::string file = item.at("file");
    SCOPED_TRACE(file);
    const Image image = golden_image(file);
    EXPECT_EQ(image.width, item.at("size").at(0));
    EXPECT_EQ(image.height, item.at("size").at(1));
    EXPECT_EQ(fnv_of(image.pixels), item.at("fnv"));
  }
}

TEST(Decode, AFileThatIsCutAnywhereIsRefused) {
  for (const char* name : {"420.jpg", "progressive.jpg", "cmyk.jpg", "rgb.png", "palette.png",
                           "interlaced.png", "lossy.webp", "lossless.webp", "animated.webp"}) {
    const std::string whole = read_file(kGoldens + name);
    // A PNG's last chunk, and what a WebP file holds behind its first picture, are never missed.
    const bool png = std::string_view(name).ends_with("png");
    size_t end = whole.size() - (png ? 32 : 2);
    if (std::string_view(name) == "animated.webp") end = whole.size() / 3;
    for (size_t size = 0; size < end; size += size < 64 ? 1 : 7) {
      EXPECT_NE(refusal_of(whole.substr(0, size)), "") << name << " cut to " << size;
    }
  }
}

TEST(Decode, MessagesNameTheFile) {
  EXPECT_EQ(refusal_of(""), "a.jpg: empty, expected an image");
  EXPECT_EQ(refusal_of("hello there"), "a.jpg: expected a JPEG, PNG or WebP image, got 'hello th'");
  const std::string jpeg = read_file(kGoldens + "444.jpg");
  EXPECT_EQ(refusal_of(jpeg.substr(0, jpeg.size() / 2)), "a.jpg: JPEG: truncated");
}

TEST(Decode, TooManyPixelsAreRefusedBeforeMemoryIsTaken) {
  for (const char* name : {"444.jpg", "rgb.png", "lossy.webp"}) {
    const std::string bytes = read_file(kGoldens + name);
    EXPECT_NE(refusal_of(bytes, {.max_pixels = 100}).find("more than 100 pixels"),
              std::string::npos);
    EXPECT_EQ(refusal_of(bytes, {.max_pixels = 37 * 29}), "");
  }
  // A header that says 60,000 x 60,000.
  std::string png = read_file(kGoldens + "rgb.png");
  const std::string size("\0\0\xea\x60\0\0\xea\x60", 8);
  png.replace(16, 8, size);
  EXPECT_NE(refusal_of(png), "");
}

TEST(Decode, ProgressiveFilesOfThousandsOfScansAreCutOff) {
  const std::string whole = read_file(kGoldens + "progressive.jpg");
  // The last scan, from its marker to the end of the image, once more and again.
  const size_t scan = whole.rfind("\xff\xda"), end = whole.size() - 2;
  std::string many = whole.substr(0, end);
  for (int i = 0; i < 3000; ++i) many += whole.substr(scan, end - scan);
  many += "\xff\xd9";
  EXPECT_EQ(refusal_of(many), "a.jpg: JPEG: too many scans");
}

TEST(Decode, DamagedBytesGiveAnImageOrAnError) {
  for (const char* name : {"420.jpg", "progressive.jpg", "palette4.png", "interlaced.png",
                           "alpha.webp", "alpha_lossless.webp"}) {
    const std::string whole = read_file(kGoldens + name);
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
      refusal_of(damaged);
    }
  }
}

TEST(Orientation, EveryTurnIsUndone) {
  Image image(3, 2);
  for (size_t i = 0; i < 6; ++i) image.pixels[3 * i] = static_cast<uint8_t>(i);
  const auto reds = [](const Image& turned) {
    std::string out;
    for (size_t i = 0; i < 6; ++i) out += static_cast<char>('0' + turned.pixels[3 * i]);
    return out;
  };
  EXPECT_EQ(reds(upright(image, 1)), "012345");
  EXPECT_EQ(reds(upright(image, 2)), "210543");
  EXPECT_EQ(reds(upright(image, 3)), "543210");
  EXPECT_EQ(reds(upright(image, 4)), "345012");
  EXPECT_EQ(reds(upright(image, 5)), "031425");
  EXPECT_EQ(reds(upright(image, 6)), "304152");
  EXPECT_EQ(reds(upright(image, 7)), "524130");
  EXPECT_EQ(reds(upright(image, 8)), "251403");
  EXPECT_EQ(upright(image, 6).width, 2);
}

TEST(Orientation, DamagedBlocksHaveNone) {
  const std::string block("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0", 22);
  EXPECT_EQ(exif_orientation(block), 6);
  for (size_t size = 0; size < 20; ++size) EXPECT_EQ(exif_orientation(block.substr(0, size)), 0);
  EXPECT_EQ(exif_orientation("II*\0\xff\xff\xff\xff"), 0);
  EXPECT_EQ(xmp_orientation("<tiff:Orientation>8</tiff:Orientation>"), 8);
  EXPECT_EQ(xmp_orientation("tiff:Orientation=\""), 0);
  EXPECT_EQ(xmp_orientation("tiff:Orientation=\"9\""), 0);
}

}  // namespace
}  // namespace hone::image
