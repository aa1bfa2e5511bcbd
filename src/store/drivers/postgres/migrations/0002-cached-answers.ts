import { KEY } from './0001-tables.ts';

/** Answers that equal requests get again, and the count of such requests. */
export const CACHED_ANSWERS = `
ALTER TABLE $schema.usage ADD COLUMN cache_hits bigint NOT NULL DEFAULT 0;

CREATE TABLE $schema.cached_answers (
  account_id ${KEY} NOT NULL,
  key ${KEY} NOT NULL,
  model text NOT NULL,
  stored_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  used_at bigint NOT NULL,
  bytes bigint NOT NULL,
  exchange text NOT NULL,
  PRIMARY KEY (account_id, key)
);
CREATE INDEX cached_answers_expiry ON $schema.cached_answers (expires_at);
CREATE INDEX cached_answers_use ON $schema.cached_answers (model, used_at);
`;
