"""Tiny tokenizers for the golden model folders: WordPiece, byte-level BPE and Unigram."""
import json

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram
from transformers import BertTokenizerFast, PreTrainedTokenizerFast

WORDPIECES = """[PAD] [UNK] [CLS] [SEP] [MASK] . , ! ? ' - a i s t n e
the film movie is was not and it of to very good great bad dull fun best worst plot act actor
story cafe time never ever love hate un re ##s ##ed ##ing ##ly ##er ##t ##ful ##like ##able ##a ##e
##n ##i 0 1 ##0 ##1 日 本""".split()

MERGES = """Ġ t|Ġ a|h e|Ġt he|i n|Ġ g|o o|Ġg oo|Ġgoo d|Ġ b|Ġb a|Ġba d|Ġ f|i l|il m|Ġf ilm|Ġ s
in g|e r|Ġ m|o v|ov i|ovi e|Ġm ovie|n o|t h|th e""".replace("\n", "|").split("|")

PIECES = """▁ ▁the ▁a ▁film ▁movie ▁is ▁was ▁not ▁good ▁bad ▁great ▁story s ed ing ly e t a o i n r l
d h m c u w g f y p b k v . , ! ? ' - ▁un able""".split()

TEXTS = [
    {"text": "the film is great"},
    {"text": "The MOVIE was not good, it was dull!"},
    {"text": "café unlovely zzz 10?"},
    {"text": ""},
    {"text": "a good story", "text_pair": "never the worst plot"},
    {"text": "the plot of the film and the story of the actor and the movie is not very good " * 2},
]


def wordpiece(folder, max_length):
    """vocab.txt beside the tokenizer.json that transformers itself writes from it."""
    (folder / "vocab.txt").write_text("\n".join(WORDPIECES) + "\n", encoding="utf-8")
    made = BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True,
                             model_max_length=max_length)
    made.save_pretrained(folder)
    return made


def byte_symbols():
    """The 256 printable stand-ins of byte-level BPE, in GPT-2's order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return [chr(b) for b in printable] + [chr(256 + i) for i in range(len(others))]


def byte_bpe(folder, max_length):
    """Only vocab.json and merges.txt are kept, so that a loader has to build the rest itself."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *byte_symbols(),
              *(m.replace(" ", "") for m in MERGES), "<mask>"]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    assert len(vocab) == len(pieces)
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    merges = "\n".join(["#version: 0.2", *MERGES, ""])
    (folder / "merges.txt").write_text(merges, encoding="utf-8")
    config = {"tokenizer_class": "RobertaTokenizer", "model_max_length": max_length}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    from transformers import RobertaTokenizerFast
    return RobertaTokenizerFast(vocab=vocab, merges=[tuple(m.split()) for m in MERGES],
                                model_max_length=max_length)


def unigram(folder, max_length):
    """ALBERT's pipeline (NFKD, accents off, lower case, Metaspace) without a charsmap."""
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    scored = [(p, 0.0) for p in special] + [(p, -2.0 - 0.1 * i) for i, p in enumerate(PIECES)]
    made = Tokenizer(Unigram(scored, unk_id=1))
    made.normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
        normalizers.StripAccents(), normalizers.Lowercase(),
        normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    fast = PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=max_length,
                                   pad_token="<pad>", unk_token="<unk>", cls_token="[CLS]",
                                   sep_token="[SEP]", mask_token="[MASK]")
    fast.save_pretrained(folder)
    return fast


SIZES = {wordpiece: len(WORDPIECES), byte_bpe: 4 + 256 + len(MERGES) + 1,
         unigram: 5 + len(PIECES)}
