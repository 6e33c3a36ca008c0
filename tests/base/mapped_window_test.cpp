// Windows of a file: their bytes, and a file that shrinks below them.
#include "base/mapped_window.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/page_cache.h"

namespace hone {
namespace {

std::string write_pages(size_t pages) {
  const std::string path = testing::TempDir() + "mapped_window_test";
  OutputFile file(path);
  for (size_t i = 0; i < pages; ++i) file.write(std::string(4096, static_cast<char>('a' + i)));
  file.commit();
  return path;
}

char byte_at(const MappedWindow& window, size_t at) {
  return static_cast<const volatile char*>(window.data())[at];
}

TEST(MappedWindow, HasTheBytesOfItsPlace) {
  const InputFile file(write_pages(4));
  const MappedWindow window(file, 4096, 5000);
  EXPECT_EQ(byte_at(window, 0), 'b');
  EXPECT_EQ(byte_at(window, 4999), 'c');
  EXPECT_FALSE(window.lost());
  MappedWindow moved;
  moved = MappedWindow(file, 8192, 1);
  EXPECT_EQ(byte_at(moved, 0), 'c');
}

TEST(MappedWindow, OfAFileThatShrinksIsLostNotFatal) {
  const std::string path = write_pages(4);
  const InputFile file(path);
  const MappedWindow window(file, 0, 4 * 4096);
  const MappedWindow other(file, 0, 4096);
  EXPECT_FALSE(file.changed());
  std::filesystem::resize_file(path, 4096);
  EXPECT_EQ(byte_at(window, 0), 'a');
  EXPECT_FALSE(window.lost());
  EXPECT_EQ(byte_at(window, 3 * 4096), 0);
  EXPECT_TRUE(window.lost());
  EXPECT_FALSE(other.lost());
  EXPECT_TRUE(file.changed());
}

TEST(MappedWindow, OneOnHugePagesHasTheSameBytes) {
  const InputFile file(write_pages(1500));
  EXPECT_EQ(MappedWindow::huge_page_bytes(0, 1), 2u << 20);
  EXPECT_EQ(MappedWindow::huge_page_bytes(0, 2 << 20), 2u << 20);
  EXPECT_EQ(MappedWindow::huge_page_bytes((2 << 20) - 4096, 4097), 4u << 20);
  for (const size_t first : {0, 511, 512, 700, 1400}) {
    const MappedWindow window(file, first * 4096, 100 * 4096, true);
    const auto at = reinterpret_cast<uintptr_t>(window.data());
    EXPECT_EQ(at % (2 << 20), first * 4096 % (2 << 20)) << "on a huge page";
    for (const size_t page : {0, 1, 99}) {
      EXPECT_EQ(byte_at(window, page * 4096 + 5), static_cast<char>('a' + first + page)) << first;
    }
    EXPECT_FALSE(window.lost());
  }
}

TEST(MappedWindow, OneOnHugePagesBehindTheEndIsLost) {
  const std::string path = write_pages(600);
  const InputFile file(path);
  const MappedWindow window(file, 512 * 4096, 80 * 4096, true);
  std::filesystem::resize_file(path, 520 * 4096);
  EXPECT_EQ(byte_at(window, 7 * 4096), static_cast<char>('a' + 519));
  EXPECT_FALSE(window.lost());
  EXPECT_EQ(byte_at(window, 8 * 4096), 0);
  EXPECT_TRUE(window.lost());
}

/// The file is aligned to less than a page, as ours are where pages have 64 KiB.
TEST(MappedWindow, OneOnLargerPagesBeginsInsideOne) {
  const ScopedPageBytes larger(64 << 10);
  const std::string path = write_pages(40);
  const InputFile file(path);
  const MappedWindow window(file, 17 * 4096, 3 * 4096);
  const MappedWindow end(file, 33 * 4096, 7 * 4096);
  EXPECT_EQ(byte_at(window, 0), static_cast<char>('a' + 17));
  EXPECT_EQ(byte_at(window, 3 * 4096 - 1), static_cast<char>('a' + 19));
  EXPECT_FALSE(window.lost());
  std::filesystem::resize_file(path, 34 * 4096);
  EXPECT_EQ(byte_at(end, 6 * 4096), 0);
  EXPECT_TRUE(end.lost());
  EXPECT_FALSE(window.lost());
}

TEST(MappedWindow, ManyComeAndGo) {
  const InputFile file(write_pages(1));
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(byte_at(MappedWindow(file, 0, 4096), 7), 'a');
}

}  // namespace
}  // namespace hone
