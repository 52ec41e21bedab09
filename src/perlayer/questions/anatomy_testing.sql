-- Whether the seeds of the baseline are too few to tell the noise of what its layers are made of.
SELECT coalesce(max(seeds), 0) < 3 FROM anatomy_findings
WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
