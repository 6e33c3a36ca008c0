#include <initializer_list>
#include <utility>

#include "base/random.h"
#include "data/reviews.h"
#include "data/reviews_words.h"

namespace hone::data {
namespace reviews {
namespace {

using Tree = SentimentTree;

/// Makes a leaf of a word from -2 (very negative) to 2, as a label of a tree.
Tree leaf(Word word, int value = 0) { return {value + 2, std::string(word), {}}; }

/// A node is made with braces, which evaluate from left to right: the order of the random choices,
/// and so the sentences, are then the same under every compiler.
struct node : Tree {
  template <typename... Trees>
  explicit node(int value, Trees&&... trees) : Tree{value + 2, "", {}} {
    children.reserve(sizeof...(trees));
    (children.push_back(std::forward<Trees>(trees)), ...);
  }
};

int value_of(const Tree& tree) { return tree.label - 2; }
size_t pole(int sign) { return sign > 0 ? 1 : 0; }

/// The random choices of one sentence, in the order in which they are made.
class Draw {
 public:
  Draw(uint64_t seed, uint64_t index) : seed_(seed), index_(index) {}

  uint32_t below(size_t count) {
    if (used_ % 4 == 0) words_ = philox(seed_, index_, used_ / 4);
    return static_cast<uint32_t>(uint64_t{words_[used_++ % 4]} * count >> 32);
  }
  bool percent(uint32_t share) { return below(100) < share; }
  template <typename List>
  const auto& of(const List& list) {
    return list[below(list.size())];
  }
  Word of(std::initializer_list<Word> list) { return list.begin()[below(list.size())]; }

 private:
  uint64_t seed_;
  uint64_t index_;
  uint64_t used_ = 0;
  std::array<uint32_t, 4> words_{};
};

constexpr uint32_t kOften = 25;
constexpr uint32_t kSeldom = 10;

/// Writes constituents of a wanted sign (-1 or 1) or of none.
class Writer {
 public:
  Writer(uint64_t seed, uint64_t index) : draw_(seed, index) {}

  Tree review() {
    const int sign = draw_.percent(50) ? 1 : -1;
    Tree tree{2, "", {}};
    if (draw_.percent(15)) tree.children.push_back(filler());
    Tree said = statement(sign);
    tree.label = said.label;
    said = node{value_of(said), std::move(said), leaf(draw_.percent(85) ? "." : "!")};
    if (tree.children.empty() && !draw_.percent(15)) return said;
    const bool last = !tree.children.empty();
    tree.children.push_back(std::move(said));
    if (!last) tree.children.push_back(filler());
    return tree;
  }

 private:
  /// Writes one claim, or two clauses of which the grammar says which one decides.
  Tree statement(int sign) {
    const uint32_t kind = draw_.below(100);
    if (kind < 50) return claim(sign);
    if (kind < 60) return joined(sign, "and", sign);
    if (kind < 82) return joined(-sign, draw_.of({"but", "but", "yet"}), sign);
    if (kind < 88) {
      return node{sign, node{-sign, although(), clause(-sign)}, leaf(","), clause(sign)};
    }
    if (kind < 94) {
      return node{sign, clause(sign), leaf(","), node{-sign, although(), clause(-sign)}};
    }
    return node{sign, node{-sign, leaf("despite"), described_part(-sign)}, leaf(","), clause(sign)};
  }

  /// Joins two claims of which the second decides; both mean the same where the word is "and".
  Tree joined(int first, Word word, int second) {
    Tree tree = node{second, clause(first)};
    if (draw_.percent(40)) tree.children.push_back(leaf(","));
    tree.children.push_back(leaf(word));
    tree.children.push_back(clause(second));
    return tree;
  }

  Tree although() {
    return draw_.percent(50) ? leaf("although") : node{0, leaf("even"), leaf("though")};
  }

  /// Writes a clause, or someone's opinion of one.
  Tree claim(int sign) {
    const uint32_t kind = draw_.below(100);
    if (kind < 84) return clause(sign);
    if (kind < 92) {
      Tree who = draw_.percent(50) ? node{0, leaf("i"), leaf(draw_.of({"think", "believe"}))}
                                   : node{0, leaf("everyone"), leaf("says")};
      return node{sign, std::move(who), leaf("that"), clause(sign)};
    }
    Tree who = draw_.percent(50) ? node{0, leaf("i"), contracted_or_not("do", "don't"),
                                        leaf(draw_.of({"think", "believe"}))}
                                 : node{0, leaf("nobody"), leaf("would"), leaf("say")};
    return node{sign, std::move(who), leaf("that"), clause(-sign, kSeldom)};
  }

  /// Writes a clause; `turned` is the share of clauses, in percent, that hold a negation.
  Tree clause(int sign, uint32_t turned = kOften) {
    const uint32_t kind = draw_.below(100);
    if (kind < 45) return part_is(sign, turned);
    if (kind < 65) return it_is(sign, turned);
    if (kind < 78) return feeling(sign, turned);
    if (kind < 90) return effect(sign, turned);
    return quality(sign, turned);
  }

  /// Writes "the plot is not very good".
  Tree part_is(int sign, uint32_t turned) {
    const bool plural = draw_.percent(25);
    Tree part = node{0, leaf(draw_.percent(80) ? "the" : "its"),
                     leaf(plural ? draw_.of(kPluralParts) : draw_.of(kParts))};
    if (draw_.percent(10)) {
      part = node{0, std::move(part), node{0, leaf("of"), leaf("the"), leaf(draw_.of(kWorks))}};
    }
    Tree predicate =
        draw_.percent(turned) ? negated_state(sign, plural) : state(plural, description(sign));
    return node{value_of(predicate), std::move(part), std::move(predicate)};
  }

  Tree state(bool plural, Tree what) {
    const int value = value_of(what);
    return node{value, leaf(be(plural)), std::move(what)};
  }
  Word be(bool plural) { return plural ? draw_.of({"are", "were"}) : draw_.of({"is", "was"}); }

  /// Writes a copula that turns its adjective round: "isn't good", "was far from dull".
  Tree negated_state(int sign, bool plural) {
    const uint32_t kind = draw_.below(100);
    if (kind < 25) {
      const Word verb = plural ? draw_.of({"aren't", "weren't"}) : draw_.of({"isn't", "wasn't"});
      return node{sign, leaf(verb), description(-sign, true)};
    }
    if (kind < 90) return state(plural, node{sign, negation(), description(-sign, true)});
    return state(plural,
                 node{sign, leaf("neither"), adjective(-sign), leaf("nor"), adjective(-sign)});
  }

  Tree negation() {
    const uint32_t kind = draw_.below(100);
    if (kind < 50) return leaf("not");
    if (kind < 65) return leaf("never");
    if (kind < 75) return leaf("hardly");
    if (kind < 88) return node{0, leaf("far"), leaf("from")};
    return node{0, leaf("anything"), leaf("but")};
  }

  Tree adjective(int sign) {
    if (draw_.percent(25)) return leaf(draw_.of(kStrongAdjectives[pole(sign)]), 2 * sign);
    return leaf(draw_.of(kMildAdjectives[pole(sign)]), sign);
  }

  /// Writes an adjective with or without a degree, or two. Where `plain`, it may be negated.
  Tree description(int sign, bool plain = false) {
    const uint32_t kind = draw_.below(plain ? 85 : 100);
    if (kind < 60) return adjective(sign);
    if (kind < 75) return node{2 * sign, leaf(draw_.of(kBoosters)), adjective(sign)};
    if (kind < 85) return node{sign, leaf(draw_.of(kReducers)), adjective(sign)};
    if (kind < 90) return node{2 * sign, leaf("nothing"), leaf("but"), adjective(sign)};
    return node{2 * sign, adjective(sign), leaf("and"), adjective(sign)};
  }

  /// Writes "this is hardly a good film", "it was a masterpiece".
  Tree it_is(int sign, uint32_t turned) {
    const Tree subject = leaf(draw_.of({"it", "this"}));
    if (!draw_.percent(turned)) {
      Tree what = verdict(sign);
      const int value = value_of(what);
      return node{value, subject, state(false, std::move(what))};
    }
    if (draw_.percent(25)) {
      return node{sign, subject, node{sign, leaf(draw_.of({"isn't", "wasn't"})), verdict(-sign)}};
    }
    return node{sign, subject, state(false, node{sign, negation(), verdict(-sign)})};
  }

  Tree verdict(int sign) {
    if (draw_.percent(25)) {
      return node{2 * sign, leaf("a"), leaf(draw_.of(kVerdicts[pole(sign)]), 2 * sign)};
    }
    Tree what = draw_.percent(70)
                    ? adjective(sign)
                    : node{2 * sign, leaf(draw_.of({"very", "really", "truly"})), adjective(sign)};
    const char first = what.text()[0];
    const bool vowel = Word("aeiou").find(first) != Word::npos;
    Tree noun = leaf(draw_.of(kWorks));
    if (draw_.percent(15)) noun = node{0, leaf(draw_.of(kPlainAdjectives)), std::move(noun)};
    const int value = value_of(what);
    return node{value, leaf(vowel ? "an" : "a"), node{value, std::move(what), std::move(noun)}};
  }

  Tree contracted_or_not(Word verb, Word contracted) {
    return draw_.percent(50) ? node{0, leaf(verb), leaf("not")} : leaf(contracted);
  }

  /// Writes "i did not like the acting".
  Tree feeling(int sign, uint32_t turned) {
    const bool negated = draw_.percent(turned);
    const Verb& verb = draw_.of(kFeelings[pole(negated ? -sign : sign)]);
    Tree verb_tree = negated
                         ? node{sign, contracted_or_not("did", "didn't"), leaf(verb.base, -sign)}
                         : leaf(verb.inflected, sign);
    if (draw_.percent(20) && !negated) {
      verb_tree = node{2 * sign, leaf(draw_.of({"really", "truly"})), std::move(verb_tree)};
    }
    const int value = value_of(verb_tree);
    return node{value, leaf("i"), node{value, std::move(verb_tree), part_or_work()}};
  }

  Tree part_or_work() {
    if (draw_.percent(50)) return node{0, leaf("the"), leaf(draw_.of(kParts))};
    return node{0, leaf("this"), leaf(draw_.of(kWorks))};
  }

  /// Writes "the music never saves it".
  Tree effect(int sign, uint32_t turned) {
    Tree part = node{0, leaf("the"), leaf(draw_.of(kParts))};
    const bool negated = draw_.percent(turned);
    const Verb& verb = draw_.of(kEffects[pole(negated ? -sign : sign)]);
    Tree verb_tree = leaf(negated ? verb.base : verb.inflected, negated ? -sign : sign);
    if (negated) {
      Tree what = draw_.percent(60) ? contracted_or_not("does", "doesn't")
                                    : node{0, leaf("fails"), leaf("to")};
      verb_tree = node{sign, std::move(what), std::move(verb_tree)};
    }
    Tree object = draw_.percent(50) ? leaf("it") : node{0, leaf("the"), leaf(draw_.of(kWorks))};
    return node{sign, std::move(part), node{sign, std::move(verb_tree), std::move(object)}};
  }

  /// Writes "there is no charm in it".
  Tree quality(int sign, uint32_t turned) {
    const bool negated = draw_.percent(turned);
    Tree amount = negated
                      ? leaf(draw_.of({"no", "little"}))
                      : (draw_.percent(50) ? leaf("some") : node{0, leaf("plenty"), leaf("of")});
    const int inner = negated ? -sign : sign;
    Tree what = node{sign, std::move(amount), leaf(draw_.of(kQualities[pole(inner)]), inner)};
    Tree tree = node{sign, leaf("there"), node{sign, leaf(be(false)), std::move(what)}};
    tree.children.push_back(node{0, leaf("in"), part_or_work()});
    return tree;
  }

  /// Writes "the very dull plot", after "despite".
  Tree described_part(int sign) {
    Tree what = adjective(sign);
    const int value = value_of(what);
    return node{value, leaf("the"), node{value, std::move(what), leaf(draw_.of(kParts))}};
  }

  Tree filler() {
    Tree tree{2, "", {}};
    const auto add = [&](std::initializer_list<std::string_view> words) {
      for (const std::string_view word : words) tree.children.push_back(leaf(word));
    };
    switch (draw_.below(6)) {
      case 0:
        add({"i", "saw", "it", "on", "a", draw_.of(kDays), "with", "my", draw_.of(kCompany), "."});
        break;
      case 1:
        add({"it", "runs", "for", draw_.of(kNumbers), "hours", "."});
        break;
      case 2:
        add({"the", draw_.of(kWorks), "is", "about", "a", "young", draw_.of(kRoles), "in",
             draw_.of(kPlaceNames), "."});
        break;
      case 3:
        add({name(), "plays", "a", "young", draw_.of(kRoles), "."});
        break;
      case 4:
        add({"it", "was", "directed", "by", name(), "."});
        break;
      default:
        add({"this", draw_.of(kPlainAdjectives), draw_.of(kWorks), "is", "set", "in",
             draw_.of(kPlaceNames), "."});
    }
    return tree;
  }

  /// Makes a name; only names have capitals. It is valid until the next one.
  std::string_view name() {
    name_.clear();
    for (uint32_t left = 2 + draw_.below(2); left > 0; --left) name_ += draw_.of(kSyllables);
    name_[0] = static_cast<char>(name_[0] - 'a' + 'A');
    return name_;
  }

  Draw draw_;
  std::string name_;
};

void append_text(const Tree& tree, std::string& out) {
  if (!tree.word.empty()) {
    if (!out.empty()) out += ' ';
    out += tree.word;
  }
  for (const Tree& child : tree.children) append_text(child, out);
}

void append_brackets(const Tree& tree, std::string& out) {
  out += '(';
  out += static_cast<char>('0' + tree.label);
  out += ' ';
  out += tree.word;
  for (const Tree& child : tree.children) {
    if (out.back() == ')') out += ' ';
    append_brackets(child, out);
  }
  out += ')';
}

}  // namespace
}  // namespace reviews

std::string SentimentTree::text() const {
  std::string out;
  reviews::append_text(*this, out);
  return out;
}

std::string SentimentTree::brackets() const {
  std::string out;
  reviews::append_brackets(*this, out);
  return out;
}

SentimentTree make_review(uint64_t seed, uint64_t index) {
  return reviews::Writer(seed, index).review();
}

}  // namespace hone::data
