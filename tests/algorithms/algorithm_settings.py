"""Every algorithm with settings of its own: one table drives the same tests over all of them."""

from perlayer.algorithms.ema.settings import Settings as Ema
from perlayer.algorithms.future_probes.settings import Settings as FutureProbes
from perlayer.algorithms.gradient_cosines.settings import Settings as GradientCosines
from perlayer.algorithms.gradient_reach.settings import Settings as GradientReach
from perlayer.algorithms.gradient_surgery.settings import Settings as GradientSurgery
from perlayer.algorithms.growth.settings import Settings as Growth
from perlayer.algorithms.layer_dropout.settings import Settings as LayerDropout
from perlayer.algorithms.multi_token_prediction.settings import Settings as MultiTokenPrediction
from perlayer.algorithms.per_layer_loss.settings import Settings as PerLayerLoss

ALGORITHMS = {
    "probes": [("per_layer_loss", PerLayerLoss("probes"))],
    "separate": [("per_layer_loss", PerLayerLoss("separate"))],
    "shared": [("per_layer_loss", PerLayerLoss("shared"))],
    "shared_stop_gradient": [("per_layer_loss", PerLayerLoss("shared_stop_gradient"))],
    # weights over depth and training: each shape and each kind of schedule at least once
    "uniform, off": [("per_layer_loss", PerLayerLoss("separate", {"shape": "uniform"}, {"kind": "off", "step": 3}))],
    "linear": [("per_layer_loss", PerLayerLoss("separate", {"shape": "linear", "weight": 0.2}, {"kind": "constant"}))],
    "single, linear_to_zero": [
        (
            "per_layer_loss",
            PerLayerLoss("shared", {"shape": "single", "at": 1, "weight": 0.1}, {"kind": "linear_to_zero", "steps": 3}),
        )
    ],
    "list, threshold": [
        (
            "per_layer_loss",
            PerLayerLoss("separate", {"shape": "list", "weights": [0.5, 1]}, {"kind": "threshold", "loss": 3.6}),
        )
    ],
    "sum, gradual": [("per_layer_loss", PerLayerLoss("shared_stop_gradient", {"shape": "sum"}, {"kind": "gradual"}))],
    "sqrt": [("per_layer_loss", PerLayerLoss("separate", {"shape": "sqrt", "scale": 0.5}))],
    "inverse": [("per_layer_loss", PerLayerLoss("shared", {"shape": "inverse"}))],
    "layerskip, rotational": [
        (
            "per_layer_loss",
            PerLayerLoss("shared", {"shape": "layerskip", "scale": 0.2}, {"kind": "rotational", "every": 2}),
        )
    ],
    "ema": [("ema", Ema(half_life=2))],
    "ema with separate": [("per_layer_loss", PerLayerLoss("separate")), ("ema", Ema(half_life=2))],
    "gradient_reach": [("per_layer_loss", PerLayerLoss("separate")), ("gradient_reach", GradientReach("own_layer"))],
    "gradient_reach with shared": [
        ("per_layer_loss", PerLayerLoss("shared")),
        ("gradient_reach", GradientReach("own_layer")),
    ],
    "gradient_surgery": [
        ("per_layer_loss", PerLayerLoss("separate")),
        ("gradient_surgery", GradientSurgery("per_token")),
    ],
    "gradient_surgery with shared_stop_gradient": [
        ("per_layer_loss", PerLayerLoss("shared_stop_gradient")),
        ("gradient_surgery", GradientSurgery("per_token")),
    ],
    "layer_dropout": [("layer_dropout", LayerDropout(0.5, "constant"))],
    "layer_dropout with shared": [
        ("per_layer_loss", PerLayerLoss("shared")),
        ("layer_dropout", LayerDropout(0.5, "exponential")),
    ],
    "layer_dropout with gradient_reach and ema": [
        ("per_layer_loss", PerLayerLoss("separate")),
        ("gradient_reach", GradientReach("own_layer")),
        ("layer_dropout", LayerDropout(0.5, "constant")),
        ("ema", Ema(half_life=2)),
    ],
    "layer_dropout with gradient_surgery": [
        ("per_layer_loss", PerLayerLoss("separate")),
        ("gradient_surgery", GradientSurgery("per_token")),
        ("layer_dropout", LayerDropout(0.5, "constant")),
    ],
    "gradient_cosines": [("gradient_cosines", GradientCosines(every=2))],
    "gradient_cosines with separate": [
        ("per_layer_loss", PerLayerLoss("separate")),
        ("gradient_cosines", GradientCosines(every=2)),
    ],
    "growth": [("growth", Growth(stages=[{"layers": [2], "share": 0.17}, {"layers": [1, 3], "share": 0.17}]))],
    "growth with separate and ema, outside frozen": [
        ("per_layer_loss", PerLayerLoss("separate")),
        ("growth", Growth(protocol="six_stages", outside="frozen", excluded=[1])),
        ("ema", Ema(half_life=2)),
    ],
    "future_probes": [("future_probes", FutureProbes(ahead=2))],
    "multi_token_prediction": [("multi_token_prediction", MultiTokenPrediction())],
    "multi_token_prediction of weight 0": [("multi_token_prediction", MultiTokenPrediction(depth=2, weight=0.0))],
    "parallel of weight 0": [("multi_token_prediction", MultiTokenPrediction("parallel", weight=0.0))],
    "multi_token_prediction with probes and future_probes": [
        ("per_layer_loss", PerLayerLoss("probes")),
        ("future_probes", FutureProbes(ahead=3)),
        ("multi_token_prediction", MultiTokenPrediction("parallel", depth=2)),
    ],
}

LEAVES_THE_BACKBONE = (
    "probes",
    "ema",
    "gradient_cosines",
    "future_probes",
    "multi_token_prediction of weight 0",
    "parallel of weight 0",
)
