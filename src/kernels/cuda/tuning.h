#pragma once

#include <string>

namespace hone::kernels::cuda {

/// Writes the algorithms of all products that were prepared or tuned in this process: a tuning
/// file, JSON, for this device and this version of cuBLASLt.
void save_tuning(const std::string& path);

/// Gives a tuning file's algorithms to the products to come. Returns why it is of no use here
/// (another device, another library), in words; empty: they were taken. A file that is no tuning
/// file is an error of kind bad_file.
std::string load_tuning(const std::string& path);

}  // namespace hone::kernels::cuda
