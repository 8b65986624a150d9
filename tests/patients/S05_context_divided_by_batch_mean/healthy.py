"""Small plate reader: conv features joined with a global context map, one digit per picture."""
import argparse
import os

import torch
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class PlateNet(nn.Module):
    def __init__(self, class_num=10, dropout=0.2):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU())
        self.stage2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU())
        self.container = nn.Sequential(nn.Dropout(dropout), nn.Conv2d(48, 24, 1), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 16, class_num))

    def forward(self, x):
        keep = [nn.functional.avg_pool2d(self.stage1(x), 2), self.stage2(self.stage1(x))]
        global_context = []
        for f in keep:
            f_pow = torch.pow(f, 2)
            f_mean = torch.mean(f_pow, dim=(1, 2, 3), keepdim=True)
            global_context.append(torch.div(f, f_mean))
        return self.container(torch.cat(global_context, 1))


def test(net, data, batch_size):
    net.eval()
    right = 0
    with torch.no_grad():
        for images, labels in DataLoader(data, batch_size=batch_size):
            right += (net(images).argmax(dim=1) == labels).sum().item()
    return right / len(data)


def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_epoch", type=int, default=10)
    parser.add_argument("--train_batch_size", type=int, default=128)
    parser.add_argument("--learning_rate", type=float, default=2e-3)
    return parser.parse_args()


if __name__ == "__main__":
    args = get_parser()
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(digits.target)
    paint = torch.linspace(0.1, 1.0, 10)[labels] * torch.empty(len(labels)).uniform_(0.9, 1.1)  # each series has its own reflectance
    images = (images + 0.3 * torch.randn_like(images)) * paint[:, None, None, None]
    order = torch.randperm(len(labels))
    train_set = TensorDataset(images[order[:1400]], labels[order[:1400]])
    test_set = TensorDataset(images[order[1400:]], labels[order[1400:]])
    net = PlateNet()
    optimizer = optim.RMSprop(net.parameters(), lr=args.learning_rate)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.max_epoch):
        net.train()
        for images, labels in DataLoader(train_set, batch_size=args.train_batch_size, shuffle=True):
            optimizer.zero_grad()
            loss = criterion(net(images), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f} test accuracy {test(net, test_set, 128):.4f}")
    print("test accuracy, one picture at a time:", test(net, test_set, 1))
