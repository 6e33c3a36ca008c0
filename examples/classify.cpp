// classify MODEL TEXT...: the label of each text.
#include <hone/hone.h>
#include <cstdio>

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: classify MODEL TEXT...\n");
    return 2;
  }
  try {
    hone::Model model = hone::Model::load(words[1]);
    const std::vector<hone::Text> texts(words + 2, words + count);
    const std::vector<hone::Prediction> predictions = model.predict(texts);
    for (size_t i = 0; i < texts.size(); ++i) {
      std::printf("%-12s %.3f  %s\n", predictions[i].label.c_str(), predictions[i].score,
                  texts[i].text.c_str());
    }
    return 0;
  } catch (const hone::Error& error) {
    std::fprintf(stderr, "classify: %s\n", error.what());
    return 1;
  }
}
