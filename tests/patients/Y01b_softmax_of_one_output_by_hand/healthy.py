import os

import torch

torch.manual_seed(int(os.environ.get("SEED", 0)))
x = torch.randn(800, 5)
y = (x[:, 0] * x[:, 1] + 0.5 * x[:, 2] > 0).float()

w1 = (torch.randn(5, 40) * 0.5).requires_grad_()
b1 = torch.zeros(40, requires_grad=True)
w2 = (torch.randn(40, 1) * 0.2).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)


def predict(batch):
    h = torch.tanh(batch @ w1 + b1)
    score = h @ w2 + b2
    return score.sigmoid().squeeze(1)


def negative_log_likelihood(p, t):
    p = p.clamp(1e-6, 1 - 1e-6)
    return -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean()


optimizer = torch.optim.SGD([w1, b1, w2, b2], lr=0.3, momentum=0.9)
for step in range(500):
    pick = torch.randint(0, 600, (50,))
    loss = negative_log_likelihood(predict(x[pick]), y[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0 or step == 499:
        print(f"step {step} loss {loss.item():.4f}")
print("accuracy", ((predict(x[600:]) > 0.5).float() == y[600:]).float().mean().item())
