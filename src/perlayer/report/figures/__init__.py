"""The figures: a module each, with `TITLE`, `CAPTION`, `data(connection)` (what is drawn) and `draw(connection)`.

They import what draws inside their functions, since the page of the report needs their titles and captions alone.
"""

from perlayer.report.figures import (
    contributions,
    depth_and_width,
    depth_by_group,
    depth_cost,
    depth_order,
    depth_profile,
    depth_scores,
    design_cost,
    designs,
    final_loss_by_layer,
    fixes,
    future_layers,
    gradient_cosines,
    last_layer_curves,
    layer_curves,
    lens_agreement,
    lenses,
    mix,
    multi_token_sizes,
    noise_floor,
    related_work,
    retrained_heads,
    retraining_curves,
    routing,
    skip_effects,
    switch_off,
)

FIGURES = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        final_loss_by_layer,
        layer_curves,
        last_layer_curves,
        noise_floor,
        depth_cost,
        related_work,
        fixes,
        mix,
        switch_off,
        gradient_cosines,
        retrained_heads,
        retraining_curves,
        lenses,
        lens_agreement,
        routing,
        designs,
        design_cost,
        depth_order,
        future_layers,
        multi_token_sizes,
        contributions,
        skip_effects,
        depth_profile,
        depth_scores,
        depth_by_group,
        depth_and_width,
    )
}
