#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/records.h"

namespace hone::data {

/// Images that lie many to a file, as records: each text is a raw_image(), each label a number.
/// Whatever a file holds is checked before memory is taken for it.

/// Opens MNIST's format: a file of gray images ([images, rows, columns] of bytes) and one of their
/// labels.
std::unique_ptr<RecordStream> open_idx(std::unique_ptr<ByteSource> images, const std::string& name,
                                       std::unique_ptr<ByteSource> labels,
                                       const std::string& labels_name);

/// Opens CIFAR-10's binary files, one behind the other: a label and 32 x 32 pixels, colour by
/// colour.
std::unique_ptr<RecordStream> open_cifar(const std::vector<std::string>& files);
/// Opens one such file's bytes.
std::unique_ptr<RecordStream> open_cifar(std::unique_ptr<ByteSource> source,
                                         const std::string& name);

/// Opens CIFAR-10 as PNG sheets: a row of a sheet is an image of 32 x 32 pixels. The labels of all
/// sheets are one JSON list.
std::unique_ptr<RecordStream> open_sheets(const std::vector<std::string>& sheets,
                                          const std::string& labels);

/// Reads such a list; `name` names it in errors.
std::vector<uint8_t> parse_sheet_labels(std::string_view text, const std::string& name);

}  // namespace hone::data
