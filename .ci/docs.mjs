// Writes what derives from declarations: the table of operations in the README, and the JSON Schema and
// the default file of the configuration. With --check it writes nothing and fails where a file differs.
// With a README named, only its table. node .ci/docs.mjs [--check] [README]
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { check: { type: 'boolean' } },
  allowPositionals: true,
});
const [file = fileURLToPath(new URL('../README.md', import.meta.url))] = positionals;

// A computed name, because a search for unused files would not find what is not built yet.
const registry = new URL('../dist/src/operations/registry.js', import.meta.url);
const { OPERATIONS } = await import(registry.href);
const jsonSchema = new URL('../dist/src/config/json-schema.js', import.meta.url);
const { configJsonSchema } = await import(jsonSchema.href);
const defaults = new URL('../dist/src/config/default-file.js', import.meta.url);
const { defaultFile } = await import(defaults.href);

const GIVES = { image: 'files', data: 'report' };
const rows = [
  ['Command', 'What it does', 'Gives', 'Endpoint, below `/api/free/`'],
  ...OPERATIONS.map(({ name, summary, gives, endpoint }) => [
    `\`${name}\``,
    summary,
    GIVES[gives],
    endpoint === undefined ? '' : `\`${endpoint}\``,
  ]),
].map((cells) => cells.map((cell) => cell.replaceAll('|', '\\|')));
// In columns of even width, as the formatter wants it.
const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)));
const [head, ...body] = rows.map((cells) =>
  cells.map((cell, column) => cell.padEnd(widths[column])),
);
const rule = widths.map((width) => '-'.repeat(width));
const table = [head, rule, ...body].map((cells) => `| ${cells.join(' | ')} |`);

const [start, end] = ['<!-- operations:start -->', '<!-- operations:end -->'];
const readme = readFileSync(file, 'utf8');
const from = readme.indexOf(start);
const to = readme.indexOf(end, from);
if (from === -1 || to === -1) throw new Error(`${file}: no ${start} with an ${end} after it`);

const before = readme.slice(0, from + start.length);
const written = `${before}\n\n${table.join('\n')}\n\n${readme.slice(to)}`;
if (!values.check) {
  writeFileSync(file, written);
} else if (written !== readme) {
  console.error(`${file}: the table of operations is not the registry's; npm run docs writes it`);
  process.exitCode = 1;
}

const configFiles = {
  'oriel.schema.json': `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
  'default.yaml': defaultFile(),
};
// A README other than ours was named: only its table is written.
for (const [name, text] of positionals.length > 0 ? [] : Object.entries(configFiles)) {
  const path = fileURLToPath(new URL(`../config/${name}`, import.meta.url));
  if (!values.check) {
    writeFileSync(path, text);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    console.error(`${path}: not what the configuration declares; npm run docs writes it`);
    process.exitCode = 1;
  }
}
