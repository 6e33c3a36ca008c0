// What a served model answers, whatever else it has to do at the time.
#include "serve/served_model.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "infer/exiting_folder.h"
#include "serve/engine_fixture.h"

namespace hone::serve {
namespace {

std::vector<infer::Answer> session_answers(const Job& job,
                                           const infer::SessionOptions& options = {}) {
  infer::Session session(kServedFolder, options);
  return session.run(job.inputs);
}

void expect_answers(const JobResult& result, std::span<const infer::Answer> expected) {
  ASSERT_EQ(error_of(result), "");
  ASSERT_EQ(result.answers.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(result.answers[i].values, expected[i].values) << i;
    EXPECT_EQ(result.answers[i].tokens, expected[i].tokens);
    EXPECT_EQ(result.answers[i].full_tokens, expected[i].full_tokens);
  }
}

TEST(ServedModel, GivesTheBitsOfASessionInAnyCompany) {
  ModelSettings settings = served_settings();
  settings.devices = {"cpu", "cpu"};
  settings.max_batch_tokens = 200;
  ServedModel model(settings);
  const std::vector<infer::Answer> expected = session_answers(job_of(job_texts(0, 400)));
  std::vector<std::thread> clients;
  for (int64_t t = 0; t < 4; ++t) {
    clients.emplace_back([&, t] {
      for (int64_t round = 0; round < 20; ++round) {
        const int64_t first = (t * 97 + round * 31) % 300;
        const int64_t count = round % 3 == 0 ? 1 : 1 + (t * 13 + round * 29) % 90;
        const JobResult got = submitted(model, job_of(job_texts(first, count))).get();
        expect_answers(got, std::span(expected).subspan(static_cast<size_t>(first),
                                                        static_cast<size_t>(count)));
        EXPECT_GE(got.times.queue, 0);
        EXPECT_GT(got.times.tokenization, 0);
        EXPECT_GT(got.times.inference, 0);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(model.counts().accepted, 80);
  EXPECT_EQ(model.counts().answered, 80);
  const ServedModel::Load load = model.load();
  EXPECT_EQ(load.inputs + load.tokens + load.computing + load.computing_tokens, 0);
  EXPECT_EQ(load.workers, 2);
}

TEST(ServedModel, ServesBytesHalvesAndStreamedWeights) {
  std::vector<infer::SessionOptions> ways(3);
  ways[0].dtype = DType::i8;
  ways[1].dtype = DType::bf16;
  ways[2].memory_budget = uint64_t{4} << 30;
  for (const infer::SessionOptions& way : ways) {
    ModelSettings settings = served_settings();
    settings.session = way;
    settings.session.threads = 1;
    ServedModel model(settings);
    const Job job = job_of(job_texts(0, 100));
    auto other = submitted(model, job_of(job_texts(50, 30)));
    expect_answers(submitted(model, job).get(), session_answers(job, way));
    EXPECT_EQ(error_of(other.get()), "");
  }
}

TEST(ServedModel, KeepsToTheLimitsOfABatch) {
  ModelSettings settings = served_settings();
  settings.max_batch_tokens = 60;
  settings.max_batch_requests = 5;
  ServedModel model(settings);
  std::vector<std::pair<int64_t, int64_t>> batches;
  model.on_batch([&](int64_t inputs, int64_t tokens) { batches.emplace_back(inputs, tokens); });
  const Job job = job_of(job_texts(0, 300));
  expect_answers(submitted(model, job).get(), session_answers(job));
  int64_t inputs = 0;
  int64_t fullest = 0;
  for (const auto& [batch_inputs, batch_tokens] : batches) {
    EXPECT_LE(batch_inputs, 5);
    EXPECT_LE(batch_tokens, 60);
    inputs += batch_inputs;
    fullest = std::max(fullest, batch_tokens);
  }
  EXPECT_EQ(inputs, 300);
  EXPECT_GT(fullest, 40);
}

TEST(ServedModel, RefusesOrCutsWhatIsTooLong) {
  ServedModel model(served_settings());
  const auto limit = static_cast<size_t>(model.session().max_units());
  std::string text = "great great";
  for (size_t i = 0; i < limit; ++i) text += i % 3 == 0 ? " the" : " film";
  const Job plain = job_of_text(text);
  expect_answers(submitted(model, plain).get(), session_answers(plain));

  Job strict = plain;
  strict.truncate = false;
  auto refused = submitted(model, strict);
  auto beside = submitted(model, job_of_text("the film"));
  const JobResult result = refused.get();
  EXPECT_EQ(error_of(result), "an input of " + std::to_string(limit + 4) +
                                  " tokens is longer than the limit of " + std::to_string(limit));
  ASSERT_TRUE(result.error);
  EXPECT_THROW(std::rethrow_exception(result.error), Error);
  EXPECT_TRUE(result.answers.empty());
  EXPECT_EQ(error_of(beside.get()), "");

  Job left = plain;
  left.truncate_left = true;
  const text::Encoding all =
      model.session().text_processor().tokenizer().encode({text, std::nullopt});
  Job last = {.inputs = {}, .ids = {{all.ids.front()}}};
  last.ids[0].insert(last.ids[0].end(), all.ids.end() - static_cast<ptrdiff_t>(limit) + 1,
                     all.ids.end());
  const JobResult cut = submitted(model, left).get();
  ASSERT_EQ(error_of(cut), "");
  EXPECT_EQ(cut.answers[0].values, submitted(model, last).get().answers.at(0).values);
  EXPECT_NE(cut.answers[0].values, submitted(model, plain).get().answers.at(0).values);
  EXPECT_EQ(cut.answers[0].full_tokens, static_cast<int64_t>(limit) + 4);
}

TEST(ServedModel, TakesTokenIds) {
  ServedModel model(served_settings());
  const std::string text = "the film is great";
  const std::vector<int32_t> ids =
      model.session().text_processor().tokenizer().encode({text, std::nullopt}).ids;
  const Job by_ids = {.inputs = {}, .ids = {ids, ids}};
  const JobResult got = submitted(model, by_ids).get();
  const std::vector<infer::Answer> expected = session_answers(job_of_text(text));
  ASSERT_EQ(got.answers.size(), 2u);
  EXPECT_EQ(got.answers[1].values, expected[0].values);
  EXPECT_EQ(got.answers[1].tokens, std::ssize(ids));

  const auto error_for = [&](std::vector<std::vector<int32_t>> lists, bool truncate) {
    return error_of(
        submitted(model, {.inputs = {}, .ids = std::move(lists), .truncate = truncate}).get());
  };
  EXPECT_EQ(error_for({ids, {2, 1'000'000, 3}}, true),
            "token ids: 1000000 is outside the model's " +
                std::to_string(model.session().text_processor().limits().vocabulary) +
                " embeddings");
  EXPECT_NE(error_for({{2, -1, 3}}, true), "");
  EXPECT_EQ(error_for({{}}, true), "token ids: there are none");
  std::vector<int32_t> many(static_cast<size_t>(model.session().max_units()) + 9, ids[1]);
  EXPECT_EQ(error_for({many}, true), "");
  EXPECT_NE(error_for({many}, false).find("is longer than the limit"), std::string::npos);
}

TEST(ServedModel, AnswersAnEmptyTextAndAJobWithoutInputs) {
  ServedModel model(served_settings());
  const Job empty = job_of_text("");
  expect_answers(submitted(model, empty).get(), session_answers(empty));
  EXPECT_EQ(error_of(submitted(model, {.inputs = {}}).get()), "");
}

TEST(ServedModel, KeepsADeadlineOfExits) {
  const std::string folder = testing::TempDir() + "served-exits";
  std::filesystem::remove_all(folder);
  infer::write_exiting_folder("bert-words", "pabee", Json::object(), folder);
  ModelSettings settings = served_settings();
  settings.folder = folder;
  settings.session.deadline = 100;
  ServedModel model(settings);
  const JobResult got = submitted(model, job_of(job_texts(0, 30))).get();
  ASSERT_EQ(error_of(got), "");
  for (const infer::Answer& answer : got.answers) {
    EXPECT_GT(answer.layers, 0);
    EXPECT_GT(answer.seconds, 0);
  }
  Job strict = job_of_text(std::string(5000, 'a') + " the film");
  for (int i = 0; i < 100; ++i) strict.inputs.push_back(strict.inputs[0]);
  EXPECT_EQ(error_of(submitted(model, strict).get()), "");
  std::filesystem::remove_all(folder);
}

TEST(ServedModel, ThrowsWhatKeepsItFromLoading) {
  ModelSettings settings = served_settings();
  settings.folder = "/no/such/folder";
  settings.devices = {"cpu", "cpu"};
  EXPECT_THROW(ServedModel{settings}, Error);
  settings = served_settings();
  settings.devices = {"cpu", "nonsense"};
  EXPECT_THROW(ServedModel{settings}, Error);
  settings.devices = {};
  EXPECT_THROW(ServedModel{settings}, Error);
}

TEST(ServedModel, AnswersWhatItAcceptedBeforeItEnds) {
  StepControl control;
  std::vector<std::future<JobResult>> results;
  {
    ServedModel model(served_settings(&control));
    control.hold();
    for (int64_t i = 0; i < 50; ++i) {
      results.push_back(submitted(model, job_of(job_texts(i, 1 + i))));
    }
    control.wait_until_held();
    control.let_go();
  }
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].wait_for(std::chrono::seconds(0)), std::future_status::ready);
    EXPECT_EQ(results[i].get().answers.size(), i + 1);
  }
}

}  // namespace
}  // namespace hone::serve
