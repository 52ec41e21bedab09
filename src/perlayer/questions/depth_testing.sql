-- Whether the seeds of the baseline are too few to tell the noise of how it uses its depth.
SELECT coalesce(max(seeds), 0) < 3 FROM depth_findings
WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
