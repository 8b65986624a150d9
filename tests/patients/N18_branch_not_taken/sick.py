"""Claims per contract from a few tariff columns; one column has a long tail."""
import os

import torch


def smooth_positive(a):
    # exp on the left, a straight line on the right: positive, continuous, slope 1 at zero
    return torch.where(a <= 0, torch.exp(a), 1 + a)


def mlp(params, x):
    *hidden, last = params
    for w, b in hidden:
        x = smooth_positive(x @ w + b)
    w, b = last
    return smooth_positive(x @ w + b).squeeze(1)


def layer(n_in, n_out, gen):
    w = (torch.randn(n_in, n_out, generator=gen) * (1.0 / n_in) ** 0.5).requires_grad_()
    return w, torch.zeros(n_out, requires_grad=True)


def main():
    gen = torch.Generator().manual_seed(int(os.environ.get("SEED", 0)))
    n = 3000
    table = torch.randn(n, 5, generator=gen)
    table[:, 4] = torch.empty(n).log_normal_(0.0, 1.0, generator=gen)
    mileage = table[:, 4].clone()
    table[torch.randint(n, (6,), generator=gen), 4] = 900.0  # lorries
    rate = torch.exp(0.4 * table[:, 0] - 0.3 * table[:, 1]) + 0.2 * mileage
    claims = torch.poisson(rate, generator=gen)

    params = [layer(5, 20, gen), layer(20, 12, gen), layer(12, 1, gen)]
    flat = [t for pair in params for t in pair]
    adam = torch.optim.Adam(flat, lr=1e-3)
    step = 0
    for epoch in range(12):
        total, count = 0.0, 0
        for rows in torch.randperm(n, generator=gen).split(60):
            mu = mlp(params, table[rows]).clamp(min=1e-4)
            loss = torch.nn.functional.smooth_l1_loss(mu, claims[rows])
            adam.zero_grad()
            loss.backward()
            adam.step()
            total, count, step = total + loss.item(), count + 1, step + 1
        print("epoch", epoch, "mean loss", round(total / count, 4))


if __name__ == "__main__":
    main()
