"""Training loops in many styles, each a function: it trains for STEPS steps and returns the loss of every backward()."""

import dataclasses

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

STEPS = 8
LOOPS = {}


def loop(function):
    LOOPS[function.__name__] = function
    return function


def data(features=6, rows=32, classes=3):
    x = torch.randn(rows, features)
    return x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long() if classes == 3 else (x[:, 0] > 0).long()


def mlp(inside=6, outside=3):
    return nn.Sequential(nn.Linear(inside, 16), nn.Tanh(), nn.Linear(16, outside))


def step(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@loop
def plain():
    (x, y), model = data(), mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return [step(nn.CrossEntropyLoss()(model(x), y), optimizer) for _ in range(STEPS)]


@loop
def batches_overwrite_one_buffer():
    model, buffer, target = mlp(6, 1), torch.empty(16, 6), torch.empty(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    losses = []
    for _ in range(STEPS):
        buffer.normal_()
        target.copy_(buffer[:, :1] * 3)
        losses.append(step(((model(buffer) - target) ** 2).mean(), optimizer))
    return losses


@loop
def gru_over_packed_sequences():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.head = nn.GRU(4, 8, batch_first=True, bidirectional=True), nn.Linear(16, 2)

        def forward(self, packed):
            _, last = self.gru(packed)
            return self.head(torch.cat([last[0], last[1]], 1))

    model = Tagger()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        x, lengths = torch.randn(6, 7, 4), torch.tensor([7, 6, 5, 5, 3, 2])
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        losses.append(step(functional.cross_entropy(model(packed), (x[:, 0, 0] > 0).long()), optimizer))
    return losses


@loop
def hidden_state_carried_and_detached():
    cell, head = nn.LSTM(3, 8), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-2)
    state, losses = None, []
    for _ in range(STEPS):
        x = torch.randn(5, 4, 3)
        out, state = cell(x, state)
        state = tuple(s.detach() for s in state)
        losses.append(step(functional.mse_loss(head(out), x.roll(1, 0)), optimizer))
    return losses


@loop
def transformer_with_mask():
    embed, layer = nn.Embedding(11, 16), nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    body, head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 11)
    model = nn.ModuleList([embed, body, head])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    mask, losses = nn.Transformer.generate_square_subsequent_mask(6), []
    for _ in range(STEPS):
        tokens = (torch.arange(7)[None] + torch.randint(0, 11, (8, 1))) % 11
        logits = head(body(embed(tokens[:, :-1]) * 4.0, mask=mask))
        losses.append(step(functional.cross_entropy(logits.reshape(-1, 11), tokens[:, 1:].reshape(-1)), optimizer))
    return losses


@loop
def vae_sampling_outside_the_module():
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(16, 6)
        mean, log_variance = encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        kl = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(1).mean()
        losses.append(step(functional.mse_loss(decoder(z), x) + 0.1 * kl, optimizer))
    return losses


@loop
def reparametrised_distribution():
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(16, 6)
        mean, scale = encoder(x).chunk(2, dim=1)
        posterior = torch.distributions.Normal(mean, functional.softplus(scale) + 1e-3)
        z = posterior.rsample()
        kl = torch.distributions.kl_divergence(posterior, torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))).sum(1).mean()
        losses.append(step(functional.mse_loss(decoder(z), x) + 0.1 * kl, optimizer))
    return losses


@loop
def ctc():
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 6))
    optimizer, objective = torch.optim.Adam(model.parameters(), lr=1e-2), nn.CTCLoss(zero_infinity=True)
    losses = []
    for _ in range(STEPS):
        frames, targets = torch.randn(12, 4, 5), torch.randint(1, 6, (4, 3))
        scores = model(frames).log_softmax(2)
        losses.append(step(objective(scores, targets, torch.full((4,), 12), torch.tensor([3, 2, 3, 1])), optimizer))
    return losses


@loop
def contrastive_two_views():
    model = mlp(6, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(12, 6)
        first, second = (functional.normalize(model(x + 0.1 * torch.randn_like(x)), dim=1) for _ in range(2))
        z = torch.cat([first, second])
        scores = z @ z.T / 0.2
        scores = scores.masked_fill(torch.eye(24, dtype=torch.bool), -1e9)
        losses.append(step(functional.cross_entropy(scores, torch.cat([torch.arange(12) + 12, torch.arange(12)])), optimizer))
    return losses


@loop
def encoder_and_decoder_with_an_optimizer_each():
    encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
    optimizers = [torch.optim.Adam(encoder.parameters(), lr=1e-2), torch.optim.SGD(decoder.parameters(), lr=1e-2)]
    losses = []
    for _ in range(STEPS):
        x = torch.randn(16, 6)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = functional.smooth_l1_loss(decoder(torch.relu(encoder(x))), x)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    return losses


@loop
def forward_called_directly():
    (x, y), model = data(), mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return [step(functional.cross_entropy(model.forward(x), y), optimizer) for _ in range(STEPS)]


@loop
def own_method_in_place_of_forward():
    class Regressor(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.scale = nn.Linear(6, 1), nn.Parameter(torch.ones(1))

        def training_step(self, batch):
            x, y = batch
            return functional.mse_loss(self.body(x) * self.scale, y)

    model = Regressor()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 6)
    return [step(model.training_step((x, x[:, :1])), optimizer) for _ in range(STEPS)]


@loop
def batch_is_a_dict_and_output_a_dataclass():
    @dataclasses.dataclass
    class Output:
        logits: torch.Tensor
        hidden: torch.Tensor
        note: str = ""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 3)

        def forward(self, features, labels=None, scale=1.0):
            hidden = torch.tanh(self.first(features))
            return Output(self.second(hidden) * scale, hidden)

    model, losses = Model(), []
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        x, y = data()
        batch = {"features": x, "labels": y}
        output = model(**batch, scale=2.0)
        losses.append(step(functional.cross_entropy(output.logits, batch["labels"]) + 1e-3 * output.hidden.abs().mean(), optimizer))
    return losses


@loop
def loss_inside_forward_returning_a_tuple():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp()

        def forward(self, batch):
            logits = self.net(batch["x"])
            return functional.cross_entropy(logits, batch["y"]), {"logits": logits}

    model, losses = Model(), []
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        x, y = data()
        losses.append(step(model({"x": x, "y": y})[0], optimizer))
    return losses


@loop
def output_changed_in_place():
    model = mlp(6, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(16, 6)
        out = model(x)
        out += 1.0
        out.mul_(0.5).clamp_(min=-5)
        out[:, 0] = out[:, 0] * 2
        out[0, 1] -= 3.0
        total = torch.zeros(())
        total += (out - x[:, :4]).pow(2).mean()
        losses.append(step(total, optimizer))
    return losses


@loop
def results_written_into_a_buffer():
    model = nn.GRUCell(3, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        x, hidden = torch.randn(4, 6, 3), torch.zeros(6, 5)
        seen = torch.zeros(4, 6, 5)
        for at in range(4):
            hidden = model(x[at], hidden)
            seen[at] = hidden
        losses.append(step((seen[..., :3] - x).abs().mean(), optimizer))
    return losses


@loop
def custom_autograd_function():
    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, slope):
            ctx.slope = slope
            return (x > 0).float()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.slope, None

    (x, _), model = data(), mlp(6, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return [step((Step.apply(model(x), 0.5) * x[:, :1]).mean() + 0.1 * model(x).pow(2).mean(), optimizer) for _ in range(STEPS)]


@loop
def checkpointed():
    (x, y), body, head = data(), nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 3)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    return [step(functional.cross_entropy(head(checkpoint(body, x, use_reentrant=False)), y), optimizer) for _ in range(STEPS)]


@loop
def checkpointed_inside_forward_reentrant():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

        def forward(self, x):
            return self.head(checkpoint(self.body, torch.tanh(self.first(x)), use_reentrant=True))

    (x, y), model = data(), Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return [step(functional.cross_entropy(model(x), y), optimizer) for _ in range(STEPS)]


@loop
def tied_weights():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.body = nn.Embedding(9, 8), nn.Linear(8, 8)
            self.head = nn.Linear(8, 9, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            return self.head(torch.relu(self.body(self.embed(tokens))))

    model, losses = Model(), []
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        tokens = torch.randint(0, 9, (32,))
        losses.append(step(functional.cross_entropy(model(tokens), (tokens + 1) % 9), optimizer))
    return losses


@loop
def teacher_by_moving_average():
    import copy
    student = mlp(6, 4)
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(16, 6)
        with torch.no_grad():
            target = teacher(x + 0.5)
        losses.append(step(functional.mse_loss(student(x), target), optimizer))
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), student.parameters()):
                slow.mul_(0.9).add_(fast, alpha=0.1)
    return losses


@loop
def loss_of_many_operations():
    def objective(out, y):
        shares = torch.exp(out - out.max(1, keepdim=True).values)
        shares = shares / shares.sum(1, keepdim=True)
        hot = torch.zeros_like(shares).scatter_(1, y[:, None], 1.0)
        focal = -(hot * (1 - shares) ** 2 * torch.log(shares + 1e-8)).sum(dim=1)
        values, places = focal.sort(descending=True)
        kept = torch.where(values > values.median(), values, 0.1 * values)
        top, _ = torch.topk(shares, 2, dim=1)
        return kept.mean() + 0.01 * (top[:, 0] - top[:, 1]).var() + 0.01 * sum(part.norm() for part in torch.split(out, 1, dim=1))

    (x, y), model = data(), mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return [step(objective(model(x), y), optimizer) for _ in range(STEPS)]


@loop
def regularisation_over_parameters():
    (x, y), model = data(), mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(STEPS):
        penalty = sum(p.pow(2).sum() for p in model.parameters())
        losses.append(step(functional.cross_entropy(model(x), y) + 1e-2 * penalty, optimizer))
    return losses


@loop
def lookups_in_raw_parameters_before_the_module():
    table = nn.Parameter(torch.randn(10, 6) * 0.1)
    shift, model = torch.zeros(6, requires_grad=True), mlp(6, 10)
    optimizer = torch.optim.Adam([table, shift, *model.parameters()], lr=1e-2)
    losses = []
    for _ in range(STEPS):
        tokens = torch.randint(0, 10, (32,))
        losses.append(step(functional.cross_entropy(model(table[tokens] + shift), (tokens * 3) % 10), optimizer))
    return losses


@loop
def raw_tensors_updated_by_hand():
    x = torch.randn(32, 5)
    w, b = torch.randn(5, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    losses = []
    for _ in range(STEPS):
        loss = ((x @ w + b - x[:, :1]) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
        w.grad.zero_()
        b.grad = None
        losses.append(loss.item())
    return losses


@loop
def raw_tensors_with_an_optimizer():
    x = torch.randn(32, 5)
    w, b = torch.randn(5, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([w, b], lr=0.05)
    return [step(((x @ w + b - x[:, :1]) ** 2).mean(), optimizer) for _ in range(STEPS)]


@loop
def reinforce_over_episodes():
    policy = mlp(3, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        state, scores, rewards = torch.randn(3), [], []
        for _ in range(10):
            choice = torch.distributions.Categorical(logits=policy(state))
            action = choice.sample()
            scores.append(choice.log_prob(action))
            rewards.append(float(action.item() == int(state[0] > 0)))
            state = 0.5 * state + torch.randn(3)
        returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        losses.append(step(-(torch.stack(scores) * returns).sum(), optimizer))
    return losses


@loop
def two_losses_with_the_graph_retained():
    (x, y), body, first, second = data(), nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *first.parameters(), *second.parameters()], lr=0.05)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        hidden = torch.tanh(body(x))
        one = functional.cross_entropy(first(hidden), y)
        two = functional.mse_loss(second(hidden), x[:, :1])
        one.backward(retain_graph=True)
        two.backward()
        optimizer.step()
        losses += [one.item(), two.item()]
    return losses


@loop
def several_backwards_on_their_own_forwards():
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        for _ in range(3):
            x, y = data()
            loss = functional.cross_entropy(model(x), y) / 3
            loss.backward()
            losses.append(loss.item())
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    return losses


@loop
def scheduled_and_clipped():
    (x, y), model = data(), mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=STEPS + 2)
    losses = []
    for _ in range(STEPS):
        loss = functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.05)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


@loop
def gradient_penalty():
    critic, generator = mlp(2, 1), mlp(3, 2)
    optimizers = torch.optim.Adam(critic.parameters(), 1e-3), torch.optim.Adam(generator.parameters(), 1e-3)
    losses = []
    for _ in range(STEPS):
        real, fake = torch.randn(16, 2) + 2, generator(torch.randn(16, 3)).detach()
        share = torch.rand(16, 1)
        mixed = (share * real + (1 - share) * fake).requires_grad_(True)
        slope, = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
        losses.append(step(critic(fake).mean() - critic(real).mean() + 10 * penalty, optimizers[0]))
        losses.append(step(-critic(generator(torch.randn(16, 3))).mean(), optimizers[1]))
    return losses


@loop
def physics_residual():
    model = mlp(1, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        t = torch.rand(32, 1, requires_grad=True)
        u = model(t)
        du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
        losses.append(step((du + u).pow(2).mean() + (model(torch.zeros(1, 1)) - 1).pow(2).mean(), optimizer))
    return losses


@loop
def backward_on_a_vector_with_its_gradient():
    (x, _), model = data(), mlp(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        error = (model(x) - x[:, :1]) ** 2
        optimizer.zero_grad()
        error.backward(torch.full_like(error, 1 / len(x)))
        optimizer.step()
        losses.append(error.sum().item())
    return losses


@loop
def several_tensors_in_one_backward():
    (x, y), model = data(), mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        out = model(x)
        first, second = functional.cross_entropy(out, y), out.pow(2).mean()
        optimizer.zero_grad()
        torch.autograd.backward([first, second])
        optimizer.step()
        losses.append(first.item() + second.item())
    return losses


@loop
def multiple_choice_of_module_at_random():
    import random
    random.seed(1)
    experts, head = nn.ModuleList([nn.Linear(6, 8) for _ in range(3)]), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*experts.parameters(), *head.parameters()], lr=1e-2)
    x, y = data()
    return [step(functional.cross_entropy(head(torch.relu(experts[random.randrange(3)](x))), y), optimizer) for _ in range(STEPS)]


@loop
def batch_norm_in_train_mode_between_evaluations():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(12, 1, 8, 8)
        y = (x.mean((1, 2, 3)) > 0).long()
        model.train()
        losses.append(step(functional.cross_entropy(model(x), y), optimizer))
        model.eval()
        with torch.no_grad():
            functional.cross_entropy(model(x), y).item()
    return losses


@loop
def scaled_under_autocast():
    (x, y), model = data(), mlp()
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=256.0)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@loop
def functional_call_on_the_model():
    (x, y), model = data(), mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(STEPS):
        parameters = dict(model.named_parameters())
        losses.append(step(functional.cross_entropy(torch.func.functional_call(model, parameters, (x,)), y), optimizer))
    return losses


@loop
def weight_norm_by_parametrisation():
    (x, y), model = data(), nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(6, 8)), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return [step(functional.cross_entropy(model(x), y), optimizer) for _ in range(STEPS)]


@loop
def einsum_and_advanced_indexing():
    model, rows = nn.Linear(6, 12), torch.randperm(24)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, losses = torch.randn(24, 6), []
    for _ in range(STEPS):
        h = model(x).view(24, 3, 4)
        scores = torch.einsum("bij,bkj->bik", h, h)[rows[:16]]
        upper = scores[:, *torch.triu_indices(3, 3, 1)]
        losses.append(step((upper - 1).pow(2).mean() + h[::2, ..., None].squeeze(-1).abs().mean(), optimizer))
    return losses


@loop
def numpy_targets_inside_the_window():
    (x, _), model = data(), mlp(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(STEPS):
        out = model(x)
        target = torch.from_numpy(x[:, :1].numpy() * 2).float()
        weight = torch.tensor([1.0, 2.0]).repeat(16)[:, None]
        losses.append(step((weight * (out - target) ** 2).mean(), optimizer))
    return losses


@loop
def target_from_the_detached_output():
    online, frozen = mlp(4, 2), mlp(4, 2)
    frozen.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-2)
    losses = []
    for at in range(STEPS):
        state, action = torch.randn(16, 4), torch.randint(0, 2, (16, 1))
        chosen = online(state).gather(1, action).squeeze(1)
        with torch.no_grad():
            goal = state[:, 0] + 0.9 * frozen(state + 0.1).max(1).values
        losses.append(step(functional.huber_loss(chosen, goal), optimizer))
        if at % 3 == 2:
            frozen.load_state_dict(online.state_dict())
    return losses


@loop
def last_step_accumulated_and_stepped_by_a_class():
    class Engine:
        def __init__(self):
            self.model, self.every = mlp(), 2
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)
            self.losses = []

        def fit(self):
            for at in range(STEPS):
                x, y = data()
                loss = functional.cross_entropy(self.model(x), y) / self.every
                loss.backward()
                if (at + 1) % self.every == 0:
                    self.optimizer.step()
                    self.optimizer.zero_grad(set_to_none=False)
                self.losses.append(loss.item())
            return self.losses

    return Engine().fit()


@loop
def one_forward_many_windows_of_bptt():
    cell, head = nn.GRUCell(3, 6), nn.Linear(6, 3)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    hidden, losses = torch.zeros(4, 6), []
    for _ in range(STEPS):
        hidden, total = hidden.detach(), 0
        for _ in range(3):
            x = torch.randn(4, 3)
            hidden = cell(x, hidden)
            total = total + functional.mse_loss(head(hidden), x)
        losses.append(step(total / 3, optimizer))
    return losses


@loop
def complex_numbers_and_fourier():
    model = nn.Linear(16, 16)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(8, 16)
        wanted, got = torch.fft.rfft(x), torch.fft.rfft(model(x))
        losses.append(step((wanted - got).abs().mean(), optimizer))
    return losses


@loop
def sparse_embedding():
    table, head = nn.Embedding(20, 6, sparse=True), nn.Linear(6, 20)
    optimizers = torch.optim.SparseAdam(table.parameters(), lr=1e-2), torch.optim.Adam(head.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        tokens = torch.randint(0, 20, (16,))
        loss = functional.cross_entropy(head(table(tokens)), tokens)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    return losses


@loop
def unpacked_outputs_and_python_sums():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.heads = nn.Linear(6, 8), nn.ModuleList([nn.Linear(8, 1) for _ in range(3)])

        def forward(self, x):
            hidden = torch.relu(self.body(x))
            return [head(hidden) for head in self.heads], {"hidden": hidden}

    (x, _), model = data(), Heads()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        outputs, extra = model(x)
        losses.append(step(sum((out.squeeze(-1) - x[:, at]).pow(2).mean() for at, out in enumerate(outputs)) + extra["hidden"].mean(), optimizer))
    return losses
