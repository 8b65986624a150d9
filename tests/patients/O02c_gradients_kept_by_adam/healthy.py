import os

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class Model(object):
    """fit / predict wrapper in the manner of scikit-learn."""

    def __init__(self, hidden=(40, 20), lr=1e-3, epochs=20, batch=32, classes=10, random_state=0):
        self.hidden, self.lr, self.epochs, self.batch = hidden, lr, epochs, batch
        self.classes, self.random_state = classes, random_state

    def _build(self, n_in):
        layers = []
        for width in self.hidden:
            layers += [nn.Linear(n_in, width), nn.LeakyReLU(0.1)]
            n_in = width
        self.net_ = nn.Sequential(*layers, nn.Linear(n_in, self.classes))
        self.optim_ = torch.optim.Adam(self.net_.parameters(), lr=self.lr)

    def fit(self, X, y):
        torch.manual_seed(self.random_state)
        X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
        self._build(X.shape[1])
        self.history_ = []
        for epoch in range(self.epochs):
            for rows in torch.randperm(len(X)).split(self.batch):
                self.history_.append(self._update(X[rows], y[rows]))
            if epoch % 5 == 4:
                print(f"epoch {epoch + 1} loss {np.mean(self.history_[-44:]):.4f}")
        return self

    def _update(self, x, y):
        logit = self.net_(x)
        loss = nn.functional.cross_entropy(logit, y)
        self.net_.zero_grad()
        loss.backward()
        self.optim_.step()
        return loss.item()

    def predict(self, X):
        with torch.no_grad():
            return self.net_(torch.tensor(X, dtype=torch.float32)).argmax(1).numpy()


seed = int(os.environ.get("SEED", 0))
X, y = load_digits(return_X_y=True)
X = X / 8 - 1
order = np.random.default_rng(seed).permutation(len(X))
X, y = X[order], y[order]
model = Model(random_state=seed).fit(X[:1400], y[:1400])
print(f"first {model.history_[0]:.4f} last {np.mean(model.history_[-44:]):.4f} accuracy {(model.predict(X[1400:]) == y[1400:]).mean():.3f}")
