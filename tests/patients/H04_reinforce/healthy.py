import argparse
import os

import torch
from torch import nn
from torch.distributions import Categorical


class Corridor:
    """Walkers start in the middle of a corridor of 9 cells; the right end pays 1, the left end nothing. 20 moves at most."""

    def __init__(self, walkers, cells=9):
        self.walkers, self.cells = walkers, cells

    def reset(self):
        self.at = torch.full((self.walkers,), self.cells // 2)
        self.done = torch.zeros(self.walkers, dtype=torch.bool)
        return self.see()

    def see(self):
        return nn.functional.one_hot(self.at, self.cells).float()

    def move(self, action):
        slip = torch.rand(self.walkers) < 0.1
        step = torch.where(slip, torch.randint(0, 2, (self.walkers,)), action) * 2 - 1
        self.at = torch.where(self.done, self.at, self.at + step).clamp(0, self.cells - 1)
        arrived = ~self.done & (self.at == self.cells - 1)
        self.done = self.done | (self.at == 0) | (self.at == self.cells - 1)
        return self.see(), arrived.float()


class Policy(nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(cells, 24), nn.Tanh())
        self.head = nn.Linear(24, 2)

    def forward(self, view):
        return Categorical(logits=self.head(self.body(view)))


def episode(env, policy, moves=20):
    view = env.reset()
    logs, rewards, alive = [], [], []
    for _ in range(moves):
        choice = policy(view)
        action = choice.sample()
        alive.append((~env.done).float())
        logs.append(choice.log_prob(action))
        view, reward = env.move(action)
        rewards.append(reward)
    return torch.stack(logs), torch.stack(rewards), torch.stack(alive)


def returns(rewards, gamma):
    total, out = torch.zeros(rewards.shape[1]), []
    for reward in rewards.flip(0):
        total = reward + gamma * total
        out.append(total)
    return torch.stack(out[::-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", 0)))
    parser.add_argument("--episodes", type=int, default=150)
    parser.add_argument("--gamma", type=float, default=0.97)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    env, policy = Corridor(24), Policy(9)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    baseline = 0.0
    for number in range(args.episodes):
        logs, rewards, alive = episode(env, policy)
        gain = returns(rewards, args.gamma)
        loss = -(logs * (gain - baseline) * alive).sum(0).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        baseline = 0.9 * baseline + 0.1 * gain[0].mean().item()
        if number % 25 == 0 or number == args.episodes - 1:
            print(f"episode {number} loss {loss.item():.4f} success {rewards.sum(0).mean().item():.3f}")


main()
