#include "train/checkpoint_copy.h"

#include <algorithm>
#include <cstring>

namespace hone::train {
namespace {

/// A piece is small enough that threads end together, and large enough that a task costs nothing.
constexpr size_t kPiece = size_t{1} << 20;

struct Piece {
  const std::byte* from;
  std::byte* to;
  size_t bytes;
};

void append_pieces(const void* from, const void* to, size_t bytes, std::vector<Piece>& pieces) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(const_cast<void*>(to));
  for (size_t at = 0; at < bytes; at += kPiece) {
    pieces.push_back({source + at, target + at, std::min(kPiece, bytes - at)});
  }
}

}  // namespace

uint64_t CheckpointCopy::bytes_for(const CheckpointFiles& files, const nn::Parameters& parameters) {
  uint64_t bytes = 0;
  for (size_t file = 0; file < files.arrays.size(); ++file) {
    for (const nn::Parameter* parameter : files.arrays[file].parameters) {
      bytes += aligned(files.bytes_of(file, parameters, *parameter));
    }
  }
  return bytes;
}

CheckpointCopy::CheckpointCopy(const CheckpointFiles& files, const nn::Parameters& parameters,
                               ThreadPool& pool)
    : files_(files), parameters_(parameters), pool_(pool) {
  const uint64_t bytes = bytes_for(files, parameters);
  if (parameters.on_gpu()) {
    pinned_ = PinnedBuffer(bytes);
  } else {
    plain_ = Buffer(bytes);
    pool.run(static_cast<int64_t>((bytes + kPiece - 1) / kPiece), [&](int64_t task, int) {
      const size_t at = static_cast<size_t>(task) * kPiece;
      std::memset(memory() + at, 0, std::min(kPiece, bytes - at));
    });
  }
  std::byte* at = memory();
  for (size_t file = 0; file < files.arrays.size(); ++file) {
    places_.emplace_back(parameters.list().size());
    for (const nn::Parameter* parameter : files.arrays[file].parameters) {
      places_.back()[static_cast<size_t>(parameter->weight.slot)] = at;
      at += aligned(files.bytes_of(file, parameters, *parameter));
    }
  }
}

void CheckpointCopy::take(const ArrayPlaces& newest) {
  std::vector<Piece> pieces;
  for (size_t file = 0; file < places_.size(); ++file) {
    for (const nn::Parameter* parameter : files_.arrays[file].parameters) {
      const auto slot = static_cast<size_t>(parameter->weight.slot);
      append_pieces(newest[file][slot], places_[file][slot],
                    files_.bytes_of(file, parameters_, *parameter), pieces);
    }
  }
  if (parameters_.on_gpu()) {
    for (const Piece& piece : pieces) cuda_stream().copy(piece.to, piece.from, piece.bytes);
    return cuda_stream().synchronize();
  }
  pool_.run(std::ssize(pieces), [&](int64_t task, int) {
    const Piece& piece = pieces[static_cast<size_t>(task)];
    std::memcpy(piece.to, piece.from, piece.bytes);
  });
}

}  // namespace hone::train
