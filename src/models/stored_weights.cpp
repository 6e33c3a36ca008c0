#include "models/stored_weights.h"

#include "base/error.h"
#include "base/file.h"

namespace hone::models {

bool StoredWeights::has_head(const Family& family) const {
  return packed ? packed->has_head() : has_head_weights(family, *checkpoint, adapter.get());
}

DType StoredWeights::dtype(const ModelConfig& config, std::optional<DType> wanted) const {
  if (!packed) return wanted.value_or(config.quantization.stored ? DType::i8 : DType::f32);
  if (wanted && *wanted != packed->dtype()) {
    fail(ErrorKind::usage, "{}: holds {}; `dtype` asks for {}", packed->path(),
         dtype_name(packed->dtype()), dtype_name(*wanted));
  }
  return packed->dtype();
}

StoredWeights open_stored(const ModelFolder& folder) {
  StoredWeights stored;
  const std::string packed = folder.path + "/" + kPackedName;
  if (file_exists(packed)) {
    if (!folder.adapter.empty()) {
      fail(ErrorKind::unsupported, "{}: its base has {}, to which no adapter can be added",
           folder.adapter, packed);
    }
    stored.packed = std::make_unique<PackedFile>(packed);
  } else {
    stored.checkpoint = io::Weights::open(folder.path);
    stored.adapter = open_adapter(folder);
  }
  return stored;
}

std::unique_ptr<io::Weights> open_checkpoint(const std::string& folder) {
  if (!io::has_weights(folder) && file_exists(folder + "/" + kPackedName)) {
    fail(ErrorKind::usage,
         "{}: holds {} alone, which is packed for answering on this machine; take the folder that "
         "it was converted from",
         folder, kPackedName);
  }
  return io::Weights::open(folder);
}

}  // namespace hone::models
