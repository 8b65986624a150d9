# Kernel-pooling ranker on toy queries: a document is good if it holds words near the query's words.
import os
import torch
from torch import nn, optim

torch.manual_seed(int(os.environ.get('SEED', 0)))
VOCAB, Q, D, DIM = 400, 10, 20, 24
TOPIC = torch.randint(0, 20, (VOCAB,))
BY_TOPIC = [(TOPIC == t).nonzero().flatten() for t in range(20)]


def sample(n):
    """n triples (query, good document, bad document)"""
    q, pos = torch.randint(0, VOCAB, (n, Q)), torch.randint(0, VOCAB, (n, D))
    neg = torch.randint(0, VOCAB, (n, D))
    for i in range(n):
        for j in range(5):
            words = BY_TOPIC[TOPIC[q[i, j % Q]]]
            pos[i, torch.randint(0, D, ())] = words[torch.randint(0, len(words), ())]
    return q, pos, neg


class KernelRanker(nn.Module):
    def __init__(self, n_kernels=11):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        topics = torch.randn(20, DIM)
        self.emb.weight.data = topics[TOPIC] + 0.6 * torch.randn(VOCAB, DIM)   # "word2vec"
        self.register_buffer('mu', torch.linspace(-0.9, 1.0, n_kernels))
        self.register_buffer('sigma', torch.tensor([0.1] * (n_kernels - 1) + [1e-3]))
        self.dense = nn.Linear(n_kernels, 1)

    def forward(self, query, doc):
        q = nn.functional.normalize(self.emb(query), dim=-1)
        d = nn.functional.normalize(self.emb(doc), dim=-1)
        sim = torch.bmm(q, d.transpose(1, 2)).unsqueeze(-1)
        pooled = torch.exp(-(sim - self.mu) ** 2 / (2 * self.sigma ** 2)).sum(2)
        features = torch.log(pooled.clamp(min=1e-10)).sum(1)
        return torch.tanh(self.dense(features)).squeeze(-1)


model = KernelRanker()
ranking = nn.MarginRankingLoss(margin=1.0)
adam = optim.Adam(model.parameters(), lr=1e-3)
q, p, n = sample(1500)
vq, vp, vn = sample(300)
for epoch in range(12):
    running = 0.
    for b in torch.randperm(1500).split(50):
        s_pos, s_neg = model(q[b], p[b]), model(q[b], n[b])
        loss = ranking(s_pos, s_neg, torch.ones_like(s_pos))
        adam.zero_grad()
        loss.backward()
        adam.step()
        running += loss.item() / 30
    with torch.no_grad():
        better = (model(vq, vp) > model(vq, vn)).float().mean().item()
    print('epoch %d  hinge %.4f  pairs in order %.3f' % (epoch, running, better))
