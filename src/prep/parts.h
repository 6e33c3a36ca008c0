#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/records.h"
#include "prep/review_reader.h"

namespace hone::prep {

/// A file that is read, as it was when the work was planned.
struct Input {
  std::string path;
  data::Format format = data::Format::jsonl;
  uint64_t bytes = 0;
  int64_t changed = 0;  ///< nanoseconds of its last change
};

/// The lines of an input that begin at bytes [begin, end).
struct Part {
  size_t input = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Describes a file; `format` is told by its extension where it is absent.
Input describe_input(const std::string& path, const std::optional<data::Format>& format);

/// Cuts inputs into parts of `part_bytes`. A file that is packed, or CSV, in which a line may end
/// within quotes, is one part. Parts depend on the inputs alone.
std::vector<Part> cut_parts(const std::vector<Input>& inputs, uint64_t part_bytes);

/// Gives about how many bytes the inputs have when they are unpacked.
uint64_t unpacked_bytes(const std::vector<Input>& inputs);

/// Opens a part's reviews. An error of a part that is not a file's first has line numbers from the
/// part's begin, unless `count_lines`, which reads all that lies before.
std::unique_ptr<ReviewStream> open_part(const Input& input, const Part& part, const Fields& fields,
                                        bool count_lines = false);

}  // namespace hone::prep
