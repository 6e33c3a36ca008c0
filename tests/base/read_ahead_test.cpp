// Parts of a file that come into the page cache before they are read.
#include "base/read_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hone {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPages = 2048;

std::string write_pages() {
  const std::string path = testing::TempDir() + "read_ahead_test";
  OutputFile file(path);
  for (size_t i = 0; i < kPages; ++i) file.write(std::string(kPage, 'x'));
  file.commit();
  return path;
}

/// How many of the pages [first, first + count) are in the page cache.
size_t cached(const InputFile& file, size_t first, size_t count) {
  void* data = mmap(nullptr, count * kPage, PROT_READ, MAP_SHARED, file.descriptor(),
                    static_cast<off_t>(first * kPage));
  std::vector<unsigned char> pages(count);
  EXPECT_EQ(mincore(data, count * kPage, pages.data()), 0);
  munmap(data, count * kPage);
  return static_cast<size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
}

/// Waits for pages that may still be on their way, and then gives cached().
size_t cached_soon(const InputFile& file, size_t first, size_t count) {
  for (int i = 0; i < 1000 && cached(file, first, count) < count; ++i) usleep(10'000);
  return cached(file, first, count);
}

void forget_pages(const InputFile& file) {
  fsync(file.descriptor());
  posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

/// Whether the system takes advice and does nothing, as qemu does: nothing can be brought to where
/// nothing is mapped.
bool only_says_so() {
  constexpr int kPopulateRead = 22;
  return madvise(reinterpret_cast<void*>(kPage), kPage, kPopulateRead) == 0;
}

TEST(ReadAhead, BringsWhatIsWantedIntoTheCache) {
  if (only_says_so()) GTEST_SKIP() << "this system does not take advice";
  const InputFile file(write_pages());
  forget_pages(file);
  if (cached(file, 0, kPages) > 0) GTEST_SKIP() << "this file system keeps all pages";
  ReadAhead ahead(file);
  const uint64_t first = ahead.want(512 * kPage, 300 * kPage);
  const uint64_t second = ahead.want(1024 * kPage, 1);
  EXPECT_LT(first, second);
  EXPECT_TRUE(ahead.wait(second));
  EXPECT_EQ(cached_soon(file, 512, 300), 300u);
  EXPECT_EQ(cached_soon(file, 1024, 1), 1u);
  EXPECT_TRUE(ahead.wait(first));
  const uint64_t third = ahead.want(1024 * kPage, 1);
  EXPECT_TRUE(ahead.wait(third));
  forget_pages(file);
  EXPECT_TRUE(ahead.wait(ahead.want(1024 * kPage, 1)));
  EXPECT_EQ(cached_soon(file, 1024, 1), 1u);
}

TEST(ReadAhead, BringsTheRestWhereAFirstPageIsThere) {
  if (only_says_so()) GTEST_SKIP() << "this system does not take advice";
  const InputFile file(write_pages());
  forget_pages(file);
  if (cached(file, 0, kPages) > 0) GTEST_SKIP() << "this file system keeps all pages";
  posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM);
  char byte = 0;
  file.read(512 * kPage, &byte, 1);
  ASSERT_LT(cached(file, 512, 512), 512u);
  ReadAhead ahead(file);
  EXPECT_TRUE(ahead.wait(ahead.want(512 * kPage, 512 * kPage)));
  EXPECT_EQ(cached_soon(file, 512, 512), 512u);
}

TEST(ReadAhead, SaysWhatDidNotComeWhole) {
  const InputFile file(write_pages());
  ReadAhead ahead(file);
  EXPECT_FALSE(ahead.wait(ahead.want((kPages - 1) * kPage, 100 * kPage)));
  EXPECT_FALSE(ahead.wait(ahead.want(2 * kPages * kPage, kPage)));
  EXPECT_FALSE(ahead.wait(ahead.want(0, kPages * kPage + 1)));
  EXPECT_TRUE(ahead.wait(ahead.want((kPages - 1) * kPage, kPage)));
}

}  // namespace
}  // namespace hone
