"""Actor-critic on a small corridor: reach the right end."""
import itertools
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

N = 8


class Corridor:
    def reset(self):
        self.s, self.t = 0, 0
        return self.obs()

    def obs(self):
        v = np.zeros(N, dtype=np.float32)
        v[self.s] = 1
        return v

    def step(self, a):
        self.s = min(N - 1, self.s + 1) if a == 1 else max(0, self.s - 1)
        self.t += 1
        done = self.s == N - 1 or self.t >= 30
        return self.obs(), 1.0 if self.s == N - 1 else -0.05, done


torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(N, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(N, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(critic.parameters(), lr=5e-3)
env = Corridor()
returns = []
for episode in range(250):
    s, done = env.reset(), False
    logps, values, rewards = [], [], []
    while not done:
        st = torch.from_numpy(s)
        dist = Categorical(logits=actor(st))
        a = dist.sample()
        s, r, done = env.step(a.item())
        logps.append(dist.log_prob(a)); values.append(critic(st).squeeze()); rewards.append(r)
    G, out = 0.0, []
    for r in reversed(rewards):
        G = r + 0.97 * G
        out.insert(0, G)
    G = torch.tensor(out)
    v = torch.stack(values)
    adv = G - v.detach()
    loss = -(torch.stack(logps) * adv).mean() + 0.5 * (G - v).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    returns.append(sum(rewards))
    if episode % 25 == 0:
        print(f"episode {episode} return {np.mean(returns[-25:]):.3f} loss {loss.item():.3f}")
print("mean return of the last 25:", np.mean(returns[-25:]))
