import { KEY } from './0001-tables.ts';

/** The latest alerts, and the windows in which they are not raised again. */
export const ALERTS = `
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
