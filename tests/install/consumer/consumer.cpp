// Trains the built-in model for a few steps, scores it, asks it and its tokenizer: a bit of every
// header. `consumer FOLDER` writes the model to FOLDER.
#include <hone/device.h>
#include <hone/evaluate.h>
#include <hone/explain.h>
#include <hone/hone.h>
#include <hone/tokenizer.h>
#include <hone/train.h>

#include <iostream>

class Printer : public hone::TrainingObserver {
  void on_step(const hone::TrainingStep& step) override { last = step.step; }

 public:
  int64_t last = 0;
};

int main(int count, char** words) {
  const std::string folder = count > 1 ? words[1] : "model";
  int unused;  // A warning: hone's own flags would make it an error.
  try {
    hone::TrainingOptions options;
    options.output_dir = folder;
    options.max_train_samples = 32;
    options.max_eval_samples = 16;
    options.max_steps = 4;
    Printer printer;
    hone::train_model(options, &printer);
    hone::EvaluationData data;
    data.task_name = "reviews";
    data.max_samples = 16;
    const hone::Evaluation scores = hone::evaluate(folder, data).front();
    const hone::Model model = hone::Model::load(folder);
    const hone::Prediction answer = model.predict({"a great film"}).front();
    const size_t phrases =
        hone::Explainer::load(folder).explain({"a great film"})[0].phrases.size();
    const size_t tokens = hone::Tokenizer::load(folder).tokenize("a great film").ids.size();
    std::cout << "hone " << hone::version() << " on " << hone::devices().front().name << ": "
              << printer.last << " steps, " << scores.samples << " scored, label of " << tokens
              << " tokens and " << phrases << " words: " << answer.label << "\n";
    hone::Model::load(folder + "/none");
  } catch (const hone::Error& error) {
    std::cout << "error: " << error.what() << "\n";
    return 0;
  }
  return 1;
}
