#pragma once

#include "autograd/tape.h"

/// What a self-explaining head makes of phrases.
namespace hone::ops {

/// The values that say where the phrases of packed texts lie; see kernels::PhrasePlaces.
struct PhraseInputs {
  Value offsets;  ///< int32, where each text's tokens begin; one more than texts
  Value phrases;  ///< int32, where each text's places for phrases begin
  Value spans;    ///< int32 [phrases, 2], the token rows of each
};

/// Gives max(0, mean of x over a phrase) - its text's row of u, [phrases, width], of x [tokens,
/// width] and u [texts, width] in one dtype, fp32.
Value phrase_rows(Tape& tape, Value x, Value u, const PhraseInputs& places);

/// Gives the mean of x [phrases, width] over each text's phrases, [texts, width]; zeros
/// for a text without phrases.
Value phrase_means(Tape& tape, Value x, Axis texts, const PhraseInputs& places);

/// Gives a + factor * b, of one dtype (fp32) and shape.
Value add_scaled(Tape& tape, Value a, Value b, float factor);

}  // namespace hone::ops
