import os
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn

SEED = int(os.environ.get("SEED", "0"))
random.seed(SEED), np.random.seed(SEED), torch.manual_seed(SEED)


class Lander1D:
    """Height and speed; fire the engine or not; land softly within 60 steps."""

    def reset(self):
        self.h, self.v, self.t = np.random.uniform(0.7, 1.0), 0.0, 0
        return self._obs()

    def _obs(self):
        return np.array([self.h, 5 * self.v], dtype=np.float32)

    def step(self, a):
        self.t += 1
        self.v += 0.006 if a else -0.006
        self.h += self.v
        if self.h <= 0:
            return self._obs(), 1.0 - 15 * abs(self.v), True
        if self.h > 1.2 or self.t >= 60:
            return self._obs(), -1.0, True
        return self._obs(), -0.002, False


class ReplayBuffer:
    def __init__(self, cap):
        self.buf = deque(maxlen=cap)

    def add(self, *tr):
        self.buf.append(tr)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.buf, n))
        return (torch.from_numpy(np.stack(s)), torch.tensor(a)[:, None], torch.tensor(r, dtype=torch.float32),
                torch.from_numpy(np.stack(s2)), torch.tensor(d, dtype=torch.float32))


class Agent:
    def __init__(self):
        self.q, self.target = self.build(), self.build()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.loss_fn = nn.SmoothL1Loss()

    @staticmethod
    def build():
        return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.q(torch.from_numpy(s)).argmax())

    def learn(self, batch, gamma=0.98):
        s, a, r, s2, d = batch
        q = self.q(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            best = self.target(s2).max(1).values
            y = r + gamma * (1 - d) * best
        loss = self.loss_fn(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def test(agent, n=30):
    env, scores = Lander1D(), []
    for _ in range(n):
        s, done, total = env.reset(), False, 0.0
        while not done:
            s, r, done = env.step(agent.act(s, 0.0))
            total += r
        scores.append(total)
    return float(np.mean(scores))


env, agent, memory = Lander1D(), Agent(), ReplayBuffer(8000)
frames, losses = 0, []
for episode in range(1, 241):
    s, done = env.reset(), False
    eps = max(0.05, 1.0 - episode / 120)
    while not done:
        a = agent.act(s, eps)
        s2, r, done = env.step(a)
        memory.add(s, a, r, s2, float(done))
        s = s2
        frames += 1
        if len(memory.buf) >= 500 and frames % 2 == 0:
            losses.append(agent.learn(memory.sample(64)))
        if frames % 200 == 0:
            agent.target.load_state_dict(agent.q.state_dict())
    if episode % 30 == 0:
        print(f"episode {episode:4d} frames {frames:6d} eps {eps:.2f} td {np.mean(losses[-300:]):.5f} "
              f"greedy return {test(agent):.3f}")
