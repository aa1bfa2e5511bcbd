import { KEY } from './0001-tables.ts';

/**
 * Usage of requests with tags. It is a table of its own, since nodes of earlier versions go on while they know the key
 * of the other. `seq` is from the sequence of that one, so that both have one order. Tags of tasks are in their records.
 */
export const TAGGED_USAGE = `
CREATE TABLE $schema.tagged_usage (LIKE $schema.usage INCLUDING STORAGE, tags ${KEY} NOT NULL);
ALTER TABLE $schema.tagged_usage
  ADD PRIMARY KEY (account_id, day, key_id, team_id, model, tags), SET (fillfactor = 70);
CREATE INDEX tagged_usage_day ON $schema.tagged_usage (day);
`;
