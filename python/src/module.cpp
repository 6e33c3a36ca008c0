// The extension module hone._native. What users see is made of it in python/hone.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "base/version.h"
#include "cli/byte_size.h"
#include "explainer.h"
#include "model.h"
#include "train.h"

namespace {

namespace nb = nanobind;
using namespace nb::literals;
using hone::python::Explainer;
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

/// Gives images: paths, and arrays of bytes [height, width, 3].
std::vector<hone::Image> images_of(const nb::list& given) {
  using Pixels = nb::ndarray<const uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
  std::vector<hone::Image> images;
  for (const nb::handle each : given) {
    Pixels pixels;
    if (nb::isinstance<nb::str>(each)) {
      images.emplace_back(nb::cast<std::string>(each));
    } else if (nb::try_cast(each, pixels) && pixels.shape(2) == 3) {
      images.emplace_back(static_cast<int64_t>(pixels.shape(1)),
                          static_cast<int64_t>(pixels.shape(0)),
                          std::vector<uint8_t>(pixels.data(), pixels.data() + pixels.size()));
    } else {
      hone::fail(hone::ErrorKind::usage,
                 "images: expected paths, or arrays of uint8 of [height, width, 3]");
    }
  }
  return images;
}

void open_explainer(Explainer* place, const std::string& folder, const std::string& dtype,
                    int threads, int64_t max_length) {
  new (place) Explainer(folder, {.dtype = dtype, .threads = threads, .max_length = max_length});
}

nb::list explain(const Explainer& explainer, const std::vector<std::string>& texts,
                 const std::string& reasons, int64_t steps, int64_t ablate, int64_t concepts) {
  using hone::Reasons;
  const auto wanted = named<Reasons>(
      "reasons", reasons,
      {{"auto", Reasons::automatic}, {"own", Reasons::own}, {"gradients", Reasons::gradients}});
  return explainer.explain(
      texts, {.reasons = wanted, .steps = steps, .ablate = ablate, .concepts = concepts});
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
      .def(
          "predict_images",
          [](const Model& model, const nb::list& images) {
            return model.predict_images(images_of(images));
          },
          "images"_a)
      .def(
          "embed_images",
          [](const Model& model, const nb::list& images) {
            return model.embed_images(images_of(images));
          },
          "images"_a)
      .def("tokenize", &Model::tokenize, "text"_a, "pair"_a.none())
      .def("close", &Model::close)
      .def_prop_ro("labels", &Model::labels)
      .def_prop_ro("folder", &Model::folder)
      .def_prop_ro("predicts", &Model::predicts)
      .def_prop_ro("max_length", &Model::max_length)
      .def_prop_ro("width", &Model::width);
  nb::class_<Explainer>(module, "Explainer")
      .def("__init__", open_explainer, "folder"_a, nb::kw_only(), "dtype"_a, "threads"_a,
           "max_length"_a)
      .def("explain", explain, "texts"_a, nb::kw_only(), "reasons"_a, "steps"_a, "ablate"_a,
           "concepts"_a);
  module.def("train", hone::python::train, "words"_a, "listener"_a);
  module.def(
      "parse_bytes",
      [](const char* field, const std::string& given) {
        return hone::cli::parse_bytes(field, given);
      },
      "field"_a, "given"_a);
}
