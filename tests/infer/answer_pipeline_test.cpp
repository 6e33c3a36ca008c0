// Reading, encoding, computing and writing at one time: in order, in place, in bounded memory.
#include "infer/answer_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

#include "device/memory.h"
#include "infer/answered_records.h"
#include "infer/evaluate.h"
#include "sanitized.h"

namespace hone::infer {
namespace {

const std::string kPipelined = HONE_TEST_DIR "/../models/goldens/bert-words";
constexpr auto kPatience = std::chrono::seconds(60);

/// Answers of one text at a time, as lines.
std::string lines_alone(Session& session, int64_t count) {
  std::string lines;
  for (int64_t i = 0; i < count; ++i) {
    const std::string text = varied_text(i);
    const Input input{text, std::nullopt};
    lines += answer_line(session.run({&input, 1}).front());
  }
  return lines;
}

struct Collected {
  std::string text;
  std::vector<int64_t> rows;
  std::string error;
  LineCounts counts;
};

Collected collect(Session& session, data::RecordStream& records, int64_t most_samples = 0,
                  bool truncate = true) {
  Collected all;
  AnswerHandler handler;
  handler.format = [](const data::Record&, const Answer& answer, std::string& out) {
    out += answer_line(answer);
  };
  handler.write = [&](std::string_view text) { all.text += text; };
  handler.answer = [&](const data::Record& record, const Answer&) {
    all.rows.push_back(record.row);
  };
  handler.truncate = truncate;
  try {
    all.counts = answer_lines(session, records, handler, most_samples);
  } catch (const Error& error) {
    all.error = error.what();
  }
  return all;
}

TEST(AnswerPipeline, KeepsOrderAndBitsWithAnyThreadsAndCuts) {
  constexpr int64_t kCount = 700;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Session alone(kPipelined, {.dtype = dtype, .threads = 1});
    const std::string expected = lines_alone(alone, kCount);
    for (const int threads : {1, 2, 5}) {
      Session session(kPipelined, {.dtype = dtype, .threads = threads});
      for (const int64_t most : {0, 1, 7, 64}) {
        ListedRecords records(ListedRecords::varied(kCount));
        const Collected all = collect(session, records, most);
        EXPECT_EQ(all.error, "");
        ASSERT_EQ(all.text, expected) << threads << " threads, " << most << " a pass";
        ASSERT_EQ(std::ssize(all.rows), kCount);
        for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(all.rows[static_cast<size_t>(i)], i + 1);
        EXPECT_EQ(all.counts.records, kCount);
      }
    }
  }
}

TEST(AnswerPipeline, AnswersEachRecordBeforeTheNextIsThere) {
  Session session(kPipelined, {.threads = 2});
  FedRecords records;
  std::promise<std::string> answered;
  std::string written;
  AnswerHandler handler;
  handler.format = [](const data::Record&, const Answer& answer, std::string& out) {
    out += answer_line(answer);
  };
  handler.write = [&](std::string_view text) { written += text; };
  handler.idle = [&] { answered.set_value(std::exchange(written, {})); };
  auto done =
      std::async(std::launch::async, [&] { return answer_lines(session, records, handler); });
  Session other(kPipelined, {.threads = 1});
  for (int64_t i = 0; i < 20; ++i) {
    auto answer = answered.get_future();
    records.feed(varied_text(i));
    const bool came = answer.wait_for(kPatience) == std::future_status::ready;
    if (!came) records.end();
    ASSERT_TRUE(came) << i;
    const std::string text = varied_text(i);
    const Input input{text, std::nullopt};
    EXPECT_EQ(answer.get(), answer_line(other.run({&input, 1}).front()));
    answered = {};
  }
  records.end();
  EXPECT_EQ(done.get().records, 20);
}

TEST(AnswerPipeline, TellsOfABadRecordInItsPlace) {
  Session session(kPipelined, {.threads = 2});
  const std::string expected = lines_alone(session, 600);
  ListedRecords records(ListedRecords::varied(600), "list: line 601: bad");
  const Collected all = collect(session, records);
  EXPECT_EQ(all.error, "list: line 601: bad");
  EXPECT_EQ(all.text, expected);
}

TEST(AnswerPipeline, TellsOfALongTextInItsPlace) {
  Session session(kPipelined, {.threads = 2});
  const std::string expected = lines_alone(session, 333);
  std::vector<data::Record> list = ListedRecords::varied(900);
  for (const size_t at : {333, 334, 500}) {
    for (int i = 0; i < 30; ++i) list[at].text += " film";
  }
  ListedRecords records(list, "list: line 901: bad");
  const Collected all = collect(session, records, 0, false);
  EXPECT_TRUE(all.error.starts_with("list: line 334: ")) << all.error;
  EXPECT_TRUE(all.error.ends_with("tokens are more than the limit of 24")) << all.error;
  EXPECT_EQ(all.text, expected);
  EXPECT_EQ(all.rows.size(), 333u);
}

TEST(AnswerPipeline, TellsWhichTextCannotBeEncoded) {
  Session session(kPipelined, {.threads = 2, .max_length = 2});
  std::vector<data::Record> list = ListedRecords::varied(500);
  list[400].pair = "two specials more than fit";
  ListedRecords records(list);
  const Collected all = collect(session, records);
  EXPECT_EQ(all.error, "list: line 401: max_length: 2, but 3 special tokens are added");
  EXPECT_EQ(all.rows.size(), 400u);
}

TEST(AnswerPipeline, PutsTheRecordBeforeAnErrorOfFormat) {
  Session session(kPipelined, {.threads = 2});
  std::vector<data::Record> list(600);
  for (data::Record& record : list) record.text = "film";
  list[450].text = "film film";
  ListedRecords records(list);
  std::string written;
  AnswerHandler handler;
  handler.format = [](const data::Record&, const Answer& answer, std::string& out) {
    out += "(";
    if (answer.tokens != 3) fail(ErrorKind::bad_file, "odd");
    out += ")";
  };
  handler.write = [&](std::string_view text) { written += text; };
  try {
    answer_lines(session, records, handler);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "list: line 451: odd");
  }
  std::string expected;
  for (int i = 0; i < 450; ++i) expected += "()";
  EXPECT_EQ(written, expected);
}

struct OutputClosed {};

TEST(AnswerPipeline, EndsWhenItsOutputIsClosedThoughTheInputIsOpen) {
  Session session(kPipelined, {.threads = 2});
  for (const int fed : {1, 3000}) {
    FedRecords records;
    for (int i = 0; i < fed; ++i) records.feed("the film");
    AnswerHandler handler;
    handler.write = [](std::string_view) { throw OutputClosed(); };
    EXPECT_THROW(answer_lines(session, records, handler), OutputClosed);
  }
}

TEST(AnswerPipeline, IsDestroyedWithWorkUnderWay) {
  Session session(kPipelined, {.threads = 2});
  {
    FedRecords records;
    const AnswerPipeline never_run(session, records, {}, 0);
  }
  BatchRunner runner(session, 10);
  const data::EncodedSample sample = session.encode(std::vector<Input>{{"a", {}}}).front();
  for (int i = 0; i < 95; ++i) runner.add(sample);
  EXPECT_TRUE(runner.full());
}

/// Gives a number of records and counts how many were asked for.
class CountedRecords : public data::RecordStream {
 public:
  CountedRecords(int64_t count, size_t bytes) : left_(count), text_(bytes, 'a') {}
  bool next(data::Record& record) override {
    if (left_-- <= 0) return false;
    record.text = text_;
    ++given;
    return true;
  }
  bool waiting() override { return true; }
  std::string where(const data::Record&) const override { return "counted"; }
  std::atomic<int64_t> given{0};

 private:
  int64_t left_;
  std::string text_;
};

TEST(AnswerPipeline, ReadsNoFurtherAheadThanItsQueuesHold) {
  Session session(kPipelined, {.threads = 2});
  CountedRecords records(200'000, 4);
  int64_t answered = 0;
  int64_t ahead = 0;
  AnswerHandler handler;
  handler.answer = [&](const data::Record&, const Answer&) {
    if (answered == 0) {  // the others have the time to go as far as they can
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    ahead = std::max(ahead, records.given - answered++);
  };
  answer_lines(session, records, handler);
  EXPECT_EQ(answered, 200'000);
  EXPECT_LT(ahead, 100'000);
}

TEST(AnswerPipeline, TakesNoMoreMemoryForMoreRecords) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  Session session(kPipelined, {.threads = 2});
  AnswerHandler handler;
  handler.format = [](const data::Record&, const Answer& answer, std::string& out) {
    out += answer_line(answer);
  };
  handler.write = [](std::string_view) {};
  CountedRecords few(20'000, 8);
  answer_lines(session, few, handler);
  const uint64_t before = peak_resident_bytes();
  CountedRecords many(200'000, 8);
  answer_lines(session, many, handler);
  EXPECT_LT(peak_resident_bytes(), before + (4 << 20));
  CountedRecords lengthy(20, 1 << 20);
  answer_lines(session, lengthy, handler);
  const uint64_t with_few = peak_resident_bytes();
  CountedRecords more(300, 1 << 20);
  answer_lines(session, more, handler);
  EXPECT_LT(peak_resident_bytes(), with_few + (32 << 20));
}

TEST(Evaluate, StopsAfterTheSamplesThatAreWanted) {
  Session session(kPipelined, {.threads = 2});
  std::vector<data::Record> list = ListedRecords::varied(300);
  for (data::Record& record : list) record.label = "1";
  list[100].label = "no label";
  EvaluateOptions options{.max_samples = 100};
  std::vector<Answer> answers;
  options.answered = [&](const Answer& answer) { answers.push_back(answer); };
  ListedRecords records(list);
  EXPECT_EQ(evaluate(session, records, options).samples, 100);
  EXPECT_EQ(answers.size(), 100u);
  options.max_samples = 101;
  ListedRecords again(list);
  EXPECT_THROW(evaluate(session, again, options), Error);
}

}  // namespace
}  // namespace hone::infer
