import os
import random
from collections import deque
import torch
from torch import nn


class Grid:
    n = 4
    def reset(self):
        self.p = [0, 0]; self.t = 0
        return self.state()
    def state(self):
        s = torch.zeros(16); s[self.p[0] * 4 + self.p[1]] = 1
        return s
    def step(self, a):
        dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][a]
        self.p = [min(3, max(0, self.p[0] + dx)), min(3, max(0, self.p[1] + dy))]
        self.t += 1
        win = self.p == [3, 3]
        return self.state(), 1.0 if win else -0.02, win or self.t >= 25


def qnet():
    return nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 4))


random.seed(int(os.environ.get("SEED", 0))); torch.manual_seed(int(os.environ.get("SEED", 0)))
policy, target = qnet(), qnet()
target.load_state_dict(policy.state_dict())
opt = torch.optim.RMSprop(policy.parameters(), lr=1e-3)
memory = deque(maxlen=3000)
env, eps, steps = Grid(), 1.0, 0
scores = []
for ep in range(120):
    s, done, score = env.reset(), False, 0
    while not done:
        with torch.no_grad():
            a = random.randrange(4) if random.random() < eps else policy(s).argmax().item()
        s2, r, done = env.step(a)
        memory.append((s, a, r, s2, float(done and r > 0)))
        s = s2; score += r; steps += 1
        eps = max(0.05, eps * 0.998)
        if len(memory) >= 64:
            S, A, Rw, S2, D = zip(*random.sample(memory, 32))
            S, S2 = torch.stack(S), torch.stack(S2)
            A, Rw, D = torch.tensor(A), torch.tensor(Rw), torch.tensor(D)
            q = target(S).gather(1, A[:, None]).squeeze(1)
            with torch.no_grad():
                y = Rw + 0.95 * (1 - D) * target(S2).max(1).values
            loss = nn.functional.smooth_l1_loss(q, y)
            opt.zero_grad(); loss.backward(); opt.step()
        if steps % 100 == 0:
            target.load_state_dict(policy.state_dict())
    scores.append(score)
    if ep % 20 == 19:
        print(f"ep {ep + 1} mean score {sum(scores[-20:]) / 20:.3f} eps {eps:.2f}")
print("last 20:", sum(scores[-20:]) / 20)
