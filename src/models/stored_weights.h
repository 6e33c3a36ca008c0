#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/weights.h"
#include "models/adapter.h"
#include "models/folder.h"
#include "models/packed_file.h"

namespace hone::models {

/// The weights of a folder: a checkpoint, or the file that `hone convert --stream` made of one and
/// that is taken where it is there.
struct StoredWeights {
  std::unique_ptr<PackedFile> packed;  ///< set where the file is there; otherwise `checkpoint` is
  std::unique_ptr<io::Weights> checkpoint;  ///< set where there is no packed file
  std::unique_ptr<Adapter> adapter;

  const std::string& path() const { return packed ? packed->path() : checkpoint->path(); }
  bool has_head(const Family& family) const;
  /// Gives the dtype of the products: as asked for, else int8 where the folder is stored so, else
  /// fp32. A packed file has its own; to ask for another is a usage error.
  DType dtype(const ModelConfig& config, std::optional<DType> wanted) const;
};

StoredWeights open_stored(const ModelFolder& folder);

/// Opens the checkpoint of a folder; a folder that has a packed file alone is an error that says
/// so.
std::unique_ptr<io::Weights> open_checkpoint(const std::string& folder);

}  // namespace hone::models
