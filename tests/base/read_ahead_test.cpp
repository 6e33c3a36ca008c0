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

TEST(ReadAhead, BringsWhatIsWantedIntoTheCache) {
  const InputFile file(write_pages());
  fsync(file.descriptor());
  posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  if (cached(file, 0, kPages) > 0) GTEST_SKIP() << "this file system keeps all pages";
  ReadAhead ahead(file);
  const uint64_t first = ahead.want(512 * kPage, 300 * kPage);
  const uint64_t second = ahead.want(1024 * kPage, 1);
  EXPECT_LT(first, second);
  ahead.wait(second);
  EXPECT_EQ(cached(file, 512, 300), 300u);
  EXPECT_EQ(cached(file, 1024, 1), 1u);
}

TEST(ReadAhead, EndsWhereTheFileDoes) {
  const InputFile file(write_pages());
  ReadAhead ahead(file);
  ahead.wait(ahead.want((kPages - 1) * kPage, 100 * kPage));
  ahead.wait(ahead.want(2 * kPages * kPage, kPage));
}

TEST(ReadAhead, GivesUpWhatIsLeft) {
  const InputFile file(write_pages());
  ReadAhead ahead(file);
  for (int i = 0; i < 100; ++i) ahead.want(0, kPages * kPage);
}

}  // namespace
}  // namespace hone
