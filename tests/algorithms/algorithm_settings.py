"""Every algorithm with settings of its own: one table drives the same tests over all of them."""

from perlayer.algorithms.ema.settings import Settings as Ema
from perlayer.algorithms.per_layer_loss.settings import Settings as PerLayerLoss

ALGORITHMS = {
    "probes": [("per_layer_loss", PerLayerLoss("probes"))],
    "separate": [("per_layer_loss", PerLayerLoss("separate"))],
    "shared": [("per_layer_loss", PerLayerLoss("shared"))],
    "shared_stop_gradient": [("per_layer_loss", PerLayerLoss("shared_stop_gradient"))],
    "ema": [("ema", Ema(half_life=2))],
    "ema with separate": [("per_layer_loss", PerLayerLoss("separate")), ("ema", Ema(half_life=2))],
}

LEAVES_THE_BACKBONE = ("probes", "ema")
