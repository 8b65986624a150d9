"""What a curve alone can say. A label is a symptom: it is explained by a cause and never a cause by itself."""

LABELS: dict[str, str] = {
    "healthy": "The loss falls and levels off well below what a constant prediction gives.",
    "converged": "The loss has levelled off at or near the lowest value that this loss and these targets allow.",
    "flat-from-start": "The loss has not moved since the first step, at a value that is not the known baseline.",
    "flat-at-baseline": "The loss stays at what guessing or the best constant prediction gives: the input is not used.",
    "diverged": "The loss ends clearly above where it started, without becoming non-finite.",
    "non-finite": "The loss became NaN or infinite; everything after that step carries no information.",
    "plateau-high": "The loss fell at first and then stopped, still far above the lowest value it could reach.",
    "plateau-low": "The loss fell and then stopped close to the lowest value it could reach.",
    "learning-rate-limited-plateau": "The loss drops at each cut of the learning rate: it waited for smaller steps.",
    "spiky": "The loss falls as a whole, with rare single values far above their neighbours.",
    "oscillating": "The loss swings up and down about as much as it is high, and gets nowhere.",
    "overfitting": "Validation loss rises while training loss goes on falling.",
    "underfitting": "Training and validation loss both level off high, close to each other.",
    "still-improving": "The loss was still falling when the run ended: more steps would have lowered it.",
    "too-short-to-tell": "There are too few independent points to tell a trend from noise.",
    "not-a-loss-curve": "The number is not meant to fall: a reward, an adversarial loss, or constant by design.",
}
