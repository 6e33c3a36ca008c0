#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/json.h"
#include "io/convert.h"
#include "io/safetensors_writer.h"
#include "io/weights.h"
#include "scratch.h"

namespace hone::io {
namespace {

/// Element `i` of any tensor that is written here; tests/parity/io_written.py knows it too.
float value(int64_t i) { return static_cast<float>(i - 7) * 0.37f; }

std::vector<float> values(int64_t count) {
  std::vector<float> out(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) out[static_cast<size_t>(i)] = value(i);
  return out;
}

int64_t count(const TensorSpec& tensor) {
  int64_t elements = 1;
  for (const int64_t size : tensor.shape) elements *= size;
  return elements;
}

const std::vector<TensorSpec> kTensors = {{"bf16 \"quoted\" \u00e9", DType::bf16, {3, 11}},
                                          {"z.fp16", DType::f16, {5}},
                                          {"fp32", DType::f32, {40, 1000}},
                                          {"fp64", DType::f64, {3}},
                                          {"scalar", DType::f32, {}},
                                          {"a.empty", DType::f16, {0, 4}},
                                          {"int64", DType::i64, {4}},
                                          {"last.empty", DType::u8, {0}}};

/// Where the files go: a folder that the caller names stays for io_written.py.
std::string folder_for(const Scratch& scratch, const std::string& name) {
  const char* kept = std::getenv("HONE_IO_WRITTEN");
  const std::string folder = kept ? std::string(kept) + "/" + name : scratch / name;
  std::filesystem::create_directories(folder);
  return folder;
}

void write_all(WeightsWriter& writer) {
  const std::vector<int64_t> integers = {0, 1, -5, int64_t{1} << 60};
  for (const TensorSpec& tensor : writer.tensors()) {
    if (tensor.dtype == DType::i64) {
      writer.write_raw(integers.data(), 4);
      continue;
    }
    const std::vector<float> all = values(count(tensor));
    const int64_t half = std::ssize(all) / 2;
    writer.write(all.data(), half);
    writer.write(all.data() + half, std::ssize(all) - half);
  }
}

void expect_written(const Weights& weights) {
  ASSERT_EQ(weights.tensors().size(), kTensors.size());
  for (const TensorSpec& wanted : kTensors) {
    const TensorInfo* tensor = weights.find(wanted.name);
    ASSERT_NE(tensor, nullptr) << wanted.name;
    EXPECT_EQ(tensor->dtype, wanted.dtype);
    EXPECT_EQ(tensor->shape, wanted.shape);
    std::vector<float> got(static_cast<size_t>(tensor->elements));
    weights.read(*tensor, 0, tensor->elements, got.data());
    if (wanted.dtype == DType::i64) {
      EXPECT_EQ(got, (std::vector<float>{0, 1, -5, 0x1p60f}));
      continue;
    }
    if (tensor->elements == 0) continue;
    std::vector<float> in = values(tensor->elements);
    std::vector<double> stored(in.size());
    from_fp32(in.data(), std::ssize(in), wanted.dtype, stored.data());
    to_fp32(wanted.dtype, stored.data(), std::ssize(in), in.data());
    EXPECT_EQ(got, in) << wanted.name;
  }
}

TEST(WeightsWriter, OneFile) {
  const Scratch scratch;
  const std::string folder = folder_for(scratch, "one");
  WeightsWriter writer(folder, kTensors);
  write_all(writer);
  EXPECT_FALSE(std::filesystem::exists(folder + "/model.safetensors"));
  writer.commit();
  const auto weights = Weights::open(folder);
  EXPECT_EQ(weights->path(), folder + "/model.safetensors");
  EXPECT_EQ(weights->metadata().at("format"), "pt");
  expect_written(*weights);
  uint64_t length = 0;
  InputFile(weights->path()).read(0, &length, sizeof length);
  EXPECT_EQ(length % 8, 0u);
  for (const TensorInfo& tensor : weights->tensors()) {
    EXPECT_EQ(tensor.place.offset % dtype_size(tensor.dtype), 0u) << tensor.name;
  }
}

TEST(WeightsWriter, Shards) {
  const Scratch scratch;
  const std::string folder = folder_for(scratch, "shards");
  WeightsWriter writer(folder, kTensors, 64);
  write_all(writer);
  writer.commit();
  EXPECT_TRUE(std::filesystem::exists(folder + "/model-00001-of-00005.safetensors"));
  const auto weights = Weights::open(folder);
  EXPECT_EQ(weights->path(), folder + "/model.safetensors.index.json");
  expect_written(*weights);
  const Json index = parse_json(bytes_of(weights->path()), "index");
  EXPECT_EQ(index.at("metadata").at("total_size"), 160000 + 24 + 32 + 4 + 66 + 10);
}

TEST(WeightsWriter, NothingWithoutACommit) {
  const Scratch scratch;
  {
    WeightsWriter writer(scratch.path(), {{"a", DType::f32, {2}}, {"b", DType::f32, {2}}}, 4);
    const float pair[2] = {1, 2};
    writer.write(pair, 2);
    EXPECT_THROW(writer.commit(), Error);  // b has no data
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(SafetensorsWriter, CountsElements) {
  const Scratch scratch;
  SafetensorsWriter writer(scratch / "x.safetensors", {{"a", DType::f32, {2}}});
  const float three[3] = {1, 2, 3};
  EXPECT_THROW(writer.write(three, 3), Error);
  EXPECT_THROW(writer.commit(), Error);
  writer.write(three, 2);
  EXPECT_THROW(writer.write(three, 1), Error);
  writer.commit();
  EXPECT_EQ(Weights::open(scratch / "x.safetensors")->find("a")->elements, 2);
}

TEST(SafetensorsWriter, RefusesBadDeclarations) {
  const Scratch scratch;
  const std::string path = scratch / "x.safetensors";
  EXPECT_THROW(SafetensorsWriter(path, {{"a", DType::f32, {1}}, {"a", DType::f32, {1}}}), Error);
  EXPECT_THROW(SafetensorsWriter(path, {{"a", DType::f32, {-1}}}), Error);
  EXPECT_THROW(SafetensorsWriter(path, {{"", DType::f32, {1}}}), Error);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(SafetensorsWriter, FullDisk) {
  const Scratch scratch;
  // A limit on the size of files fails as a full disk does.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {64 * 1024, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::vector<float> data = values(1 << 20);
  ErrorKind kind = ErrorKind::internal;
  std::string message;
  try {
    SafetensorsWriter writer(scratch / "x.safetensors", {{"a", DType::f32, {1 << 20}}});
    writer.write(data.data(), std::ssize(data));
    writer.commit();
  } catch (const Error& error) {
    kind = error.kind();
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(kind, ErrorKind::io);
  EXPECT_NE(message.find(scratch / "x.safetensors"), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

}  // namespace
}  // namespace hone::io
