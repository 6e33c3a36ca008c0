#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace hone::python {

/// Runs `hone train` with these words, as the program reads them. `listener` is a hone._train
/// listener, which hears of the run. Gives an object as JSON: the summaries of the runs, one a
/// seed, and what several seeds gave together. An exception that a callback raises ends the run at
/// once; Ctrl-C ends it behind a checkpoint, and is thrown then.
std::string train(const std::vector<std::string>& words, const nanobind::object& listener);

}  // namespace hone::python
