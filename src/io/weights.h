#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "tensor/dtype.h"

namespace hone::io {

/// One stored tensor: what it is, and where its elements lie.
struct TensorInfo {
  /// A Place is for Weights' own use.
  struct Place {
    size_t file = 0;               ///< index of the file among those of the Weights
    uint64_t offset = 0;           ///< byte of element 0
    std::vector<int64_t> strides;  ///< in elements; empty where the tensor is contiguous
  };

  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  Place place;
};

using Metadata = std::map<std::string, std::string>;

/// Says whether there is a file that Weights::open() takes.
bool has_weights(const std::string& folder);

/// A model's weights in whatever container they come: one safetensors file, shards with an index,
/// pytorch_model.bin, legacy .pth and .th files. Only names, shapes and places are held in memory.
/// All const members may be called from several threads at once.
class Weights {
 public:
  /// Opens a file, told by its contents, or a folder, where the first found of model.safetensors,
  /// model.safetensors.index.json, pytorch_model.bin and pytorch_model.bin.index.json is taken.
  static std::unique_ptr<Weights> open(const std::string& folder_or_file);

  /// The tensors are sorted by name, and no two are alike.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// Gives the tensor of a name; null where there is none.
  const TensorInfo* find(std::string_view name) const;

  /// Reads elements [first, first + count) in row-major order, converted to fp32. Holds at most a
  /// small buffer beside `out`; pages of the file are never mapped.
  void read(const TensorInfo& tensor, int64_t first, int64_t count, float* out) const;
  /// Reads elements [first, first + count) in the stored dtype; `out` has room for count *
  /// dtype_size(tensor.dtype) bytes.
  void read_raw(const TensorInfo& tensor, int64_t first, int64_t count, void* out) const;

  /// Gives the path of the file that holds the tensor, for messages.
  const std::string& file_of(const TensorInfo& tensor) const;
  /// Gives the path of a file that has been written to since it was opened, empty where none has.
  std::string changed() const;
  /// Gives what was opened: the file, or the index of the shards.
  const std::string& path() const { return path_; }
  /// Gives safetensors' `__metadata__` (the first shard's); empty for other containers.
  const Metadata& metadata() const { return metadata_; }

 private:
  explicit Weights(std::string path) : path_(std::move(path)) {}
  void add_file(const std::string& path);
  void add_shards(const std::string& index);
  void sort();

  std::string path_;
  std::vector<InputFile> files_;
  std::vector<TensorInfo> tensors_;
  Metadata metadata_;
};

}  // namespace hone::io
