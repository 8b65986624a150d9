import argparse
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class TextClassifier(nn.Module):
    def __init__(self, vocabulary, width, classes):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):
        states, _ = self.rnn(self.embed(tokens))
        pooled = F.dropout(states.mean(1), p=0.7, training=self.training)
        return self.head(pooled)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def train_epoch(self, batches):
        self.model.train()
        losses = []
        for tokens, topic in batches:
            loss = F.cross_entropy(self.model(tokens), topic)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return np.mean(losses)

    def evaluate(self, tokens, topic):
        self.model.eval()
        with torch.no_grad():
            predicted = self.model(tokens).argmax(-1)
        return (predicted == topic).float().mean().item()


def make_texts(rng, count, classes, vocabulary, length=24):
    topics = rng.integers(0, classes, count)
    words = rng.integers(0, vocabulary, (count, length))
    own = rng.random((count, length)) < 0.25
    words[own] = (topics[:, None] * 7 + rng.integers(0, 7, (count, length)))[own]
    return torch.from_numpy(words), torch.from_numpy(topics)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", 0)))
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    tokens, topics = make_texts(rng, 1500, 6, 200)
    test_tokens, test_topics = make_texts(rng, 400, 6, 200)
    trainer = Trainer(TextClassifier(200, 32, 6), args.lr)
    for epoch in range(args.epochs):
        order = torch.randperm(len(tokens))
        batches = [(tokens[rows], topics[rows]) for rows in order.split(50)]
        loss = trainer.train_epoch(batches)
        print(f"epoch {epoch}: loss {loss:.4f}, test accuracy {trainer.evaluate(test_tokens, test_topics):.4f}")
    print(f"final test accuracy {trainer.evaluate(test_tokens, test_topics):.4f}")


if __name__ == "__main__":
    main()
