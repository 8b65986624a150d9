import os

import torch
import torch.nn as nn

torch.manual_seed(int(os.environ.get("SEED", 0)))
USERS, ITEMS, D = 120, 80, 6
u_true, i_true = torch.randn(USERS, 4), torch.randn(ITEMS, 4)
pairs = torch.cartesian_prod(torch.arange(USERS), torch.arange(ITEMS))
pairs = pairs[torch.randperm(len(pairs))]
score = (u_true[pairs[:, 0]] * i_true[pairs[:, 1]]).sum(1) / 2
train_p, test_p, train_s, test_s = pairs[:8000], pairs[8000:], score[:8000], score[8000:]


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(USERS, D)
        self.items = nn.Embedding(ITEMS, D)
        self.mlp = nn.Sequential(nn.Linear(3 * D, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, p):
        u, i = self.users(p[:, 0]), self.items(p[:, 1])
        return self.mlp(torch.cat([u, i, u * i], dim=1)).squeeze(1)


model = Recommender()
emb_opt = torch.optim.Adam([*model.users.parameters(), *model.items.parameters()], lr=1e-2)
mlp_opt = torch.optim.SGD(model.mlp.parameters(), lr=2e-2, momentum=0.9)
for epoch in range(20):
    total = 0.0
    for b in torch.randperm(len(train_p)).split(100):
        loss = nn.functional.mse_loss(model(train_p[b]), train_s[b])
        emb_opt.zero_grad()
        mlp_opt.zero_grad()
        loss.backward()
        emb_opt.step()
        mlp_opt.step()
        total += loss.item() * len(b)
    print(f"epoch {epoch} loss {total / len(train_p):.4f}")
with torch.no_grad():
    mse = nn.functional.mse_loss(model(test_p), test_s)
print("test R2", (1 - mse / test_s.var()).item())
