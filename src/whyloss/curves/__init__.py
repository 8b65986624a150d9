"""What the shape of a logged loss says: one label per curve, one for a train and validation pair. A label is a symptom, never a cause.

"Flat" and "levelled off" are claims: where the noise cannot rule a real fall out, the answer is `too-short-to-tell`. Sizes are shares of `scale`,
what the loss could lose at the start: max(first, baseline) - floor. Rules and errors: own measurements
"""

from whyloss.curves.pair import read_pair
from whyloss.curves.reading import CurveReading
from whyloss.curves.single import read_curve

__all__ = ["CurveReading", "read_curve", "read_pair"]
