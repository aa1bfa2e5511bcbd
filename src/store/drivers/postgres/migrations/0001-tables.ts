/** Identifiers and dates compare by bytes: several times as fast as by the rules of a language. */
export const KEY = 'text COLLATE "C"';

/**
 * Tables of the first version. Documents are `json`, because `jsonb` refuses `\u0000`. Amounts are
 * micro-credits, times are milliseconds since the epoch. `seq` is the order of creation. Everything that
 * belongs to an account changes only under the lock of the account's row.
 *
 * Every index costs each insert, and each update that changes a column of any index or of its condition.
 */
export const TABLES = `
CREATE TABLE $schema.accounts (
  id ${KEY} PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  granted bigint NOT NULL,
  reserved bigint NOT NULL,
  spent bigint NOT NULL,
  -- Part of reserved that nodes hold for text requests: the ledger has no entries for it.
  held bigint NOT NULL,
  pending integer NOT NULL,
  processing integer NOT NULL,
  completed integer NOT NULL,
  failed integer NOT NULL,
  expired integer NOT NULL,
  -- Changes less often than the number, so that most updates change no index.
  has_pending boolean NOT NULL GENERATED ALWAYS AS (pending > 0) STORED,
  -- Bytes of the requests of open tasks, of ended tasks, of uploads and inputs, and of results.
  request_bytes bigint NOT NULL,
  ended_bytes bigint NOT NULL,
  stored_bytes bigint NOT NULL,
  result_bytes bigint NOT NULL,
  created_at bigint NOT NULL,
  record json NOT NULL
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX accounts_name ON $schema.accounts (name);
CREATE INDEX accounts_seq ON $schema.accounts (seq);
CREATE INDEX accounts_pending ON $schema.accounts (id) WHERE has_pending;

CREATE TABLE $schema.keys (
  id ${KEY} PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id ${KEY} NOT NULL,
  hash ${KEY} NOT NULL,
  hint ${KEY} NOT NULL,
  team_id ${KEY},
  revoked_at bigint,
  created_at bigint NOT NULL,
  reserved bigint NOT NULL,
  spent bigint NOT NULL,
  record json NOT NULL
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX keys_hash ON $schema.keys (hash);
CREATE INDEX keys_hint ON $schema.keys (hint);
CREATE INDEX keys_seq ON $schema.keys (seq);
CREATE INDEX keys_account ON $schema.keys (account_id, seq);

CREATE TABLE $schema.teams (
  id ${KEY} PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id ${KEY} NOT NULL,
  name text NOT NULL,
  removed_at bigint,
  reserved bigint NOT NULL,
  spent bigint NOT NULL,
  record json NOT NULL
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX teams_name ON $schema.teams (account_id, name) WHERE removed_at IS NULL;
CREATE INDEX teams_seq ON $schema.teams (seq);
CREATE INDEX teams_account ON $schema.teams (account_id, seq);

CREATE TABLE $schema.windows (
  id ${KEY} PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id ${KEY} NOT NULL,
  holder_id ${KEY} NOT NULL,
  period text NOT NULL,
  from_date text NOT NULL,
  reserved bigint NOT NULL,
  spent bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX windows_holder ON $schema.windows (holder_id);
CREATE INDEX windows_account ON $schema.windows (account_id);

CREATE TABLE $schema.sessions (
  hash ${KEY} PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id ${KEY} NOT NULL,
  key_id ${KEY} NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX sessions_key ON $schema.sessions (key_id, seq);
CREATE INDEX sessions_end ON $schema.sessions (expires_at);

CREATE TABLE $schema.tasks (
  id ${KEY} PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id ${KEY} NOT NULL,
  key_id ${KEY} NOT NULL,
  team_id ${KEY},
  type text NOT NULL,
  model text NOT NULL,
  status ${KEY} NOT NULL,
  node ${KEY},
  attempts integer NOT NULL,
  reserved bigint NOT NULL,
  charged bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  deadline bigint NOT NULL,
  idempotency_key ${KEY},
  -- Bytes of the request while the task is open, and of the whole record after its end.
  bytes bigint NOT NULL,
  -- Apart, so that a change of the state does not write it again.
  request json,
  record json NOT NULL
);
CREATE INDEX tasks_status ON $schema.tasks (status, seq);
CREATE INDEX tasks_account ON $schema.tasks (account_id, status, seq);
CREATE INDEX tasks_deadline ON $schema.tasks (deadline) WHERE status IN ('pending', 'processing');
CREATE INDEX tasks_ended ON $schema.tasks (updated_at) WHERE status NOT IN ('pending', 'processing');
CREATE UNIQUE INDEX tasks_idempotency ON $schema.tasks (account_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE $schema.assets (
  id ${KEY} PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id ${KEY} NOT NULL,
  task_id ${KEY},
  media_type text NOT NULL,
  bytes bigint NOT NULL,
  sha256 text,
  created_at bigint NOT NULL,
  input text
);
CREATE INDEX assets_task ON $schema.assets (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX assets_created ON $schema.assets (created_at);
CREATE INDEX assets_upload ON $schema.assets (created_at) WHERE task_id IS NULL;
CREATE INDEX assets_spent ON $schema.assets (seq) WHERE input = 'spent';

CREATE TABLE $schema.deliveries (
  id ${KEY} PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id ${KEY} NOT NULL,
  task_id ${KEY} NOT NULL,
  status ${KEY} NOT NULL,
  next_at bigint,
  -- Node that attempts it now.
  node ${KEY},
  -- Attempts of all time; the record holds the last of them.
  attempt_count integer NOT NULL,
  -- Time of the last attempt, or of the end of the task.
  tried_at bigint NOT NULL,
  record json NOT NULL
);
CREATE UNIQUE INDEX deliveries_task ON $schema.deliveries (task_id);
CREATE INDEX deliveries_pending ON $schema.deliveries (next_at) WHERE status = 'pending';

CREATE TABLE $schema.ledger (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  account_id ${KEY} NOT NULL,
  key_id ${KEY},
  type text NOT NULL,
  amount bigint NOT NULL,
  task_id ${KEY},
  model text,
  requests bigint,
  note text,
  at bigint NOT NULL,
  available bigint NOT NULL,
  -- Day of a charge that is the sum of text requests; null for other entries.
  day ${KEY}
) WITH (fillfactor = 90);
CREATE INDEX ledger_account ON $schema.ledger (account_id, id);
CREATE UNIQUE INDEX ledger_day ON $schema.ledger (account_id, key_id, model, day)
  WHERE day IS NOT NULL;

CREATE TABLE $schema.usage (
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id ${KEY} NOT NULL,
  -- Empty where none was recorded.
  key_id ${KEY} NOT NULL,
  team_id ${KEY} NOT NULL,
  day ${KEY} NOT NULL,
  model text NOT NULL,
  requests bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  cache_write_1h_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  outputs bigint NOT NULL,
  errors bigint NOT NULL,
  spent bigint NOT NULL,
  PRIMARY KEY (account_id, day, key_id, team_id, model)
) WITH (fillfactor = 70);
CREATE INDEX usage_day ON $schema.usage (day);

-- Identifiers of objects at providers, by the account that received them. Nothing in the store refers to them.
CREATE TABLE $schema.provider_objects (
  account_id ${KEY} NOT NULL,
  id ${KEY} NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX provider_objects_at ON $schema.provider_objects (at);

CREATE TABLE $schema.nodes (
  id ${KEY} PRIMARY KEY,
  name text NOT NULL,
  version text NOT NULL,
  started_at bigint NOT NULL,
  -- End of the lease of claims.
  alive_until timestamptz NOT NULL,
  -- End of the lease of escrows, which is longer.
  escrow_until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Credits that nodes have drawn in advance for text requests; counted as reserved by accounts, keys, teams and windows.
CREATE TABLE $schema.escrows (
  id ${KEY} PRIMARY KEY,
  node ${KEY} NOT NULL,
  account_id ${KEY} NOT NULL,
  key_id ${KEY} NOT NULL,
  scope json,
  amount bigint NOT NULL,
  -- Part of the amount that no request uses.
  idle bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX escrows_account ON $schema.escrows (account_id);
CREATE INDEX escrows_node ON $schema.escrows (node);

-- Number of the last batch of charges that was booked for a node.
CREATE TABLE $schema.folds (
  node ${KEY} PRIMARY KEY,
  number bigint NOT NULL,
  at bigint NOT NULL
) WITH (fillfactor = 50);

-- Number of the last transaction of a process: shows whether an interrupted one was committed.
CREATE TABLE $schema.writers (
  id ${KEY} PRIMARY KEY,
  number bigint NOT NULL,
  at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Raised by every change of a key, a team or an account that a node keeps in memory.
CREATE TABLE $schema.revision (
  number bigint NOT NULL
);
INSERT INTO $schema.revision VALUES (0);
`;
