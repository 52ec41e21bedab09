COMMENT ON TABLE rule IS 'How claims are judged, as params.yaml has it';
COMMENT ON COLUMN rule.confidence IS 'With which confidence an interval holds what it is an interval of';
COMMENT ON COLUMN rule.smallest_effect IS 'Below which a difference is none, nats per token';
