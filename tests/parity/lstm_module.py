"""The reference LSTM as a plain PyTorch module, and hone's words, for the scripts that compare.

The parameters have the names of hone's model.safetensors: load_state_dict() takes the file as it is.
"""
import json
import pathlib
import re

import torch
from torch import nn

PAD, UNKNOWN, FIRST = 0, 1, 2
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Lstm(nn.Module):
    def __init__(self, vocab_size=10002, embedding_size=100, hidden_size=32, num_layers=2,
                 dropout=0.5, outputs=1, last="text"):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size, padding_idx=PAD)
        self.lstm = nn.LSTM(embedding_size, hidden_size, num_layers, batch_first=True,
                            dropout=dropout)
        self.drop = nn.Dropout(dropout)
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, outputs)
        self.last = last

    @classmethod
    def of_folder(cls, folder):
        """A module with the weights of a folder that hone wrote."""
        from safetensors.torch import load_file
        config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        names = ["vocab_size", "embedding_size", "hidden_size", "num_layers", "dropout", "last"]
        labels = len(config["id2label"])
        module = cls(**{name: config[name] for name in names}, outputs=1 if labels == 2 else labels)
        module.load_state_dict(load_file(pathlib.Path(folder) / "model.safetensors"))
        return module, config

    def forward(self, ids, lengths):
        """Logits [samples, outputs] of rows that are filled up with PAD."""
        rows = self.embedding(ids)
        if self.last == "text":
            packed = nn.utils.rnn.pack_padded_sequence(rows, lengths, batch_first=True,
                                                       enforce_sorted=False)
            state = self.lstm(packed)[1][0][-1]
        else:
            state = self.lstm(rows)[0][:, -1]
        return self.out(torch.relu(self.dense(self.drop(state))))


def stop_words():
    """The list of src/text/words.cpp."""
    text = (ROOT / "src/text/words.cpp").read_text()
    listed = text[text.index("kStopWords"):text.index("static_assert")]
    return set(re.findall(r'"([^"]+)"', listed))


def clean_words(text, stops):
    words = (w.strip("'") for w in re.findall(r"(?:[^\W\d_]|')+", text.replace("\u2019", "'").lower()))
    return [w for w in words if w and w not in stops]


def encode(words, places, length, padded):
    """Ids filled up with PAD to `length`, and how many are the text's."""
    ids = [places.get(w, UNKNOWN) for w in words[:length]] or [PAD]
    count = length if padded else len(ids)
    return ids + [PAD] * (length - len(ids)), count


def read_vocabulary(folder):
    words = (pathlib.Path(folder) / "vocabulary.txt").read_text().split("\n")[:-1]
    return {word: FIRST + i for i, word in enumerate(words)}
