#pragma once

#include <vector>

#include "io/safetensors_writer.h"
#include "models/convert.h"
#include "models/stacked_rows.h"

/// These functions say what a converted folder's tensors are made of. convert.cpp alone uses them.
namespace hone::models {

struct WrittenTensor {
  enum class Content {
    as_stored,
    numbers,  ///< converted
    bytes,    ///< quantised, row by row
    scales,   ///< scales of the rows' bytes
  };
  io::TensorSpec spec;
  Content content;
  TensorSource source;
};

int64_t elements_of(const io::TensorSpec& spec);

/// Lists every tensor that `options` asks for, under today's names.
std::vector<WrittenTensor> written_tensors(const ModelConfig& config, const io::Weights& weights,
                                           const ConvertOptions& options);

/// Streams one tensor through a small buffer; it is the writer's next.
void write_tensor(const io::Weights& weights, const WrittenTensor& tensor,
                  io::WeightsWriter& writer);

}  // namespace hone::models
