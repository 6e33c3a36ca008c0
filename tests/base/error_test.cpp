#include "base/error.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Error, CarriesKindAndMessage) {
  try {
    fail(ErrorKind::bad_file, "{}: {}", "config.json", 7);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::bad_file);
    EXPECT_STREQ(e.what(), "config.json: 7");
  }
}

TEST(Quote, KeepsAMessageOneReadableLine) {
  EXPECT_EQ(quote("plain ü"), "'plain ü'");
  EXPECT_EQ(quote("a\nb\x01"), "'a\\x0ab\\x01'");
  EXPECT_EQ(quote("\xff"), "'\\xff'");
  EXPECT_EQ(quote(std::string(200, 'x')), "'" + std::string(80, 'x') + "…'");
}

}  // namespace
}  // namespace hone
