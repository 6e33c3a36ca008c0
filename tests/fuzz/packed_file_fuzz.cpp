// layers: models
#include <cstring>

#include "device/cpu_info.h"
#include "fuzz/memory_file.h"
#include "fuzz/refusal.h"
#include "fuzz/scratch_folder.h"
#include "models/convert.h"
#include "models/folder.h"
#include "models/packed_file.h"
#include "models/packed_layout.h"

namespace {

using namespace hone::models;

/// A model and its packed file. The layout is AVX2's on every machine, so that seeds fit.
struct Sample {
  Sample() {
    const std::string model = HONE_TESTS "/models/goldens/bert-sharded";
    convert_folder(model, scratch.path() + "/packed", {.stream = true});
    bytes = hone::read_file(scratch.path() + "/packed/" + kPackedName);
    PackedTrailer trailer;
    std::memcpy(&trailer, bytes.data() + bytes.size() - sizeof trailer, sizeof trailer);
    weights = bytes.substr(0, trailer.index_offset);
    config = open_model_folder(model).config;
  }
  hone::ScopedIsa isa{hone::Isa::avx2};
  hone::ScratchFolder scratch;
  std::string bytes;
  std::string weights;  ///< the part before the index
  std::shared_ptr<ModelConfig> config;
};

/// Puts the trailer behind an index that it fits.
std::string with_trailer(std::string bytes, const std::string& index) {
  PackedTrailer trailer{{}, bytes.size(), index.size(), checksum_of(index)};
  std::memcpy(trailer.magic, kPackedMagic, sizeof trailer.magic);
  bytes += index;
  return bytes.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
}

}  // namespace

/// An odd first byte is followed by the index of the sample's weights, an even one by a whole file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Sample sample;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) bytes = with_trailer(sample.weights, bytes);
  const hone::MemoryFile memory(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  hone::accepts(memory.path() + ": ", [&] {
    PackedFile file(memory.path());
    const MakeOptions options{file.dtype(), hone::Isa::avx2, file.has_head()};
    const auto model = family_of(*sample.config).make(*sample.config, options);
    file.check(*model);
    hone::ThreadPool pool(1);
    load_packed(*model, file, pool);
    for (const hone::nn::Parameter& parameter : model->parameters().list()) {
      if (parameter.kind == hone::nn::ParameterKind::matrix) file.map(parameter, true, pool);
    }
    file.finish();
  });
  return 0;
}
