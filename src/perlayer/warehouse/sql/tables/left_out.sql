COMMENT ON TABLE left_out IS 'One row a run, or a reading of a finished model, whose results are here and not compared';
COMMENT ON COLUMN left_out.stage IS 'The stage that gave the results';
COMMENT ON COLUMN left_out.name IS 'The run, pair or published model';
COMMENT ON COLUMN left_out.reason IS 'How they differ from params.yaml, or from the text or the model in use';
