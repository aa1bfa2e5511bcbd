/**
 * Hints of keys, by which administrators name them. Copied as JSON has them, without the quotes, which is how
 * columns hold text. A node of the first version adds keys without one: they are found by their identifiers.
 */
export const KEY_HINTS = `
ALTER TABLE $schema.keys ADD COLUMN hint text COLLATE "C";
UPDATE $schema.keys SET hint = substr((record->'hint')::text, 2, length((record->'hint')::text) - 2);
CREATE INDEX keys_hint ON $schema.keys (hint);
`;
