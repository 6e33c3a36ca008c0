#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "study/catalog.h"
#include "study/readings.h"

namespace hone::study {
namespace {

const char* const kOneHost =
    "this command starts processes on one host; over several, run hone train under mpirun or srun "
    "and hand its records to the study";

/// Gives a training by so many ranks of this host, one thread each unless the user says otherwise.
Words ranked(const StudySettings& settings, const std::string& model, int64_t ranks,
             int64_t lines) {
  StudySettings each = settings;
  if (each.threads == 0) each.threads = 1;
  Words words = training(each, model, 0, lines);
  if (ranks > 1) add_option(words, "nproc-per-node", std::to_string(ranks));
  if (settings.max_steps == 0) add_option(words, "num_train_epochs", "1");
  return words;
}

Case scale_case(const StudySettings& settings, const std::string& model, int64_t ranks,
                double fraction) {
  constexpr int64_t kLines = 100;
  Case each{.fields = {{"model", model_name(model)}, {"ranks", ranks}, {"fraction", fraction}},
            .commands = {ranked(settings, model, ranks, kLines)},
            .read = read_training,
            .missing = too_many_ranks(settings, ranks)};
  if (fraction < 1) add_option(each.commands[0], "train_fraction", fmt::format("{}", fraction));
  return each;
}

constexpr const char* kInput = "/input.jsonl";

/// Writes the first lines of a file, so many hundredths of its bytes.
void write_share(const std::string& from, int64_t share, const std::string& to) {
  constexpr size_t kPiece = 1 << 20;
  const InputFile file(from);
  const uint64_t wanted = file.size() * static_cast<uint64_t>(share) / 100;
  OutputFile out(to);
  std::string piece;
  for (uint64_t at = 0; at < file.size(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(kPiece, file.size() - at));
    file.read(at, piece.data(), piece.size());
    if (at + piece.size() < wanted) {
      out.write(piece);
      continue;
    }
    const size_t end = piece.find('\n', wanted > at ? wanted - at : 0);
    out.write(std::string_view(piece).substr(0, end));
    if (end == std::string::npos) continue;
    out.write("\n");
    break;
  }
  out.commit();
}

}  // namespace

std::vector<Case> scale_cases(const StudySettings& settings) {
  const std::vector<int64_t> points = points_of(settings, {1, 2, 4, 8});
  const int64_t most = *std::max_element(points.begin(), points.end());
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    std::vector<Case> weak;
    for (const int64_t ranks : points) {
      cases.push_back(scale_case(settings, model, ranks, 1));
      const double fraction = static_cast<double>(ranks) / static_cast<double>(most);
      if (ranks == most) continue;
      weak.push_back(scale_case(settings, model, 1, fraction));
      if (ranks > 1) weak.push_back(scale_case(settings, model, ranks, fraction));
    }
    cases.insert(cases.end(), weak.begin(), weak.end());
  }
  return cases;
}

std::vector<Case> convergence_cases(const StudySettings& settings) {
  constexpr int64_t kLines = 100;
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    for (const int64_t ranks : points_of(settings, {1, 2, 4, 8})) {
      cases.push_back({.fields = {{"model", model_name(model)}, {"ranks", ranks}},
                       .commands = {ranked(settings, model, ranks, kLines)},
                       .read = read_training,
                       .missing = too_many_ranks(settings, ranks)});
    }
    for (const char* placement : {"1x4", "2x2", "4x1"}) {
      const bool here = std::string_view(placement) == "1x4";
      cases.push_back({.fields = {{"model", model_name(model)}, {"placement", placement}},
                       .commands = {ranked(settings, model, 4, kLines)},
                       .read = read_training,
                       .missing = here ? too_many_ranks(settings, 4) : kOneHost});
    }
  }
  return cases;
}

std::vector<Case> prepare_cases(const StudySettings& settings) {
  std::vector<Case> cases;
  for (const int64_t share : {25, 50, 100}) {
    for (const int64_t ranks : points_of(settings, {2, 4, 8})) {
      Words words = {"prep"};
      add_option(words, "input", std::string("{run}") + kInput);
      add_option(words, "output", "{run}/store");
      add_option(words, "vocabulary", "10000");
      add_option(words, "processes", std::to_string(ranks));
      add_option(words, "threads", std::to_string(std::max(settings.threads, 1)));
      add_switch(words, "json");
      std::string missing = too_many_ranks(settings, ranks);
      if (settings.data.empty()) missing = "needs raw reviews: a file of JSON lines as the data";
      cases.push_back({.fields = {{"share", share}, {"ranks", ranks}},
                       .commands = {std::move(words)},
                       .read = read_printed,
                       .missing = std::move(missing),
                       .prepare = [=](const std::string& folder) {
                         write_share(settings.data, share, folder + kInput);
                       }});
    }
  }
  return cases;
}

std::vector<Case> balance_cases(const StudySettings& settings) {
  constexpr int64_t kSteps = 60;
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    for (const char* shares : {"equal", "dynamic"}) {
      Case each{.fields = {{"model", model_name(model)}, {"speeds", "1:1"}, {"shares", shares}},
                .commands = {training(settings, model, kSteps)},
                .read = read_training,
                .missing = too_many_ranks(settings, 2)};
      add_option(each.commands[0], "nproc-per-node", "2");
      if (std::string_view(shares) == "dynamic") add_option(each.commands[0], "balance", "on");
      cases.push_back(each);
      each.fields["speeds"] = "1.78:1";
      each.missing =
          "ranks of unequal speed need control groups, which root makes: "
          "bench/balance.py";
      cases.push_back(std::move(each));
    }
  }
  return cases;
}

}  // namespace hone::study
