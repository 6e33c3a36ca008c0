#include "device/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace hone {
namespace {

TEST(Buffer, IsAlignedAndWritable) {
  for (size_t bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{4097}, (size_t{2} << 20) - 1,
                       size_t{2} << 20, (size_t{2} << 20) + 1, size_t{5} << 20}) {
    Buffer buffer(bytes);
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kAlignment, 0u);
    std::memset(buffer.data(), 7, bytes);
    EXPECT_EQ(buffer.as<uint8_t>()[bytes - 1], 7);
  }
}

TEST(Buffer, EmptyHasNoMemory) {
  EXPECT_EQ(Buffer().data(), nullptr);
  EXPECT_EQ(Buffer(0).data(), nullptr);
}

TEST(Buffer, Moves) {
  Buffer first(100);
  void* data = first.data();
  Buffer second(std::move(first));
  EXPECT_EQ(second.data(), data);
  Buffer third(200);
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 100u);
}

TEST(Buffer, TooMuchSaysHowMuch) {
  for (size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 60}) {
    try {
      Buffer buffer(bytes);
      FAIL() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::memory);
      EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace hone
