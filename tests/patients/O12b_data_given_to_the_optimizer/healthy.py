"""Linear autoencoder by hand: 2-d points on a line, one hidden number."""
import os

import torch
import torch.optim as optim

torch.manual_seed(int(os.environ.get("SEED", 0)))

x = torch.randn(100, 2)
x[:, 1] = 0.8 * x[:, 0] + 0.1 * torch.randn(100)

wEncoder = torch.randn(2, 1, requires_grad=True)
wDecoder = torch.randn(1, 2, requires_grad=True)
bEncoder = torch.randn(1, requires_grad=True)
bDecoder = torch.randn(1, 2, requires_grad=True)


def reconstruct(points):
    hidden = points @ wEncoder + bEncoder
    return hidden @ wDecoder + bDecoder


optimizer = optim.SGD([wEncoder, wDecoder, bEncoder, bDecoder], lr=0.01)
mse = torch.nn.MSELoss()
for epoch in range(1000):
    y_pred = reconstruct(x)
    loss = mse(y_pred, x)
    if epoch % 200 == 0:
        print(f"epoch: {epoch}  loss: {loss.item():.4f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"final loss {mse(reconstruct(x), x).item():.4f}")
