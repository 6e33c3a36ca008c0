#include "infer/concept_tools.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "data/labels.h"
#include "explain/concept_writer.h"
#include "explain/hubs.h"
#include "infer/line_answers.h"
#include "infer/self_explainer.h"
#include "io/folder.h"
#include "models/concept_encoder.h"

namespace hone::infer {
namespace {

constexpr size_t kRows = 256;

SessionOptions without_concepts(SessionOptions options) {
  options.concepts = false;
  options.dtype = DType::f32;  // concepts are encoded in fp32
  return options;
}

/// Calls body(records, stream) for the rows, some at a time.
template <typename Body>
void each_batch(const LabelledRows& rows, const Body& body) {
  const auto stream = rows.open();
  BatchReader reader(*stream, kRows);
  for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) body(batch, *stream);
}

void refuse_pair(const data::Record& record, const data::RecordStream& stream) {
  if (!record.pair) return;
  fail(ErrorKind::bad_file, "{}: a pair of texts; a self-explaining model reads one",
       stream.where(record));
}

std::vector<data::EncodedSample> encode_texts(SelfExplainer& explainer,
                                              const std::vector<std::string>& texts) {
  std::vector<data::RawSample> raw;
  for (const std::string& text : texts) raw.push_back({text, {}});
  std::vector<data::EncodedSample> samples;
  explainer.processor().encode(raw, explainer.session().pool(), samples);
  return samples;
}

}  // namespace

BuiltStore build_store(const std::string& model, const LabelledRows& rows,
                       const std::vector<std::string>& tree_files, const SessionOptions& options,
                       DType dtype) {
  SelfExplainer explainer(model, without_concepts(options), {});
  const models::ModelConfig& config = explainer.config();
  const std::shared_ptr<data::TreeBank> bank = data::load_trees(tree_files);
  BuiltStore built;
  int64_t all_rows = 0;
  each_batch(rows, [&](std::span<const data::Record> batch, const data::RecordStream& stream) {
    std::vector<std::string_view> texts;
    for (const data::Record& record : batch) {
      refuse_pair(record, stream);
      if (!bank->index.find(record.text)) texts.push_back(record.text);
    }
    for (trees::Tree& tree : explainer.trees(texts)) {
      if (!tree.words.empty()) bank->index.add(std::move(tree));
    }
    built.parsed += std::ssize(texts);
    all_rows += std::ssize(batch);
  });
  explain::ConceptSet concepts(explainer.model().config().hidden_size,
                               static_cast<int64_t>(config.labels.size()));
  const data::LabelMap labels(rows.task_labels, config.labels);
  const int64_t words = explainer.model().settings().concept_words;
  const int64_t stride = explain::hub_stride(all_rows);
  std::vector<std::string> sentences;
  each_batch(rows, [&](std::span<const data::Record> batch, const data::RecordStream& stream) {
    for (const data::Record& record : batch) {
      const int64_t label = record.label ? labels.id(record, stream) : -1;
      if (built.rows % stride == 0) sentences.push_back(record.text);
      models::add_concepts(record.text, *bank, words, label, built.rows++, concepts);
    }
  });
  const std::string& folder = explainer.session().folder().trained();
  if (concepts.size() == 0) {
    fail(ErrorKind::bad_file, "data.train_file: none of its {} rows has a phrase of 2 to {} words",
         built.rows, words);
  }
  models::ConceptEncoder encoder(explainer.model(), explainer.processor(),
                                 explainer.session().pool(), false);
  const explain::SearchVectors vectors =
      encoder.encode(concepts, encode_texts(explainer, sentences));
  explain::write_concept_store(
      folder + "/" + explain::kConceptFile, concepts,
      {.model = models::hash_weights(folder), .dtype = dtype, .vectors = vectors});
  built.concepts = concepts.size();
  return built;
}

int64_t export_vectors(const std::string& model, const std::string& path) {
  const std::string folder = io::resolve_model(model);
  const explain::ConceptStore store(folder + "/" + explain::kConceptFile);
  OutputFile out(path);
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", store.size(),
                  store.width());
  constexpr size_t kBefore = 10, kLine = 64;  // bytes before the header, and what all are to fill
  header.resize((kBefore + header.size() + 1 + kLine - 1) / kLine * kLine - kBefore, ' ');
  header.back() = '\n';
  const auto size = static_cast<uint16_t>(header.size());
  out.write("\x93NUMPY\x01\x00", 8);
  out.write(&size, sizeof size);
  out.write(header.data(), header.size());
  std::vector<float> vector(static_cast<size_t>(store.width()));
  for (int64_t i = 0; i < store.size(); ++i) {
    store.model_vector(i, vector.data());
    out.write(vector.data(), vector.size() * sizeof(float));
  }
  out.commit();
  return store.size();
}

namespace {

/// The rows of a training set, as the model sees them.
struct Sentences {
  explain::SearchVectors vectors;
  std::vector<int64_t> labels;
  std::vector<std::string> texts;
};

Sentences encode_rows(SelfExplainer& explainer, const LabelledRows& rows) {
  Sentences out;
  const data::LabelMap labels(rows.task_labels, explainer.config().labels);
  each_batch(rows, [&](std::span<const data::Record> batch, const data::RecordStream& stream) {
    for (const data::Record& record : batch) {
      refuse_pair(record, stream);
      out.labels.push_back(labels.id(record, stream));
      out.texts.push_back(record.text);
    }
  });
  const std::vector<data::EncodedSample> samples = encode_texts(explainer, out.texts);
  const int64_t width = explainer.model().config().hidden_size;
  const int64_t stride = explain::row_stride(DType::f32, width);
  const auto count = static_cast<int64_t>(samples.size());
  out.vectors.data = Buffer(static_cast<size_t>(std::max<int64_t>(1, count) * stride) * 4);
  out.vectors.count = count;
  out.vectors.width = width;
  std::memset(out.vectors.data.data(), 0, out.vectors.data.size());
  float* const to = out.vectors.data.as<float>();
  std::vector<double> sums(static_cast<size_t>(width));
  models::ConceptEncoder encoder(explainer.model(), explainer.processor(),
                                 explainer.session().pool(), false);
  encoder.run(samples, [&](int64_t i, const float* vector) {
    std::copy_n(vector, width, to + i * stride);
    for (int64_t k = 0; k < width; ++k) sums[static_cast<size_t>(k)] += double{vector[k]};
  });
  std::vector<float> mean;
  for (const double sum : sums)
    mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
  for (int64_t i = 0; i < count; ++i) {
    explain::centre_vector(to + i * stride, mean.data(), width, to + i * stride);
  }
  return out;
}

/// Compares a row's label with those of its neighbours.
SuspectRow judge(const Sentences& rows, int64_t row, std::span<const explain::Neighbour> neighbours,
                 size_t labels) {
  std::vector<double> votes(labels);
  double all = 0;
  for (const explain::Neighbour& each : neighbours) {
    if (each.index < 0) break;
    // Scores are cosines; what is not near at all has no vote.
    const double vote = std::max(0., double{each.score});
    votes[static_cast<size_t>(rows.labels[static_cast<size_t>(each.index)])] += vote;
    all += vote;
  }
  SuspectRow out;
  out.row = row;
  out.label = rows.labels[static_cast<size_t>(row)];
  out.suggested = std::max_element(votes.begin(), votes.end()) - votes.begin();
  if (all > 0) out.disagreement = 1 - votes[static_cast<size_t>(out.label)] / all;
  return out;
}

}  // namespace

std::vector<SuspectRow> find_suspects(const std::string& model, const LabelledRows& rows,
                                      int64_t neighbours, const SessionOptions& options) {
  SelfExplainer explainer(model, without_concepts(options), {});
  const Sentences sentences = encode_rows(explainer, rows);
  ThreadPool& pool = explainer.session().pool();
  const explain::TopK search(sentences.vectors.rows(), explain::Scan::exact, pool);
  const int64_t width = sentences.vectors.width, count = sentences.vectors.count;
  const int64_t stride = explain::row_stride(DType::f32, width);
  std::vector<SuspectRow> suspects;
  std::vector<float> queries;
  std::vector<explain::Neighbour> found;
  for (int64_t first = 0; first < count; first += static_cast<int64_t>(kRows)) {
    const int64_t some = std::min(static_cast<int64_t>(kRows), count - first);
    queries.clear();
    std::vector<std::array<int32_t, 1>> self;
    for (int64_t i = first; i < first + some; ++i) {
      const float* row = sentences.vectors.data.as<float>() + i * stride;
      queries.insert(queries.end(), row, row + width);
      self.push_back({static_cast<int32_t>(i)});
    }
    const std::vector<std::span<const int32_t>> excluded(self.begin(), self.end());
    search.search(queries.data(), some, neighbours, excluded, pool, found);
    for (int64_t i = 0; i < some; ++i) {
      SuspectRow row = judge(sentences, first + i,
                             std::span(found).subspan(static_cast<size_t>(i * neighbours),
                                                      static_cast<size_t>(neighbours)),
                             explainer.config().labels.size());
      if (row.disagreement <= 0) continue;
      row.text = sentences.texts[static_cast<size_t>(row.row)];
      suspects.push_back(std::move(row));
    }
  }
  std::stable_sort(suspects.begin(), suspects.end(), [](const SuspectRow& a, const SuspectRow& b) {
    return a.disagreement > b.disagreement;
  });
  return suspects;
}

}  // namespace hone::infer
