import { KEY } from './0001-tables.ts';

/** The log of requests, and their bodies apart, which are kept for a shorter time. */
export const REQUESTS = ['requests', 'request_bodies']
  .map(
    (table) => `
CREATE TABLE $schema.${table} (
  number bigint ${table === 'requests' ? 'GENERATED ALWAYS AS IDENTITY' : ''} PRIMARY KEY,
  id ${KEY} NOT NULL,
  account_id ${KEY},
  key_id ${KEY},
  at bigint NOT NULL,
  record json NOT NULL
);
CREATE INDEX ${table}_account ON $schema.${table} (account_id, number);
CREATE INDEX ${table}_key ON $schema.${table} (key_id, number);
CREATE INDEX ${table}_id ON $schema.${table} (id, number);
CREATE INDEX ${table}_time ON $schema.${table} (at);
`,
  )
  .join('');
