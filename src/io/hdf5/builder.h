#pragma once

#include <string>
#include <vector>

#include "io/hdf5.h"

namespace hone::io {

TableBuilder* new_builder(const std::vector<Column>& columns, int64_t rows);
std::string index_bytes(const std::vector<Column>& columns, std::span<const TablePart> parts);
TableReader* new_reader(const std::string& path, const std::vector<std::string>& columns);

}  // namespace hone::io
