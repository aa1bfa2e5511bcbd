import { KEY, TABLES } from './0001-tables.ts';

// One constant for each version after the first.

/** Answers that equal requests get again, and the count of such requests. */
const CACHED_ANSWERS = `
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

/**
 * Providers and models that commands have added. The record is a document, and has secrets only as ciphertext.
 */
const CONFIG_ENTRIES = `
CREATE TABLE $schema.config_entries (
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  record json NOT NULL,
  PRIMARY KEY (kind, name)
);
`;

/** The log of requests, and their bodies apart, which are kept for a shorter time. */
const REQUESTS = ['requests', 'request_bodies']
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

/**
 * Usage of requests with tags. It is a table of its own, since nodes of earlier versions go on while they know the key
 * of the other. `seq` is from the sequence of that one, so that both have one order. Tags of tasks are in their records.
 */
const TAGGED_USAGE = `
CREATE TABLE $schema.tagged_usage (LIKE $schema.usage INCLUDING STORAGE, tags ${KEY} NOT NULL);
ALTER TABLE $schema.tagged_usage
  ADD PRIMARY KEY (account_id, day, key_id, team_id, model, tags), SET (fillfactor = 70);
CREATE INDEX tagged_usage_day ON $schema.tagged_usage (day);
`;

/** The latest alerts, and the windows in which they are not raised again. */
const ALERTS = `
CREATE TABLE $schema.alerts (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  record json NOT NULL
);
CREATE TABLE $schema.alert_claims (
  subject ${KEY} PRIMARY KEY,
  span text NOT NULL,
  level integer NOT NULL,
  until bigint NOT NULL,
  id text NOT NULL,
  at bigint NOT NULL
);
`;

/** Documents of accounts, and what each account has of a kind. */
const DOCUMENTS = `
CREATE TABLE $schema.documents (
  account_id ${KEY} NOT NULL,
  kind ${KEY} NOT NULL,
  id ${KEY} NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  parent ${KEY},
  created_at bigint NOT NULL,
  expires_at bigint,
  is_open boolean NOT NULL,
  version integer NOT NULL,
  bytes bigint NOT NULL,
  body json,
  PRIMARY KEY (account_id, kind, id)
);
CREATE INDEX documents_order ON $schema.documents (account_id, kind, seq);
CREATE INDEX documents_parts ON $schema.documents (account_id, parent, seq) WHERE parent IS NOT NULL;
CREATE INDEX documents_open ON $schema.documents (kind, seq) WHERE is_open;
CREATE INDEX documents_expiry ON $schema.documents (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE $schema.document_totals (
  account_id ${KEY} NOT NULL,
  kind ${KEY} NOT NULL,
  count bigint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (account_id, kind)
);
`;

/** In the order of versions. A published migration is never changed. */
export const MIGRATIONS: readonly string[] = [
  TABLES,
  CACHED_ANSWERS,
  CONFIG_ENTRIES,
  REQUESTS,
  TAGGED_USAGE,
  ALERTS,
  DOCUMENTS,
];
