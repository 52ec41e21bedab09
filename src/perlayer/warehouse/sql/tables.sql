-- The tables that `collect` writes as parquet: what the runs and pairs of runs are, and every number they gave.

CREATE TABLE runs (
    run VARCHAR NOT NULL PRIMARY KEY,
    size VARCHAR NOT NULL,
    section VARCHAR NOT NULL DEFAULT 'runs',
    residual VARCHAR NOT NULL,
    readouts VARCHAR NOT NULL,
    seed BIGINT NOT NULL,
    layers SMALLINT NOT NULL,
    full_depth BOOLEAN NOT NULL,
    ema BOOLEAN NOT NULL,
    algorithms VARCHAR NOT NULL,
    setting VARCHAR NOT NULL,
    routing BOOLEAN NOT NULL DEFAULT false,
    present BOOLEAN NOT NULL,
    left_out VARCHAR,
    steps INTEGER,
    tokens BIGINT,
    backbone_parameters DOUBLE,
    final_loss DOUBLE,
    val_loss DOUBLE,
    val_bits_per_byte DOUBLE,
    ema_loss DOUBLE
);
COMMENT ON TABLE runs IS 'One row a run that params.yaml names, whether its results are here or not';
COMMENT ON COLUMN runs.run IS 'Its name in params.yaml; RUNG_RUN on the ladder';
COMMENT ON COLUMN runs.size IS 'The recipe it follows, or the rung of the ladder';
COMMENT ON COLUMN runs.section IS 'Where params.yaml names it: runs, ladder or growth';
COMMENT ON COLUMN runs.residual IS 'Its residual design';
COMMENT ON COLUMN runs.readouts IS 'How its layers are read: none, probes, separate, shared or shared_stop_gradient';
COMMENT ON COLUMN runs.seed IS 'The seed of its initial weights';
COMMENT ON COLUMN runs.layers IS 'How many layers it has';
COMMENT ON COLUMN runs.full_depth IS 'Whether that is the depth of the recipe';
COMMENT ON COLUMN runs.ema IS 'Whether it also keeps an average of its weights, which changes nothing in training';
COMMENT ON COLUMN runs.algorithms IS 'Its further keys that change its training, as JSON';
COMMENT ON COLUMN runs.setting IS 'All of it but seed, EMA, future_probes and gradient_cosines, as JSON: runs of equal setting train alike but for their seed';
COMMENT ON COLUMN runs.routing IS 'Whether params.yaml asks by which weights it routes';
COMMENT ON COLUMN runs.present IS 'Whether its results at this size are here, and compared';
COMMENT ON COLUMN runs.left_out IS 'Why its results are not compared where they are here: how they differ from params.yaml or from the text in use';
COMMENT ON COLUMN runs.steps IS 'Updates';
COMMENT ON COLUMN runs.tokens IS 'Training tokens';
COMMENT ON COLUMN runs.backbone_parameters IS 'Parameters of all its layers, without embedding and heads';
COMMENT ON COLUMN runs.final_loss IS 'Training loss of the last layer, mean of the last 50 steps, nats per token';
COMMENT ON COLUMN runs.val_loss IS 'Validation loss of the last layer at the end, nats per token';
COMMENT ON COLUMN runs.val_bits_per_byte IS 'The same in bits per byte of text';
COMMENT ON COLUMN runs.ema_loss IS 'Validation loss of the averaged weights at the end, nats per token';

CREATE TABLE layer_metrics (
    run VARCHAR NOT NULL,
    size VARCHAR NOT NULL,
    step INTEGER NOT NULL,
    tokens BIGINT NOT NULL,
    layer SMALLINT NOT NULL,
    other_layer SMALLINT,
    readout VARCHAR NOT NULL,
    ahead TINYINT NOT NULL,
    split VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    value DOUBLE NOT NULL
);
COMMENT ON TABLE layer_metrics IS 'One row a number: what one run gave at one step, layer and readout';
COMMENT ON COLUMN layer_metrics.run IS 'The run, or the published model, which has no row in runs';
COMMENT ON COLUMN layer_metrics.size IS 'The recipe it follows; published for a published model';
COMMENT ON COLUMN layer_metrics.step IS 'The update of what was trained, the run or the readout that reads it finished, from 1: losses of train are taken before it, of val after it; 0 is before any';
COMMENT ON COLUMN layer_metrics.tokens IS 'What had been trained on by then: by the run, or by the readout that reads it finished';
COMMENT ON COLUMN layer_metrics.layer IS 'The layer, from 1; 0 is the embedding';
COMMENT ON COLUMN layer_metrics.other_layer IS 'The second layer of a pair, else null. Of gradients: the layer over whose parameters they are taken, null for all layers';
COMMENT ON COLUMN layer_metrics.readout IS 'What turned the residual stream into logits. In training: probe, separate, shared or shared_stop_gradient, and head at the last layer, multi_token for a later token read by the modules of multi-token prediction; counterfactual for gradients of losses that train no layer, read by the final norm and head; of the finished model: retrained, logit_lens or tuned_lens, at every layer';
COMMENT ON COLUMN layer_metrics.ahead IS '1 for the next token, 2 for the one after';
COMMENT ON COLUMN layer_metrics.split IS 'train or val, which is held-out text';
COMMENT ON COLUMN layer_metrics.metric IS 'What was measured. Training: loss, bits_per_byte, parameters, ema_loss, and of growth training compute (what an update costs from this step on, over one of the whole model). Gradients, over the parameters of the layers: gradient_norm, gradient_cosine (with the gradient of the final loss), and at the last layer summed_gradient_norm and summed_gradient_cosine (of the sum over the losses below). Retrained: loss, change (held-out loss after minus before). Lenses: loss, kl_final_lens = KL(final output || lens), kl_lens_final = KL(lens || final output), top5_overlap, argmax_agreement, entropy, sample_kl_final_lens (on the sample that chose the checkpoint). Their NAME_standard_error is over held-out sequences, evaluated_tokens how many targets were read';
COMMENT ON COLUMN layer_metrics.value IS 'The number; losses, divergences and entropies in nats per token';

CREATE TABLE dissections (
    run VARCHAR NOT NULL,
    analysis VARCHAR NOT NULL,
    layer SMALLINT NOT NULL,
    sublayer VARCHAR,
    other_layer SMALLINT,
    stat VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    text VARCHAR,
    position INTEGER,
    token VARCHAR,
    strength DOUBLE,
    value DOUBLE NOT NULL
);
COMMENT ON TABLE dissections IS 'One row a number: what one finished model showed when it was taken apart';
COMMENT ON COLUMN dissections.run IS 'The run; the published model, or in linear_maps the pair of runs, which have no row in runs';
COMMENT ON COLUMN dissections.analysis IS 'What was done: routing (by which weights the sublayers read and write); contributions (to the residual stream), logit_lens, skipping (of layers and sublayers), depth_score, depth_by_group (depth scores of prompts), erasure (of one token at one depth), integrated_gradients (of an answer), linear_maps (between two runs); of what layers are made of: ablation (weights of a layer, or what it gives, taken away), predictability (of its weights from those of its neighbours), replacement (of layers by what is predicted), structure (of weights over the layers), manipulation (of weights of unimportant layers) and recovery (from noise, by training)';
COMMENT ON COLUMN dissections.layer IS 'The layer, from 1; 0 is the embedding';
COMMENT ON COLUMN dissections.sublayer IS 'attention or mlp of that layer; head for the model''s own readout, at the last layer; null for the whole layer; block for the whole layer as the identity, where that is not the same as skipping it; gate_proj and the like for one matrix of it';
COMMENT ON COLUMN dissections.other_layer IS 'The second place of a pair, else null. Skipping: the later layer that is looked at. Linear maps: the layer of the run that is mapped, where layer is of the run to which. Routing: the stream, from 1, or the source, from 0, the embedding';
COMMENT ON COLUMN dissections.stat IS 'How the tokens of held-out text were brought to one number: mean, standard_deviation, min, max or p95, which 95 % of tokens do not exceed; single where there is but one. Of a change of perplexity: mean over all documents, and low and high, the ends of its 95 % bootstrap interval over documents';
COMMENT ON COLUMN dissections.metric IS 'What was measured. Routing: read, write (weight of a stream); mixing_into_K (what stream K takes of a stream); product_into_K, of the mixing matrices from the first sublayer to this one multiplied, and its forward_gain (greatest |row sum|), backward_gain (greatest |column sum|) and least_column_sum; source_weight (attention over sources) and source_entropy (nats). Contributions: relative_contribution and cosine (with the residual before), residual_cosine, contribution_norm, residual_norm, each also as NAME_without_first, without the first token of a text. Logit lens: kl_lens_final, kl_final_lens, top5_overlap. Skipping, everywhere (NAME_all) or before a split and looked at from there on (NAME_future): effect (relative change of a later contribution), local_effect (if that layer alone read the change), output_effect (distance of next-token distributions). Depth, in layers from 1: depth_score, output_depth_score, effective_depth_cosine, effective_depth_kl, effective_depth_overlap and their NAME_share. By group of prompts: depth_score, output_depth_score and their NAME_standard_error over prompts, answered (share of prompts), prompts and too_long (how many were read, and not). Erasure: how far the answer''s next-token distributions move at most, when one token''s residual becomes the mean residual. Integrated gradients: attribution (of a token''s residual, or of what a sublayer adds to it), attribution_size, its absolute value, and target_change, of which attributions are the shares. Linear maps, of residuals after layers (residual_NAME) and of contributions of layers (contribution_NAME): error (relative, of a token), unexplained (squared error over that of the mean), mean_error (relative, if the mean is predicted) and penalty. Ablation, by how many percent perplexity rises: neighbour_average (of their weights), skip, mean_ablation (what is given becomes its mean); and at the last layer log_perplexity (nats per token), documents and targets. Predictability: r2, r2_initial (before training), r2_shuffled (layers in other orders), r2_entries_alone and r2_by_penalty. Replacement: replaced, by how many percent perplexity rises. Structure: delta_correlation (of consecutive changes of weights) and explained_share (of the variance over layers, by the first principal components), each also as NAME_initial (before training) and NAME_independent (of independent layers). Manipulation, as ablation at several strengths: scale, noise, neighbour_interpolation, neighbour_copy, predicted, random. Recovery: recovery_steps (all of them where it failed), recovered (1 or 0), perturbation and remaining (percent of perplexity before and after); rank_correlation (with importance), rank_correlation_p and rank_correlation_p_low (how likely chance gives one as high, as low)';
COMMENT ON COLUMN dissections.text IS 'The text that the number is about, window K for the K-th held-out sequence, whose last tokens stand for an answer; SET: GROUP for a group of prompts; null for all texts together';
COMMENT ON COLUMN dissections.position IS 'The token of that text, from 0; null where it is about no single one';
COMMENT ON COLUMN dissections.token IS 'What that token says';
COMMENT ON COLUMN dissections.strength IS 'How strong the change was, where one kind of change is made at several strengths; the penalty, or how many layers are replaced or components counted; else null';
COMMENT ON COLUMN dissections.value IS 'The number';

CREATE TABLE pairs (
    pair VARCHAR NOT NULL PRIMARY KEY,
    source VARCHAR NOT NULL,
    target VARCHAR NOT NULL
);
COMMENT ON TABLE pairs IS 'One row a pair of runs between which params.yaml names linear maps, whether these are here or not';
COMMENT ON COLUMN pairs.pair IS 'Its name in params.yaml';
COMMENT ON COLUMN pairs.source IS 'The run whose layers are mapped';
COMMENT ON COLUMN pairs.target IS 'The run to whose layers they are mapped';

CREATE TABLE left_out (
    stage VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    PRIMARY KEY (stage, name)
);
COMMENT ON TABLE left_out IS 'One row a run, or a reading of a finished model, whose results are here and not compared';
COMMENT ON COLUMN left_out.stage IS 'The stage that gave the results';
COMMENT ON COLUMN left_out.name IS 'The run, pair or published model';
COMMENT ON COLUMN left_out.reason IS 'How they differ from params.yaml, or from the text or the model in use';
