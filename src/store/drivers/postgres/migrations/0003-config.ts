/**
 * Providers and models that commands have added. The record is a document, and has secrets only as ciphertext.
 */
export const CONFIG_ENTRIES = `
CREATE TABLE $schema.config_entries (
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  record json NOT NULL,
  PRIMARY KEY (kind, name)
);
`;
