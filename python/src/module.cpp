// The extension module hone._native. What users see is made of it in python/hone.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "base/version.h"
#include "cli/byte_size.h"
#include "model.h"
#include "train.h"

namespace {

namespace nb = nanobind;
using namespace nb::literals;
using hone::python::Model;
using hone::python::Texts;

const char* name_of(hone::ErrorKind kind) {
  switch (kind) {
    case hone::ErrorKind::usage:
      return "usage";
    case hone::ErrorKind::bad_file:
      return "bad_file";
    case hone::ErrorKind::unsupported:
      return "unsupported";
    case hone::ErrorKind::io:
      return "io";
    case hone::ErrorKind::memory:
      return "memory";
    case hone::ErrorKind::failed:
      return "failed";
    default:
      return "internal";
  }
}

/// Raises the class of hone.Error that hone._errors has for the kind.
void raise(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const hone::Error& error) {
    const nb::object made =
        nb::module_::import_("hone._errors").attr("made")(name_of(error.kind()), error.what());
    PyErr_SetObject(made.type().ptr(), made.ptr());
  }
}

template <typename Value>
Value named(const char* field, const std::string& name,
            std::initializer_list<std::pair<const char*, Value>> known) {
  std::string names;
  for (const auto& [spelling, value] : known) {
    if (name == spelling) return value;
    names += (names.empty() ? "" : ", ") + std::string(spelling);
  }
  hone::fail(hone::ErrorKind::usage, "{}: expected one of {}, got {}", field, names,
             hone::quote(name));
}

void open_model(Model* place, const std::string& folder, const std::string& use,
                const std::string& device, const std::string& dtype, int threads,
                int64_t max_length, uint64_t memory_budget, const std::string& tuning,
                const std::string& pooling, std::optional<bool> normalize, bool exits,
                std::optional<int64_t> patience, std::optional<double> entropy, double deadline) {
  using hone::Pooling;
  using hone::Use;
  hone::ModelOptions options;
  options.use = named<Use>(
      "use", use, {{"auto", Use::automatic}, {"predict", Use::predict}, {"embed", Use::embed}});
  options.device = device;
  options.dtype = dtype;
  options.threads = threads;
  options.max_length = max_length;
  options.memory_budget = memory_budget;
  options.tuning = tuning;
  options.pooling = named<Pooling>("pooling", pooling,
                                   {{"auto", Pooling::automatic},
                                    {"mean", Pooling::mean},
                                    {"cls", Pooling::cls},
                                    {"max", Pooling::max}});
  options.normalize = normalize;
  options.exits = exits;
  options.patience = patience;
  options.entropy = entropy;
  options.deadline = deadline;
  new (place) Model(folder, options);
}

}  // namespace

NB_MODULE(_native, module) {
  nb::set_leak_warnings(false);  // a model may live at the end of the process: a thread has it
  nb::register_exception_translator(raise, nullptr);
  module.attr("version") = hone::kVersion;
  nb::class_<Model>(module, "Model")
      .def("__init__", open_model, "folder"_a, nb::kw_only(), "use"_a, "device"_a, "dtype"_a,
           "threads"_a, "max_length"_a, "memory_budget"_a, "tuning"_a, "pooling"_a,
           "normalize"_a.none(), "exits"_a, "patience"_a.none(), "entropy"_a.none(), "deadline"_a)
      .def(
          "predict",
          [](const Model& model, std::vector<std::string> texts,
             std::vector<std::optional<std::string>> pairs, bool truncate) {
            return model.predict({std::move(texts), std::move(pairs)}, truncate);
          },
          "texts"_a, "pairs"_a, "truncate"_a)
      .def(
          "embed",
          [](const Model& model, std::vector<std::string> texts,
             std::vector<std::optional<std::string>> pairs, bool truncate) {
            return model.embed({std::move(texts), std::move(pairs)}, truncate);
          },
          "texts"_a, "pairs"_a, "truncate"_a)
      .def(
          "embed_tokens",
          [](const Model& model, std::vector<std::string> texts,
             std::vector<std::optional<std::string>> pairs, bool truncate) {
            return model.embed_tokens({std::move(texts), std::move(pairs)}, truncate);
          },
          "texts"_a, "pairs"_a, "truncate"_a)
      .def("tokenize", &Model::tokenize, "text"_a, "pair"_a.none())
      .def("close", &Model::close)
      .def_prop_ro("labels", &Model::labels)
      .def_prop_ro("folder", &Model::folder)
      .def_prop_ro("predicts", &Model::predicts)
      .def_prop_ro("max_length", &Model::max_length)
      .def_prop_ro("width", &Model::width);
  module.def("train", hone::python::train, "words"_a, "listener"_a);
  module.def(
      "parse_bytes",
      [](const char* field, const std::string& given) {
        return hone::cli::parse_bytes(field, given);
      },
      "field"_a, "given"_a);
}
