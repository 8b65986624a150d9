import copy
import os

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.state = patience, float("inf"), 0, None

    def update(self, value, model):
        if value < self.best - 1e-4:
            self.best, self.bad, self.state = value, 0, copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def main():
    seed = int(os.environ.get("SEED", 0))
    torch.manual_seed(seed)
    X, y = load_breast_cancer(return_X_y=True)
    Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    sc = StandardScaler().fit(Xa)
    to = lambda X, y: TensorDataset(torch.tensor(sc.transform(X)).float(), torch.tensor(y).float())
    train, val = DataLoader(to(Xa, ya), 32, shuffle=True), DataLoader(to(Xb, yb), 256)
    model = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 1))
    criterion = nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    stopper = EarlyStopping(patience=6)
    for epoch in range(60):
        model.train()
        train_loss = 0.0
        for x, t in train:
            opt.zero_grad()
            loss = criterion(model(x).squeeze(-1), t)
            loss.backward()
            opt.step()
            train_loss += loss.item() * len(x) / len(train.dataset)
        model.eval()
        with torch.no_grad():
            val_loss = sum(criterion(model(x).squeeze(-1), t).item() * len(x) for x, t in val) / len(val.dataset)
        print(f"epoch {epoch} loss {train_loss:.4f} val_loss {val_loss:.4f}")
        if stopper.update(val_loss, model):
            print("early stop")
            break
    model.load_state_dict(stopper.state)
    model.eval()
    with torch.no_grad():
        acc = sum(((model(x).squeeze(-1) > 0) == (t > 0.5)).sum().item() for x, t in val) / len(val.dataset)
    print("val accuracy", acc)


if __name__ == "__main__":
    main()
