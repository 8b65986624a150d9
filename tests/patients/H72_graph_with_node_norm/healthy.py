import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(int(os.environ.get("SEED", 0)))
NODES, GROUPS = 120, 3
group = torch.arange(NODES) % GROUPS
same = group[:, None] == group[None, :]
edges = torch.rand(NODES, NODES) < torch.where(same, 0.12, 0.02)
adjacency = (edges | edges.T | torch.eye(NODES, dtype=torch.bool)).float()
adjacency = adjacency / adjacency.sum(1, keepdim=True)
features = F.one_hot(group, GROUPS).float() + 1.5 * torch.randn(NODES, GROUPS)
known = torch.rand(NODES) < 0.4


class GraphNet(nn.Module):
    """Two graph convolutions; the features of all nodes are centred and scaled between them (PairNorm)."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(GROUPS, 16), nn.Linear(16, GROUPS)

    def forward(self, x, a):
        h = F.relu(a @ self.one(x))
        h = h - h.mean(0, keepdim=True)
        h = h / (h.pow(2).sum(1).mean() + 1e-6).sqrt()
        return a @ self.two(h)


net = GraphNet()
opt = torch.optim.Adam(net.parameters(), lr=0.02)
for epoch in range(120):
    net.train()
    loss = F.cross_entropy(net(features, adjacency)[known], group[known])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 30 == 29:
        net.eval()
        with torch.no_grad():
            right = (net(features, adjacency)[~known].argmax(1) == group[~known]).float().mean().item()
        print(epoch, loss.item(), right)
