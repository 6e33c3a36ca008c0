// Tuning files from elsewhere. No test here needs a GPU.
#include "kernels/cuda/tuning.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace hone::kernels::cuda {
namespace {

class TuningFile : public testing::Test {
 protected:
  ~TuningFile() override { std::filesystem::remove(path_); }

  static Json product() {
    return {{"kind", "forward"},
            {"dtype", "bf16"},
            {"out", "fp32"},
            {"add", false},
            {"bias", true},
            {"tf32", false},
            {"m", 128},
            {"n", 768},
            {"k", 768},
            {"lda", 768},
            {"ldb", 768},
            {"ldc", 768},
            {"algorithm", {"1", "2", "3", "4", "5", "6", "7", "ffffffffffffffff"}},
            {"workspace_bytes", 0},
            {"microseconds", 3.5}};
  }
  std::string load(const Json& product) {
    write_json(path_, {{"device", "none that exists"}, {"cublaslt", 1}, {"products", {product}}});
    return load_tuning(path_);
  }
  std::string error_of(const Json& product) {
    try {
      load(product);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      return error.what();
    }
    return "none";
  }

  std::string path_ = testing::TempDir() + "tuning_" + std::to_string(::getpid()) + ".json";
};

TEST_F(TuningFile, OfAnotherDeviceIsOfNoUseHere) { EXPECT_NE(load(product()), ""); }

TEST_F(TuningFile, BadFieldsAreNamed) {
  const std::vector<std::pair<const char*, Json>> cases = {
      {"kind", "sideways"},    {"dtype", "fp64"},         {"m", 0},
      {"k", int64_t{1} << 41}, {"algorithm", {"1", "2"}}, {"microseconds", "soon"}};
  for (const auto& [field, value] : cases) {
    Json changed = product();
    changed[field] = value;
    EXPECT_TRUE(error_of(changed).starts_with(path_ + ": " + field)) << error_of(changed);
  }
  Json changed = product();
  changed["algorithm"][3] = "xyz";
  EXPECT_NE(error_of(changed).find("hexadecimal"), std::string::npos) << error_of(changed);
}

}  // namespace
}  // namespace hone::kernels::cuda
