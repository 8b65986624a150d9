import os

import torch
from sklearn.datasets import make_circles
from torch import nn

seed = int(os.environ.get("SEED", 0))
torch.manual_seed(seed)


class Circles(nn.Module):
    def __init__(self, units=24):
        super().__init__()
        self.hidden = nn.Linear(2, units)
        self.relu = nn.ReLU()
        self.output = nn.Linear(units, 2)
        nn.init.xavier_uniform_(self.hidden.weight)
        nn.init.constant_(self.hidden.bias, 0.1)

    def forward(self, points):
        return self.output(self.relu(self.hidden(points)))


def as_tensors(n, random_state):
    points, ring = make_circles(n, noise=0.08, factor=0.5, random_state=random_state)
    return torch.tensor(points, dtype=torch.float32), torch.tensor(ring)


points, ring = as_tensors(500, seed)
model = Circles()
log_likelihood = nn.NLLLoss()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.3, max_iter=5)

trace = []


def closure():
    optimizer.zero_grad()
    loss = log_likelihood(model(points).log_softmax(1), ring)
    loss.backward()
    trace.append(loss.item())
    return loss


for outer in range(25):
    optimizer.step(closure)
    if outer % 6 == 0:
        print(f"outer {outer:2d} evaluations {len(trace):3d} loss {trace[-1]:.4f}")

new_points, new_ring = as_tensors(200, seed + 100)
with torch.no_grad():
    accuracy = (model(new_points).argmax(1) == new_ring).float().mean().item()
print(f"accuracy {accuracy:.3f}")
