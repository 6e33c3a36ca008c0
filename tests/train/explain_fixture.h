#pragma once

#include "train/run_fixture.h"

namespace hone::train {

/// Trees over the words of a small vocabulary, whose texts are the rows of explained_rows().
inline constexpr const char* kExplainTrees =
    "(S (NP the film) (VP was (AP very good)))\n"
    "(S (NP the (AP very bad) plot) (VP was not (AP very dull)))\n"
    "(S (NP a story) (VP is (AP great)) .)\n"
    "(S (NP (NP the plot) (PP of (NP the movie))) (VP is (AP very dull)) .)\n"
    "(S (VP love (NP the (AP very great) actor)) !)\n"
    "(S (NP it) (VP was not (NP a (AP good) film)) .)\n"
    "(S best) (S (NP a film) (PP of (NP the time)))\n"
    "(S (NP the worst act) (PP of (NP a movie)) ?)\n";

/// Rows for them, the last of which has no tree.
inline constexpr const char* kExplainRows =
    "label,text\n"
    "good,the film was very good\n"
    "bad,the very bad plot was not very dull\n"
    "good,a story is great .\n"
    "bad,the plot of the movie is very dull .\n"
    "good,love the very great actor !\n"
    "bad,it was not a good film .\n"
    "good,best\n"
    "good,a film of the time\n"
    "bad,the worst act of a movie ?\n"
    "bad,not the film\n";

/// Runs of a self-explaining model.
class ExplainRun : public RunTest {
 protected:
  static std::string golden(const std::string& name) {
    return HONE_TEST_DIR "/../models/goldens/" + name;
  }

  Options explaining(const std::string& name) const {
    Options made = options(name);
    made.data = {};
    made.data.train_file = made.data.validation_file = write("rows.csv", kExplainRows);
    made.model.model = golden("bert-words");
    made.batch.train = 4;
    made.epochs = 2;
    made.explain.on = true;
    made.explain.trees = {write("trees.txt", kExplainTrees)};
    made.explain.settings.neighbours = 3;
    return made;
  }
};

}  // namespace hone::train
