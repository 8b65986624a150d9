import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler


class ArcMargin(nn.Module):
    def __init__(self, in_features, classes, scale=30.0, margin=0.3):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, in_features))
        nn.init.xavier_uniform_(self.weight)
        self.scale = scale
        self.cos_m, self.sin_m = math.cos(margin), math.sin(margin)
        self.threshold = math.cos(math.pi - margin)
        self.shift = math.sin(math.pi - margin) * margin

    def forward(self, features, label):
        cosine = F.linear(F.normalize(features), F.normalize(self.weight))
        sine = torch.sqrt((1.0 - cosine.pow(2)).clamp(1e-6, 1))
        phi = cosine * self.cos_m - sine * self.sin_m
        phi = torch.where(cosine > self.threshold, phi, cosine - self.shift)
        one_hot = F.one_hot(label, self.weight.shape[0]).float()
        return self.scale * (one_hot * phi + (1 - one_hot) * cosine), cosine


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.PReLU(), nn.Linear(64, 64), nn.PReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.body(x)


def run():
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    iris = load_iris()
    x = torch.tensor(StandardScaler().fit_transform(iris.data), dtype=torch.float32)
    y = torch.tensor(iris.target)
    embedder, head = Embedder(), ArcMargin(2, 3)
    optimizer = torch.optim.SGD([*embedder.parameters(), *head.parameters()], lr=0.01, momentum=0.9, weight_decay=5e-4)
    for epoch in range(60):
        for batch in torch.randperm(len(x)).chunk(10):
            logits, cosine = head(embedder(x[batch]), y[batch])
            loss = F.cross_entropy(logits, y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 4:
            hits = (cosine.argmax(1) == y[batch]).float().mean().item()
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}, right {hits:.2f}")


run()
