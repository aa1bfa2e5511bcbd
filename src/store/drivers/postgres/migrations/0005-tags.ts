import { KEY } from './0001-tables.ts';

/** Usage of requests by their tags. Tags of tasks are in their records. */
export const USAGE_TAGS = `
ALTER TABLE $schema.usage
  -- Empty without tags.
  ADD COLUMN tags ${KEY} NOT NULL DEFAULT '',
  DROP CONSTRAINT usage_pkey,
  ADD PRIMARY KEY (account_id, day, key_id, team_id, model, tags);
`;
