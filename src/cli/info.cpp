#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/json.h"
#include "base/version.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "comm/mpi_plugin.h"
#include "comm/nccl.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "infer/model_facts.h"
#include "kernels/cuda/api.h"
#include "models/packed_file.h"
#include "text/tokenizer.h"

namespace hone::cli {
namespace {

constexpr int64_t kMostSamples = 1 << 20;

OrderedJson build_facts() {
#if defined(__clang__)
  const std::string compiler = fmt::format("clang {}", __clang_version__);
#else
  const std::string compiler = fmt::format("g++ {}", __VERSION__);
#endif
#if defined(__OPTIMIZE__)
  const bool optimized = true;
#else
  const bool optimized = false;
#endif
  std::vector<std::string> backends = {"cpu"};
  std::vector<std::string> dtypes = {"fp32", "bf16", "int8"};
  if (!cuda_info().plugin.empty()) {
    backends.emplace_back("cuda");
    dtypes.insert(dtypes.end(), {"fp16", "fp8"});
  }
  return {{"compiler", compiler},
          {"optimized", optimized},
          {"backends", backends},
          {"dtypes", dtypes},
          {"weights", {"safetensors", "pytorch_model.bin", ".pth"}}};
}

/// Adds what there is for CUDA, or why there is nothing.
void add_cuda(OrderedJson& facts) {
  const CudaInfo& cuda = cuda_info();
  OrderedJson& devices = facts["devices"];
  for (const CudaDevice& device : cuda.devices) {
    OrderedJson entry{{"device", fmt::format("cuda:{}", device.index)},
                      {"name", device.name},
                      {"memory_bytes", device.memory_bytes},
                      {"compute_capability", fmt::format("{}.{}", device.major, device.minor)},
                      {"multiprocessors", device.multiprocessors}};
    if (!device.missing.empty()) entry["missing"] = device.missing;
    devices.push_back(std::move(entry));
  }
  OrderedJson about{{"plugin", cuda.plugin}};
  if (!cuda.missing.empty()) about["missing"] = cuda.missing;
  const auto version = [](int number) {
    return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
  };
  if (cuda.runtime > 0) about["runtime"] = version(cuda.runtime);
  if (cuda.driver > 0) about["driver"] = version(cuda.driver);
  if (cuda.missing.empty()) {
    uint64_t number = 0;
    const char* path = "";
    const CudaStatus status = kernels::cuda::kernel_api().product_library(&number, &path);
    about["products"] = status ? status : fmt::format("cuBLASLt {} ({})", number, path);
    about["kernels"] = "own: attention, norms, embeddings, losses, AdamW";
  }
  facts["cuda"] = std::move(about);
}

/// Adds by what processes of a run can speak with each other, or why they cannot.
void add_ranks(OrderedJson& facts) {
  const comm::MpiInfo& mpi = comm::mpi_info();
  const comm::NcclInfo& nccl = comm::nccl_info();
  OrderedJson ranks{{"shared_memory", true}, {"mpi", {{"plugin", mpi.plugin}}}};
  ranks["nccl"] = {{"library", nccl.library}};
  if (mpi.missing.empty()) {
    ranks["mpi"]["version"] = mpi.library;
  } else {
    ranks["mpi"]["missing"] = mpi.missing;
  }
  if (nccl.missing.empty()) {
    ranks["nccl"]["version"] =
        fmt::format("{}.{}.{}", nccl.version / 10000, nccl.version / 100 % 100, nccl.version % 100);
  } else {
    ranks["nccl"]["missing"] = nccl.missing;
  }
  facts["ranks"] = std::move(ranks);
}

OrderedJson machine_facts() {
  const CpuInfo& cpu = cpu_info();
  std::vector<std::string> isas;
  for (const Isa isa : available_isas()) isas.emplace_back(isa_name(isa));
  OrderedJson kernels = OrderedJson::array();
  for (const KernelChoice& choice : kernel_choices(chosen_isa())) {
    kernels.push_back(
        {{"dtype", choice.dtype}, {"kernel", choice.kernel}, {"reason", choice.reason}});
  }
  OrderedJson facts;
  facts["devices"] = OrderedJson::array({{{"device", "cpu"},
                                          {"name", cpu.name},
                                          {"usable_cores", usable_cores()},
                                          {"isas", isas},
                                          {"amx_palette_leaf_empty", cpu.amx_palette_leaf_empty}}});
  facts["isa"] = isa_name(chosen_isa());
  facts["kernels"] = kernels;
  add_cuda(facts);
  add_ranks(facts);
  return facts;
}

const char* problem_name(ProblemType problem) {
  switch (problem) {
    case ProblemType::multi_label:
      return "multi_label_classification";
    case ProblemType::regression:
      return "regression";
    default:
      return "single_label_classification";
  }
}

OrderedJson model_json(const std::string& model, const infer::FactsOptions& options) {
  const infer::ModelFacts facts = infer::model_facts(model, options);
  const models::ModelConfig& config = *facts.folder.config;
  const auto processor = models::family_of(config).open_processor(
      config, {.path = facts.folder.path, .model = facts.folder.path});
  OrderedJson json = {{"path", facts.folder.path}, {"family", config.model_type}};
  for (const auto& [name, value] : config.facts()) json[name] = value;
  json.update({{"parameters", facts.parameters},
               {"bytes_by_dtype", facts.stored_bytes},
               {"dtype", dtype_name(facts.dtype)},
               {"packed_bytes", facts.packed_bytes},
               {"max_length", facts.max_length},
               {"forward_bytes", facts.forward_bytes},
               {"batch", facts.samples},
               {"length", facts.length},
               {"predict_bytes", facts.predict_bytes}});
  json.update(processor->facts());
  if (facts.packed) {
    json["packed_file"] = models::kPackedName;
  } else {
    json["train_bytes"] = facts.train_bytes;
  }
  if (facts.has_head) {
    json["problem_type"] = problem_name(config.problem);
    json["labels"] = config.labels;
  }
  return json;
}

double megabytes(const OrderedJson& bytes) { return bytes.get<double>() / 1e6; }

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("{:<15}{}\n", name, value);
}

std::string machine_text(const OrderedJson& facts) {
  const OrderedJson& build = facts["build"];
  const OrderedJson& cpu = facts["devices"][0];
  std::string out = line("hone", facts["version"].get<std::string>());
  out += line("build", fmt::format("{}{}", build["compiler"].get<std::string>(),
                                   build["optimized"].get<bool>() ? "" : ", not optimized"));
  out += line("device", fmt::format("cpu: {}, {} usable cores", cpu["name"].get<std::string>(),
                                    cpu["usable_cores"].get<int>()));
  out += line("instructions", fmt::format("{}; using {}", fmt::join(cpu["isas"].get<Words>(), " "),
                                          facts["isa"].get<std::string>()));
  for (const OrderedJson& choice : facts["kernels"]) {
    out += line("kernel " + choice["dtype"].get<std::string>(),
                fmt::format("{} ({})", choice["kernel"].get<std::string>(),
                            choice["reason"].get<std::string>()));
  }
  for (size_t i = 1; i < facts["devices"].size(); ++i) {
    const OrderedJson& gpu = facts["devices"][i];
    out += line(
        "device",
        fmt::format("{}: {}, compute capability {}, {:.1f} GB{}", gpu["device"].get<std::string>(),
                    gpu["name"].get<std::string>(), gpu["compute_capability"].get<std::string>(),
                    1e-9 * gpu["memory_bytes"].get<double>(),
                    gpu.contains("missing") ? "; " + gpu["missing"].get<std::string>() : ""));
  }
  const OrderedJson& cuda = facts["cuda"];
  if (cuda.contains("missing")) {
    out += line("cuda", "not used: " + cuda["missing"].get<std::string>());
  } else {
    out +=
        line("cuda",
             fmt::format("driver {}, runtime {}; products {}; kernels {}",
                         cuda["driver"].get<std::string>(), cuda["runtime"].get<std::string>(),
                         cuda["products"].get<std::string>(), cuda["kernels"].get<std::string>()));
  }
  const OrderedJson& ranks = facts["ranks"];
  const auto found = [](const OrderedJson& library) {
    return library.contains("missing") ? "not used: " + library["missing"].get<std::string>()
                                       : library["version"].get<std::string>();
  };
  out += line("ranks", "shared memory on one host");
  out += line("mpi", found(ranks["mpi"]));
  out += line("nccl", found(ranks["nccl"]));
  if (cpu["amx_palette_leaf_empty"].get<bool>()) {
    out += line("note", "AMX is there but CPUID leaf 0x1D is empty; libraries that trust it crash");
  }
  return out;
}

std::string model_text(const OrderedJson& model) {
  std::string stored;
  for (const auto& [dtype, bytes] : model["bytes_by_dtype"].items()) {
    stored += fmt::format("{}{} {:.1f} MB", stored.empty() ? "" : ", ", dtype, megabytes(bytes));
  }
  std::string out = "\n" + line("model", model["path"].get<std::string>());
  std::string family = model["family"].get<std::string>();
  if (model.contains("layers") && model.contains("hidden_size")) {
    family += fmt::format(", {} layers of {}", model["layers"].get<int64_t>(),
                          model["hidden_size"].get<int64_t>());
  }
  out += line("family", family);
  out += line("parameters", fmt::format("{}", model["parameters"].get<int64_t>()));
  if (model.contains("packed_file")) {
    stored += fmt::format(", in {}", model["packed_file"].get<std::string>());
  }
  out += line("stored", stored);
  out += line("packed", fmt::format("{:.1f} MB as {}", megabytes(model["packed_bytes"]),
                                    model["dtype"].get<std::string>()));
  const char* unit = model.contains("tokenizer") ? "tokens" : "pixels";
  out += line("forward", fmt::format("{:.1f} MB for 1 x {} {}", megabytes(model["forward_bytes"]),
                                     model["max_length"].get<int64_t>(), unit));
  const std::string batch = fmt::format("{} x {} {}", model["batch"].get<int64_t>(),
                                        model["length"].get<int64_t>(), unit);
  out += line("predict", fmt::format("{:.1f} MB for {}", megabytes(model["predict_bytes"]), batch));
  if (model.contains("train_bytes")) {
    out += line("training step",
                fmt::format("{:.1f} MB for {}, AdamW", megabytes(model["train_bytes"]), batch));
  } else {
    out += line("training step", "none: packed for answering under a memory budget");
  }
  if (model.contains("tokenizer")) {
    out += line("tokenizer", fmt::format("{}, {} tokens", model["tokenizer"].get<std::string>(),
                                         model["vocabulary"].get<int64_t>()));
  } else if (model.contains("image_height")) {
    out += line("images", fmt::format("{} x {} pixels", model["image_height"].get<int64_t>(),
                                      model["image_width"].get<int64_t>()));
  }
  if (!model.contains("labels")) return out + line("head", "none: it can embed, not predict");
  return out + line("labels", fmt::format("{} ({})", fmt::join(model["labels"].get<Words>(), ", "),
                                          model["problem_type"].get<std::string>()));
}

}  // namespace

int info(const Words& words) {
  Arguments arguments("info", "What this build, this machine and a model have.");
  std::string model;
  arguments.text("--model,--model_name_or_path", "DIR", model,
                 "model folder, or name in the local cache");
  infer::FactsOptions options;
  arguments.integer("--batch", 1, kMostSamples, options.samples,
                    "samples that memory is told for; default 8");
  arguments.integer("--length", 1, kMostTokens, options.length, "their tokens; default 128");
  arguments.example("hone info --model DIR --batch 32 --json");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  OrderedJson facts = {{"version", kVersion}, {"build", build_facts()}};
  facts.update(machine_facts());
  if (!model.empty()) {
    options.dtype = arguments.common().wanted_dtype();
    options.threads = arguments.common().threads;
    options.gpu = select_device(arguments.common().device);
    facts["model"] = model_json(model, options);
  }
  if (arguments.common().json) {
    print(facts.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
  } else {
    print(machine_text(facts) + (model.empty() ? "" : model_text(facts["model"])));
  }
  return kDone;
}

}  // namespace hone::cli
