COMMENT ON TABLE pairs IS 'One row a pair of runs between which params.yaml names linear maps, whether these are here or not';
COMMENT ON COLUMN pairs.pair IS 'Its name in params.yaml';
COMMENT ON COLUMN pairs.source IS 'The run whose layers are mapped';
COMMENT ON COLUMN pairs.target IS 'The run to whose layers they are mapped';
