#include "data/image_sets.h"

#include "data/image_processor.h"
#include "data/reading.h"
#include "data/tasks.h"
#include "image/png_writer.h"

namespace hone::data {
namespace {

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string idx_images(uint32_t count, uint32_t rows, uint32_t columns) {
  std::string bytes =
      big_endian(0x803) + big_endian(count) + big_endian(rows) + big_endian(columns);
  for (uint32_t i = 0; i < count * rows * columns; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string idx_labels(const std::string& labels) {
  return big_endian(0x801) + big_endian(static_cast<uint32_t>(labels.size())) + labels;
}

std::vector<Record> read_idx(std::string_view images, std::string_view labels) {
  return records_of(
      *open_idx(bytes_of_memory(images), "images", bytes_of_memory(labels), "labels"));
}

/// An image of CIFAR's binary files: its colours are 1, 2 and 3 and the first pixel's `red`.
std::string cifar_image(int label, uint8_t red) {
  std::string bytes(1, static_cast<char>(label));
  for (const char colour : {1, 2, 3}) bytes += std::string(1024, colour);
  bytes[1] = static_cast<char>(red);
  return bytes;
}

TEST(ImageSets, IdxIsReadAsGrayImages) {
  const std::string images = idx_images(2, 2, 3), labels = idx_labels("\7\2");
  const auto records = read_idx(images, labels);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].label, "7");
  EXPECT_EQ(records[1].label, "2");
  image::Image expected(3, 2);
  for (size_t i = 0; i < 18; ++i) expected.pixels[i] = static_cast<uint8_t>(6 + i / 3);
  EXPECT_EQ(records[1].text, raw_image(expected));
}

TEST(ImageSets, DamagedIdxIsRefused) {
  const std::string images = idx_images(2, 2, 3), labels = idx_labels("\7\2");
  const auto complaint = [](const std::string& a, const std::string& b) {
    return error_of([&] { read_idx(a, b); });
  };
  EXPECT_EQ(complaint("", labels), "images: truncated: no magic");
  EXPECT_EQ(complaint(labels, labels), "images: magic: expected 2051, got 2049");
  EXPECT_EQ(complaint(images.substr(0, 20), labels), "images: truncated: no image 1 of 2");
  EXPECT_EQ(complaint(images + "x", labels), "images: more bytes than its header says");
  EXPECT_EQ(complaint(images, idx_labels("\1")), "labels: 1 labels for the 2 images of images");
  EXPECT_EQ(complaint(images, idx_labels("\7\12")),
            "labels: image 2: label: expected 0 to 9, got 10");
  EXPECT_EQ(complaint(idx_images(0, 1, 1).substr(0, 8) + big_endian(0) + big_endian(9), labels),
            "images: rows: expected 1 to 1024, got 0");
  EXPECT_EQ(complaint(images.substr(0, 8) + big_endian(1) + big_endian(0x7fffffff), labels),
            "images: columns: expected 1 to 1024, got 2147483647");
}

TEST(ImageSets, CifarsBinaryFilesAreOneBehindTheOther) {
  const TemporaryFolder folder;
  for (int part = 1; part <= 5; ++part) {
    folder.write("cifar-10-batches-bin/data_batch_" + std::to_string(part) + ".bin",
                 cifar_image(part, 9) + cifar_image(0, 0));
  }
  const Task& task = task_named("cifar10");
  EXPECT_TRUE(task.images());
  EXPECT_EQ(task_files(task, folder.path(), "train").size(), 5u);
  const auto records = records_of(*open_task(task, folder.path(), "train"));
  ASSERT_EQ(records.size(), 10u);
  EXPECT_EQ(records[4].label, "3");
  image::Image expected(32, 32);
  for (size_t i = 0; i < expected.pixels.size(); ++i) {
    expected.pixels[i] = static_cast<uint8_t>(1 + i % 3);
  }
  expected.pixels[0] = 9;
  EXPECT_EQ(records[4].text, raw_image(expected));
  folder.write("cifar-10-batches-bin/test_batch.bin", cifar_image(3, 1) + "x");
  const std::string file = folder.path() + "/cifar-10-batches-bin/test_batch.bin";
  EXPECT_EQ(error_of([&] { records_of(*open_task(task, folder.path(), "validation")); }),
            file + ": image 2: truncated");
  folder.write("cifar-10-batches-bin/test_batch.bin", cifar_image(10, 1));
  EXPECT_EQ(error_of([&] { records_of(*open_task(task, folder.path(), "validation")); }),
            file + ": image 1: label: expected 0 to 9, got 10");
}

TEST(ImageSets, CifarsSheetsHaveAnImageInEachRow) {
  const TemporaryFolder folder;
  image::Image sheet(1024, 2);
  for (size_t i = 0; i < sheet.pixels.size(); ++i) sheet.pixels[i] = static_cast<uint8_t>(i % 251);
  for (const char* name : {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                           "data_batch_5", "test_batch"}) {
    folder.write(std::string(name) + ".png", image::png_of(sheet));
  }
  const std::string labels = folder.write("train_lables.json", "[0,1,2,3,4,5,6,7,8,9]");
  const Task& task = task_named("cifar10");
  EXPECT_EQ(task_files(task, folder.path(), "train").back(), labels);
  const auto records = records_of(*open_task(task, folder.path(), "train"));
  ASSERT_EQ(records.size(), 10u);
  EXPECT_EQ(records[9].label, "9");
  image::Image second(32, 32);
  std::copy_n(sheet.row(1), 3072, second.pixels.data());
  EXPECT_EQ(records[9].text, raw_image(second));
  const auto complaint = [&](const std::string& text) {
    const std::string file = folder.write("test_labels.json", text);
    const std::string said =
        error_of([&] { records_of(*open_task(task, folder.path(), "validation")); });
    EXPECT_TRUE(said.starts_with(file)) << said;
    return said.substr(file.size());
  };
  EXPECT_EQ(complaint("[1]"), ": 1 labels, fewer than the sheets have images");
  EXPECT_EQ(complaint("[1,2,3]"), ": 3 labels for 2 images");
  EXPECT_EQ(complaint("[1,10]"), ": item 1: label: expected 0 to 9, got 10");
  EXPECT_EQ(complaint("[1,\"a\"]"), ": item 1: expected a number");
  EXPECT_EQ(complaint("{}"), ": expected a list of labels");
}

TEST(ImageSets, MnistsNamesAreFoundPackedAndNot) {
  const TemporaryFolder folder;
  const std::string images = folder.write("t10k-images-idx3-ubyte", idx_images(2, 2, 3));
  const std::string labels = folder.write("t10k-labels-idx1-ubyte", idx_labels("\7\2"));
  const Task& task = task_named("fashion-MNIST");
  EXPECT_EQ(task_files(task, folder.path(), "validation"),
            (std::vector<std::string>{images, labels}));
  EXPECT_EQ(records_of(*open_task(task, folder.path(), "test")).size(), 2u);
}

}  // namespace
}  // namespace hone::data
