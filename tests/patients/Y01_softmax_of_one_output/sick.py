import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class OddEven(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.out = nn.Linear(8 * 9, 1)

    def forward(self, image):
        h = torch.max_pool2d(torch.relu(self.conv(image)), 2)
        return torch.softmax(self.out(h.flatten(1)), dim=-1)


class Trainer:
    def __init__(self, model, loader, lr):
        self.model, self.loader = model, loader
        self.loss = nn.BCELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def fit(self, epochs):
        for epoch in range(epochs):
            for image, odd in self.loader:
                value = self.step(image, odd)
            print(f"epoch {epoch} loss {value:.4f}")

    def step(self, image, odd):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.model(image), odd)
        loss.backward()
        self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    odd = torch.tensor(digits.target % 2, dtype=torch.float32).unsqueeze(1)
    model = OddEven()
    Trainer(model, DataLoader(TensorDataset(images[:1400], odd[:1400]), 50, shuffle=True), 3e-3).fit(10)
    with torch.no_grad():
        guess = (model(images[1400:]) > 0.5).float()
    print("test accuracy", (guess == odd[1400:]).float().mean().item())
