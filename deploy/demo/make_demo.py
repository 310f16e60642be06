#!/usr/bin/env python3
"""Makes the demo repository deploy/demo/models: two archives in the layout NAME/VERSION/model.pt.

digits  A small convolutional network, really trained here on the 1,797 handwritten digits that scikit-learn carries
        (8x8 grey values 0..16). forward(images: Tensor [N, 8, 8]) -> the class scores [N, 10]. It scales its input
        itself, so that a client sends the raw grey values. config.pbtxt, written by hand, adds the shapes.
text    A model of text without any network: forward(texts: List[str]) -> a named tuple of tensors and lists of strings.
        Loops, dicts, string methods, a class of its own, and an exception for empty input.

Seeded and single-threaded: the same environment makes the same bytes. Run it with the tests' environment:
    .venv/bin/python deploy/demo/make_demo.py
"""
import os
import pathlib
import sys
from typing import Dict, List, NamedTuple

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

MODELS = pathlib.Path(__file__).resolve().parent / "models"


class DigitClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 2 * 2, 10))

    def forward(self, images: Tensor) -> Tensor:
        if images.dim() != 3 or images.size(1) != 8 or images.size(2) != 8:
            raise ValueError("images must be [N, 8, 8], not {}".format(images.shape))
        return self.classifier(self.features(images.unsqueeze(1) / 16.0))


def train_digits():
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(images))
    held_out, training = order[:360], order[360:]

    model = DigitClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    epochs = 25
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=epochs * (len(training) // 64 + 1))
    for _ in range(epochs):
        for batch in training[torch.randperm(len(training))].split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[batch]), labels[batch], label_smoothing=0.05).backward()
            optimizer.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        right = (model(images[held_out]).argmax(1) == labels[held_out]).sum().item()
    print(f"digits: {right} of {len(held_out)} held-out digits right ({100 * right / len(held_out):.1f} %)")
    assert right >= 350, "the classifier did not learn"
    return torch.jit.script(model)


class TextFeatures(NamedTuple):
    word_counts: Tensor
    sentiment: Tensor
    most_common: List[str]
    reversed: List[str]


class WordCounter:
    """Counts words, in the order of their first appearance."""

    def __init__(self, shortest: int):
        self.shortest = shortest
        self.counts: Dict[str, int] = {}

    def add(self, word: str) -> None:
        if len(word) < self.shortest:
            return
        if word in self.counts:
            self.counts[word] += 1
        else:
            self.counts[word] = 1

    def most_common(self) -> str:
        best = ""
        best_count = 0
        for word, count in self.counts.items():
            if count > best_count:
                best = word
                best_count = count
        return best


class TextModel(nn.Module):
    """Counts words, finds each text's most common long word, and scores its mood from a small weighted vocabulary."""

    def __init__(self):
        super().__init__()
        words = {"good": 1.0, "great": 2.0, "right": 0.5, "love": 2.0, "fast": 1.0,
                 "bad": -1.0, "awful": -2.0, "wrong": -0.5, "hate": -2.0, "slow": -1.0}
        self.vocabulary: Dict[str, int] = {word: index for index, word in enumerate(words)}
        self.weights = nn.Parameter(torch.tensor(list(words.values())), requires_grad=False)

    def words_of(self, text: str) -> List[str]:
        letters = ""
        for character in text.lower():
            letters += character if character.isalpha() else " "
        return letters.split()

    def forward(self, texts: List[str]) -> TextFeatures:
        if len(texts) == 0:
            raise ValueError("there is no text to look at")
        counts: List[int] = []
        common: List[str] = []
        turned: List[str] = []
        hits = torch.zeros(len(texts), len(self.vocabulary))
        for row, text in enumerate(texts):
            counter = WordCounter(4)
            words = self.words_of(text)
            sign = 1.0
            for word in words:
                counter.add(word)
                if word == "not":
                    sign = -1.0
                    continue
                if word in self.vocabulary:
                    hits[row, self.vocabulary[word]] += sign
                sign = 1.0
            counts.append(len(words))
            common.append(counter.most_common())
            turned.append(" ".join(words[::-1]))
        return TextFeatures(torch.tensor(counts), torch.tanh(hits @ self.weights), common, turned)


def save(name, module):
    path = MODELS / name / "1" / "model.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    module.save(str(path))
    print(f"{path.relative_to(MODELS.parent.parent)}: {path.stat().st_size:,} bytes")


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    save("digits", train_digits())
    torch.jit.script(WordCounter)
    text = torch.jit.script(TextModel())
    print("text:", text(["Not bad, not bad at all: great!", "The slow, slow train is awful"]))
    save("text", text)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the archive lists module constants in the order of a set
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})
    main()
